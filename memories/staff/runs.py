"""The consolidation runs of a member: their input, their decisions with reasons, and running one again.

Support and auditors read runs; only an administrator can run one again, under their own name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import npgettext, pgettext_lazy

from memories.models import ConsolidationRun, RunState, Trigger
from memories.presenting.memory import MemoryView
from memories.selectors.memories import memories_by_id
from memories.selectors.runs import backlog_of, get_run, list_runs, reruns_of
from memories.services.consolidation import rerun
from memories.staff.base import REFUSALS, MemberView, first_page_of
from memories.types import Kind
from memoryhub.languages import gettext_lazy
from tenants.admin.scoping import written
from tenants.principal import ADMINISTERS

PAGE_SIZE = 30
TRIGGERS = {
    Trigger.TURN: gettext_lazy("after a turn"),
    Trigger.COUNT: gettext_lazy("enough had been said"),
    Trigger.AGE: gettext_lazy("it had waited long enough"),
    Trigger.DEMAND: gettext_lazy("on demand"),
    Trigger.RETRY: gettext_lazy("tried again"),
    Trigger.RERUN: gettext_lazy("run again by hand"),
}
_KIND_OF = {"fact": Kind.SEMANTIC, "end": Kind.SEMANTIC, "playbook": Kind.PROCEDURAL, "outcome": Kind.PROCEDURAL}
_LOOKS = {"refused": "pill-warning", "known": ""}


class Runs(MemberView):
    """The runs, latest first, and the backlog; `?state=` is a value of RunState."""

    reads = "consolidation runs"
    tab = "runs"
    title = gettext_lazy("Runs")
    template_name = "admin/memories/member/runs.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        rows = list_runs(self.principal).defer("output", "input")
        state = request.GET.get("state", "")
        if state in set(RunState):
            rows = rows.filter(state=state)
        page, error = first_page_of(rows, request.GET.get("cursor", ""), limit=PAGE_SIZE)
        return self.render(
            status=400 if error else 200,
            error=error,
            runs=[(run, TRIGGERS[Trigger(run.trigger)], verdicts(run)) for run in page.rows],
            next_cursor=page.next_cursor,
            state=state,
            states=[each.value for each in RunState],
            backlog=backlog_of(self.principal),
        )


class ConsolidationRunPage(MemberView):
    """One run: its input, its decisions, and the raw answer of the extractor."""

    tab = "runs"
    template_name = "admin/memories/member/run.html"

    def get(self, request: HttpRequest, run_id: UUID) -> HttpResponse:  # noqa: ARG002
        run = get_run(self.principal, run_id)
        self.note("consolidation run", target_kind="consolidation", target_id=run.pk)
        named = self._named(run)
        return self.render(
            title=_("Run of %(started_at)s") % {"started_at": written(run.started_at)},
            run=run,
            trigger=TRIGGERS[Trigger(run.trigger)],
            took=None if run.ended_at is None else (run.ended_at - run.started_at) / timedelta(milliseconds=1),
            verdicts=verdicts(run),
            decisions=[_decision(line, named) for line in run.decisions],
            episodes=_some(named, run.input.get("episodes", ())),
            known=_some(named, [*run.input.get("facts", ()), *run.input.get("playbooks", ())]),
            output=json.dumps(run.output, ensure_ascii=False, indent=2) if run.output else "",
            erased=run.output == {"erased": True},
            reruns=reruns_of(self.principal, run),
            may_rerun=self.may(ADMINISTERS) and run.state != RunState.RUNNING,
        )

    def _named(self, run: ConsolidationRun) -> dict[UUID, MemoryView]:
        """The memories that the run refers to and that still exist, by id."""
        ids: dict[Kind, set[UUID]] = {
            Kind.EPISODIC: _ids(run.input.get("episodes", ())),
            Kind.SEMANTIC: _ids(run.input.get("facts", ())),
            Kind.PROCEDURAL: _ids(run.input.get("playbooks", ())),
        }
        for line in run.decisions:
            ids[Kind.EPISODIC] |= _ids(line.get("episode_ids", ()))
            written_ids = [*line.get("superseded_ids", ()), *filter(None, [line.get("memory_id")])]
            ids[_KIND_OF.get(line.get("what", ""), Kind.SEMANTIC)] |= _ids(written_ids)
        rows = memories_by_id(self.principal, ids)
        return {pk: self.view(row) for pk, row in rows.items()}


class Rerun(ConsolidationRunPage):
    """POST: consolidate the events of a run again, and show the result."""

    http_method_names = ["post"]
    roles = ADMINISTERS

    def post(self, request: HttpRequest, run_id: UUID) -> HttpResponse:  # noqa: ARG002
        run = get_run(self.principal, run_id)
        try:
            report = rerun(self.acting_principal(), run.pk)
        except REFUSALS as error:
            self.refuse(_("It was not run again. %(why)s") % {"why": error})
            return self.redirect("run", run.pk)
        if report.error:
            self.refuse(_("It was run again and failed: %(why)s") % {"why": report.error})
        else:
            counts = ", ".join(_counted(verdict, count) for verdict, count in sorted(report.decisions.items()))
            self.success(_("It was run again: %(found)s.") % {"found": counts or _("nothing new was found")})
        return self.redirect("run", report.runs[-1] if report.runs else run.pk)


# The templates translate a verdict, and what was proposed, by its context.
_TRANSLATED = (
    pgettext_lazy("proposal", "end"),
    pgettext_lazy("proposal", "fact"),
    pgettext_lazy("proposal", "outcome"),
    pgettext_lazy("proposal", "playbook"),
    pgettext_lazy("verdict", "created"),
    pgettext_lazy("verdict", "known"),
    pgettext_lazy("verdict", "merged"),
    pgettext_lazy("verdict", "refused"),
    pgettext_lazy("verdict", "superseded"),
)


def verdicts(run: ConsolidationRun) -> list[str]:
    """The number of decisions with each verdict, such as "2 created", most frequent first."""
    counts = Counter(str(line.get("verdict", "")) for line in run.decisions)
    return [_counted(verdict, count) for verdict, count in counts.most_common()]


def _counted(verdict: str, count: int) -> str:
    words = {
        "created": npgettext("verdict", "%(count)s created", "%(count)s created", count),
        "known": npgettext("verdict", "%(count)s known", "%(count)s known", count),
        "merged": npgettext("verdict", "%(count)s merged", "%(count)s merged", count),
        "refused": npgettext("verdict", "%(count)s refused", "%(count)s refused", count),
        "superseded": npgettext("verdict", "%(count)s superseded", "%(count)s superseded", count),
    }
    return words[verdict] % {"count": count} if verdict in words else f"{count} {verdict}"


def _decision(line: Mapping[str, Any], named: Mapping[UUID, MemoryView]) -> dict[str, Any]:
    """One decision of a run, with the memories that it refers to."""
    verdict = str(line.get("verdict", ""))
    memory = _some(named, filter(None, [line.get("memory_id")]))
    return {
        **line,
        "look": _LOOKS.get(verdict, "pill-success"),
        "memory": memory[0] if memory else None,
        "ended": _some(named, line.get("superseded_ids", ())),
        "said": _some(named, line.get("episode_ids", ())),
    }


def _some(named: Mapping[UUID, MemoryView], ids: Iterable[str]) -> list[MemoryView]:
    return [named[pk] for pk in map(UUID, ids) if pk in named]


def _ids(values: Iterable[str]) -> set[UUID]:
    return {UUID(value) for value in values}
