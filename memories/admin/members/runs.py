"""The consolidation runs of a member: what was read, what was decided and why, and reading it once more.

Invariant: staff reads what a run holds; only an administrator has one run again, as themselves, by POST.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect

from memories.admin.members.page import Looking, MemberPage
from memories.errors import InvalidInput, MemoriesError, NotFound
from memories.models import ConsolidationRun, Episode, RunState, Trigger
from memories.selectors.memories import Memory, memories_by_id
from memories.selectors.paging import page_of
from memories.selectors.runs import backlog_of, get_run, list_runs, reruns_of
from memories.services.consolidation import rerun
from memories.types import Kind
from tenants.admin.scoping import written
from tenants.errors import TenantsError
from tenants.principal import ADMINISTERS

A_PAGE = 30
TRIGGERS = {
    Trigger.TURN: "after a turn",
    Trigger.COUNT: "enough had been said",
    Trigger.AGE: "it had waited long enough",
    Trigger.DEMAND: "on demand",
    Trigger.RETRY: "tried again",
    Trigger.RERUN: "run again by hand",
}
_KIND_OF = {"fact": Kind.SEMANTIC, "end": Kind.SEMANTIC, "playbook": Kind.PROCEDURAL, "outcome": Kind.PROCEDURAL}
_LOOKS = {"refused": "pill-warning", "known": ""}


@dataclass(frozen=True, slots=True)
class Named:
    """A memory that a run names: its words, or none if it was forgotten since."""

    kind: Kind
    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One line of a run: what was proposed, what became of it and why."""

    what: str
    verdict: str
    look: str
    reason: str
    memory: Named | None
    ended: tuple[Named, ...]
    said: tuple[Named, ...]


def listed(looking: Looking) -> HttpResponse:
    """The runs, the latest first, and what waits."""
    given = looking.request.GET
    error, status = "", 200
    rows = list_runs(looking.principal)
    state = given.get("state", "")
    if state in set(RunState):
        rows = rows.filter(state=state)
    try:
        page = page_of(rows.defer("output", "input"), limit=A_PAGE, cursor=given.get("cursor", ""))
    except InvalidInput as refused:
        error, status = str(refused).capitalize(), 400
        page = page_of(rows.defer("output", "input"), limit=A_PAGE)
    return looking.render(
        "admin/memories/member/runs.html",
        title="Runs",
        status=status,
        error=error,
        runs=[(run, TRIGGERS[Trigger(run.trigger)], verdicts(run)) for run in page.rows],
        next_cursor=page.next_cursor,
        state=state,
        states=[state.value for state in RunState],
        backlog=backlog_of(looking.principal),
    )


def shown(looking: Looking, *, run_id: UUID) -> HttpResponse:
    """One run: what it read, what was decided, what the extractor answered."""
    run = _run(looking, run_id)
    looking.note("consolidation run", target_kind="consolidation", target_id=run.pk)
    named = _named(looking, run)
    decisions = [_decision(line, named) for line in run.decisions]
    return looking.render(
        "admin/memories/member/run.html",
        title=f"Run of {written(run.started_at)}",
        run=run,
        trigger=TRIGGERS[Trigger(run.trigger)],
        took=_took(run),
        verdicts=verdicts(run),
        decisions=decisions,
        episodes=_some(named, run.input.get("episodes", ())),
        known=_some(named, [*run.input.get("facts", ()), *run.input.get("playbooks", ())]),
        output=_written(run.output),
        erased=run.output == {"erased": True},
        reruns=reruns_of(looking.principal, run),
        may_rerun=looking.may(ADMINISTERS) and run.state != RunState.RUNNING,
    )


def run_again(looking: Looking, *, run_id: UUID) -> HttpResponse:
    """Have the episodes of a run read once more, and say what came of it."""
    run = _run(looking, run_id)
    try:
        report = rerun(looking.acting(), run.pk)
    except NotFound as error:
        raise Http404 from error
    except (MemoriesError, TenantsError) as error:
        messages.error(looking.request, f"It was not run again. {error}")
        return HttpResponseRedirect(looking.url("run", run.pk))
    if report.error:
        messages.error(looking.request, f"It was run again and failed: {report.error}")
    else:
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(report.decisions.items()))
        messages.success(looking.request, f"It was run again: {told or 'nothing new was found'}.")
    return HttpResponseRedirect(looking.url("run", report.runs[-1] if report.runs else run.pk))


def verdicts(run: ConsolidationRun) -> list[tuple[str, int]]:
    """How often each verdict was given, the most frequent first."""
    return Counter(str(line.get("verdict", "")) for line in run.decisions).most_common()


def _run(looking: Looking, run_id: UUID) -> ConsolidationRun:
    try:
        return get_run(looking.principal, run_id)
    except NotFound as error:
        raise Http404 from error


def _named(looking: Looking, run: ConsolidationRun) -> dict[UUID, Named]:
    """Every memory that the run names and that is still there."""
    ids: dict[Kind, set[UUID]] = {
        Kind.EPISODIC: _ids(run.input.get("episodes", ())),
        Kind.SEMANTIC: _ids(run.input.get("facts", ())),
        Kind.PROCEDURAL: _ids(run.input.get("playbooks", ())),
    }
    for line in run.decisions:
        ids[Kind.EPISODIC] |= _ids(line.get("episode_ids", ()))
        ids[_KIND_OF.get(line.get("what", ""), Kind.SEMANTIC)] |= _ids(
            [*line.get("superseded_ids", ()), *filter(None, [line.get("memory_id")])]
        )
    rows: dict[UUID, Memory] = memories_by_id(looking.principal, ids)
    return {
        pk: Named(row.kind, row.text if isinstance(row, Episode) else row.searchable_text, looking.url("record", pk))
        for pk, row in rows.items()
    }


def _decision(line: Mapping[str, Any], named: Mapping[UUID, Named]) -> Decision:
    memory = _some(named, filter(None, [line.get("memory_id")]))
    verdict = str(line.get("verdict", ""))
    return Decision(
        what=str(line.get("what", "")),
        verdict=verdict,
        look=_LOOKS.get(verdict, "pill-success"),
        reason=str(line.get("reason", "")),
        memory=memory[0] if memory else None,
        ended=_some(named, line.get("superseded_ids", ())),
        said=_some(named, line.get("episode_ids", ())),
    )


def _some(named: Mapping[UUID, Named], ids: Iterable[str]) -> tuple[Named, ...]:
    return tuple(named[pk] for pk in map(UUID, ids) if pk in named)


def _ids(values: Iterable[str]) -> set[UUID]:
    return {UUID(value) for value in values}


def _took(run: ConsolidationRun) -> float | None:
    """Milliseconds."""
    return None if run.ended_at is None else (run.ended_at - run.started_at) / timedelta(milliseconds=1)


def _written(output: object) -> str:
    return json.dumps(output, ensure_ascii=False, indent=2) if output else ""


PAGES = (
    MemberPage("runs", "runs/", listed, tab="Runs", reads="consolidation runs"),
    MemberPage("run", "runs/<uuid:run_id>/", shown, under="runs"),
    MemberPage("rerun", "runs/<uuid:run_id>/rerun/", run_again, roles=ADMINISTERS, methods=("POST",)),
)
