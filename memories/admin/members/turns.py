"""One answer with everything behind it: what was said, recalled, injected, called, written, and what came of it.

Invariant: texts of memories are looked up now, never copied, so what was forgotten is a line without words here, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse

from memories.admin.members.candidates_table import Table, Told, table_of_trace, told_of
from memories.admin.members.conversations import ending_of
from memories.admin.members.page import Looking, MemberPage
from memories.agent.prompt import made_for_the_model
from memories.errors import NotFound
from memories.hygiene.sensitivity.telling import short
from memories.models import RecallTrace, Relation
from memories.selectors.sessions import MentionView, StepView
from memories.selectors.staff.conversations import TracedRecall, TurnRecord, turn_record
from memories.types import Kind, SensitiveKind

_STAGES: Mapping[str, str] = {
    "query": "Question",
    "candidates": "Named",
    "loaded": "Loaded",
    "scored": "Scored",
    "selected": "Given out",
}
_CHANGED: tuple[tuple[Relation, str], ...] = (
    (Relation.WROTE, "Wrote"),
    (Relation.CONFIRMED, "Knew already"),
    (Relation.REPLACED, "Replaced or ended"),
    (Relation.FORGOT, "Forgot"),
)


@dataclass(frozen=True, slots=True)
class Given:
    """A memory that a step was given or changed; `told` is None once it was forgotten."""

    kind: Kind
    id: UUID
    told: Told | None
    reasons: tuple[str, ...]
    used: bool | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a recorded recall."""

    title: str
    count: int | None
    took_ms: float | None
    width: str


@dataclass(frozen=True, slots=True)
class RecordedRecall:
    """A recall of the turn as it was recorded: what was asked and within which bounds, its stages and candidates."""

    trace: RecallTrace
    bounds: tuple[tuple[str, str], ...]
    stages: tuple[Stage, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that was called, and what came of it. `result` is what it said where that is not memories.

    `said`: the agent's words before its calls, beside the first of them.
    """

    said: str
    name: str
    arguments: str
    automatic: bool
    result: str
    degraded: bool
    recalled: tuple[Given, ...]
    changed: tuple[tuple[str, tuple[Given, ...]], ...]
    recall: RecordedRecall | None
    recall_is_due: bool


def turn_page(looking: Looking, *, session_id: UUID, turn: int) -> HttpResponse:
    """One turn of a conversation."""
    try:
        record = turn_record(looking.principal, session_id, turn)
    except NotFound as error:
        raise Http404 from error
    looking.note("turn", target_kind="session", target_id=record.session.pk)
    view = record.view
    recalled = view.having(Relation.RECALLED)
    return looking.render(
        "admin/memories/member/turn.html",
        title=f"Turn {view.turn} of {record.session.title or 'a conversation'}",
        record=record,
        view=view,
        ending=ending_of(view),
        masked=[short(SensitiveKind(kind)) for kind in view.masked],
        calls=_calls(record),
        changed=_changed(view.mentions, {}),
        recalled=len(recalled),
        taken_up=sum(bool(mention.used) for mention in recalled),
        all_kinds=[kind.value for kind in Kind],
    )


def _calls(record: TurnRecord) -> list[Call]:
    """The calls in order, each with the message that answered it; one without is told all the same."""
    results = {step.tool_call_id: step for step in record.view.steps if step.tool_call_id}
    return [
        _call(record, call, results.get(str(call.get("id", ""))), said="" if place else step.text)
        for step in record.view.steps
        for place, call in enumerate(step.tool_calls)
    ]


def _call(record: TurnRecord, call: Mapping[str, Any], result: StepView | None, *, said: str) -> Call:
    recall_id = result.recall_id if result else None
    traced = record.recalls.get(recall_id) if recall_id else None
    mentions = result.mentions if result else ()
    scores = traced.scores if traced else {}
    return Call(
        said=said,
        name=str(call.get("name", "")),
        arguments=json.dumps(call.get("arguments", {}), ensure_ascii=False, indent=2),
        automatic=made_for_the_model(str(call.get("id", ""))),
        result=result.text if result else "",
        degraded=bool(result and result.degraded),
        recalled=tuple(_given(each, scores) for each in mentions if each.relation is Relation.RECALLED),
        changed=_changed(mentions, scores),
        recall=_recorded(traced) if traced else None,
        recall_is_due=recall_id is not None and traced is None,
    )


def _changed(
    mentions: tuple[MentionView, ...], scores: Mapping[UUID, float]
) -> tuple[tuple[str, tuple[Given, ...]], ...]:
    """What was written, confirmed, replaced and forgotten, under a heading each."""
    told = (
        (title, {each.memory_id: _given(each, scores) for each in mentions if each.relation is relation})
        for relation, title in _CHANGED
    )
    return tuple((title, tuple(rows.values())) for title, rows in told if rows)


def _given(mention: MentionView, scores: Mapping[UUID, float]) -> Given:
    return Given(
        kind=mention.kind,
        id=mention.memory_id,
        told=told_of(mention.memory),
        reasons=mention.reasons,
        used=mention.used,
        score=scores.get(mention.memory_id),
    )


def _recorded(traced: TracedRecall) -> RecordedRecall:
    trace = traced.trace
    counts = {name: stage.get("count") for name, stage in trace.stages.items()}
    highest = max((count for count in counts.values() if count is not None), default=0) or 1
    return RecordedRecall(
        trace=trace,
        bounds=tuple(_bounds(trace.parameters)),
        stages=tuple(
            Stage(
                title,
                counts.get(name),
                trace.stages.get(name, {}).get("ms"),
                f"{100 * (counts.get(name) or 0) / highest:.1f}",
            )
            for name, title in _STAGES.items()
            if name in trace.stages
        ),
        table=table_of_trace(trace, traced.memories),
    )


def _bounds(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the recall was asked to keep to, as far as that says something."""
    kinds, as_of = parameters.get("types", ()), parameters.get("as_of")
    told = [
        ("kinds", ", ".join(kinds) if set(kinds) != set(Kind) else None),
        ("limit", parameters.get("limit")),
        ("tokens", parameters.get("token_budget")),
        ("threshold", parameters.get("threshold")),
        ("as of", f"{datetime.fromisoformat(as_of):%d %B %Y, %H:%M %Z}" if as_of else None),
        ("task", parameters.get("task")),
        ("superseded ones", "too" if parameters.get("include_superseded") else None),
    ]
    return [(name, str(value)) for name, value in told if value not in (None, "")]


PAGES = (MemberPage("turn", "conversations/<uuid:session_id>/<int:turn>/", turn_page, under="conversations"),)
