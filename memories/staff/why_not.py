"""Answers "Why not this one?": a memory's place in a recall, the signal it lacked, and what would have lifted it.

The recorded recall of a turn answers if it lists the memory; else the recall runs anew, as of the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memories.models import Episode
from memories.presenting.memory import MemoryView
from memories.recall.explaining import Explanation, explain
from memories.recall.request import RecallOptions
from memories.recall.selection import Cut
from memories.selectors.memories import Memory, find_memory
from memories.selectors.staff.conversations import TurnRecord
from memories.selectors.staff.inspecting import InspectorFilter, inspected
from memories.services.admin_requests import note_question
from memories.staff.candidates import SIGNALS, CandidateLine, lines_of, lines_of_trace
from memories.types import ALL_KINDS, CURRENT
from memoryhub.languages import number
from tenants.principal import Principal

# Memories of each kind that a search lists.
_FOUND = 8
# What would have lifted a memory that its score did not keep out.
_NO_LIFT = {
    Cut.NO: gettext_lazy(
        "Nothing was missing: if the answer did not use it, the reason is in the answer, not in recall."
    ),
    Cut.DUPLICATE: gettext_lazy("Nothing: a memory with the same words was given out in its place."),
    Cut.ASKED_BEFORE: gettext_lazy("Nothing: it only asks the same question, so it cannot answer it."),
    Cut.BUDGET: gettext_lazy("A larger token budget: it did not fit in what was left."),
    Cut.GONE: gettext_lazy("Nothing: it was deleted while the recall ran."),
}


@dataclass(frozen=True, slots=True)
class Placing:
    """A memory among the `of` candidates of a recall. Without a `rank` it was none of them.

    `lacked`: the signal in which it is furthest behind the last memory given out, with the value of both (`had`,
    `needed`). `lifted_to`: its rank with as much of that signal.
    """

    of: int
    rank: int | None = None
    score: float = 0.0
    cut: Cut = Cut.NO
    last_given: float | None = None
    lacked: str = ""
    had: float = 0.0
    needed: float = 0.0
    lifted_to: int | None = None
    given: int = 0


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The explanation for people. `recorded`: from the recall that was recorded then, not from a new one."""

    memory: MemoryView
    placing: Placing | None
    recorded: bool
    verdict: str
    lift: str


def place(lines: Sequence[CandidateLine], memory_id: UUID, *, of: int = 0) -> Placing:
    """Compare a memory with the last one that was given out; `of` is the number of all candidates, if not listed."""
    of = max(of, len(lines))
    line = next((each for each in lines if each.id == memory_id), None)
    if line is None:
        return Placing(of=of)
    given = [each for each in lines if each.cut is Cut.NO]
    placing = Placing(of, line.rank, line.score, line.cut, given=len(given))
    last = min(given, key=lambda each: (each.score, -each.rank), default=None)
    if line.cut is Cut.NO or last is None:
        return placing
    behind = {name: last.added.get(name, 0.0) - line.added.get(name, 0.0) for name in SIGNALS}
    lacked = max(behind, key=lambda name: behind[name])
    lifted = line.score + behind[lacked] * line.factor
    return replace(
        placing,
        last_given=last.score,
        lacked=lacked if behind[lacked] > 0 else "",
        had=line.added.get(lacked, 0.0),
        needed=last.added.get(lacked, 0.0),
        lifted_to=1 + sum(each.score > lifted for each in lines if each is not line),
    )


def found_by(principal: Principal, words: str) -> list[MemoryView]:
    """The member's memories that contain all `words`, or have them as an id; the latest of each kind."""
    rows = (row for kind in ALL_KINDS for row in inspected(principal, kind, InspectorFilter(query=words))[:_FOUND])
    return [MemoryView(row) for row in rows]


def why_not_in_turn(principal: Principal, record: TurnRecord, memory_id: UUID) -> WhyNot:
    """Explain the place of a memory in the recalls of a turn. Raises NotFound, SearchForbidden, SearchUnavailable."""
    memory, asked_at = find_memory(principal, memory_id), record.view.said_at
    for traced in record.recalls.values():
        all_ = int(traced.trace.stages.get("loaded", {}).get("count", 0))
        placing = place(lines_of_trace(traced.trace, traced.memories), memory_id, of=all_)
        if placing.rank is not None:
            return _told(memory, placing, recorded=True)
    if since(memory) > asked_at:
        lift = _("Nothing: it did not exist yet when the question was asked.")
        return WhyNot(
            MemoryView(memory), None, recorded=False, verdict=_("It was learned after this answer."), lift=lift
        )
    question = record.view.text
    if not question.strip():
        lift = _("The question was erased, so the recall cannot run again.")
        verdict = _("It is not in the recorded recall.")
        return WhyNot(MemoryView(memory), None, recorded=False, verdict=verdict, lift=lift)
    note_question(principal, question)
    return _told(memory, place(lines_of(_again(principal, record).considered), memory_id))


def why_not_in(principal: Principal, explained: Explanation, memory_id: UUID) -> WhyNot:
    """Explain the place of a memory in a recall that just ran. Raises NotFound."""
    return _told(find_memory(principal, memory_id), place(lines_of(explained.considered), memory_id))


def since(memory: Memory) -> datetime:
    """When the memory began to exist for recall."""
    learned = getattr(memory, "learned_at", memory.created_at)
    return memory.created_at if isinstance(memory, Episode) else min(learned, memory.created_at)


def _again(principal: Principal, record: TurnRecord) -> Explanation:
    """The recall of a turn once more, as of its time and with its own limits if they were recorded."""
    view, traced = record.view, next(iter(record.recalls.values()), None)
    limits = traced.trace.parameters if traced else {}
    options: RecallOptions = {"stored": True, "as_of": view.said_at}
    if view.episode_id:
        options["exclude_episode_ids"] = [view.episode_id]
    for name in ("types", "limit", "token_budget", "threshold"):
        if limits.get(name):
            options[name] = limits[name]
    return explain(principal, view.text, **options)


def _told(memory: Memory, placing: Placing, *, recorded: bool = False) -> WhyNot:
    return WhyNot(MemoryView(memory), placing, recorded, _verdict(placing), _lift(memory, placing))


def _verdict(placing: Placing) -> str:
    if placing.rank is None:
        return _("It was not among the %(of)s candidates.") % {"of": placing.of}
    numbers = {"rank": placing.rank, "of": placing.of, "score": number(placing.score, 2)}
    where = _("It was number %(rank)s of %(of)s candidates, with a score of %(score)s.") % numbers
    if placing.cut is Cut.NO:
        return _("%(where)s It was given to the answer.") % {"where": where}
    return where


def _lift(memory: Memory, placing: Placing) -> str:
    """What would have lifted the memory, in one sentence."""
    if placing.rank is None:
        if memory.status not in CURRENT:
            return _("Only current memories are recalled, and this one was replaced, ended or evicted.")
        return _("A word of the question in its text would have made it a candidate; it is not near in meaning either.")
    if placing.cut in _NO_LIFT:
        return str(_NO_LIFT[placing.cut])
    if not placing.lacked:
        return _("A limit of %(rank)s: no single signal keeps it from its place.") % {"rank": placing.rank}
    title, hint = SIGNALS[placing.lacked]
    words = {
        "signal": title,
        "hint": hint[0].lower() + hint[1:],
        "had": number(placing.had, 2),
        "needed": number(placing.needed, 2),
        "rank": placing.lifted_to,
        "given": placing.given,
    }
    lacked = _("It lacked “%(signal)s” (%(hint)s): %(had)s, where the last one given out had %(needed)s.") % words
    if placing.lifted_to is not None and placing.lifted_to <= placing.given:
        return lacked + " " + _("With as much it would have been number %(rank)s and given out.") % words
    return (
        lacked
        + " "
        + ngettext(
            "With as much it would have been number %(rank)s, and only %(given)s was given out.",
            "With as much it would have been number %(rank)s, and only %(given)s were given out.",
            placing.given,
        )
        % words
    )
