"""The table of recall candidates: one row each, with a bar for each signal and the reason it was left out.

The table shows both a recall that was just explained and a recorded one. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from memories.models import Item, RecallTrace
from memories.presenting.markup import kind_mark
from memories.presenting.memory import MemoryView
from memories.recall.explaining import ConsideredCandidate, Origin
from memories.recall.selection import Cut
from memories.selectors.memories import Memory
from memories.types import Kind
from memoryhub.languages import gettext_lazy, number

# The title of each stage of a recall, in order.
STAGE_TITLES: Mapping[str, str] = {
    "query": gettext_lazy("Question"),
    "candidates": gettext_lazy("Candidates"),
    "loaded": gettext_lazy("Loaded"),
    "scored": gettext_lazy("Scored"),
    "selected": gettext_lazy("Given out"),
}
# The title and hint of each signal, in the order of the columns.
SIGNALS: Mapping[str, tuple[str, str]] = {
    "meaning": (gettext_lazy("Meaning"), gettext_lazy("How near the memory is to the question in meaning")),
    "words": (gettext_lazy("Words"), gettext_lazy("How well the memory covers the question's words")),
    "words_before": (gettext_lazy("Before"), gettext_lazy("How well the turns up to it cover the question's words")),
    "words_around": (gettext_lazy("Around"), gettext_lazy("How well the turns around it cover the question's words")),
    "session": (gettext_lazy("Session"), gettext_lazy("How near its conversation is to the question")),
    "alone": (gettext_lazy("Alone"), gettext_lazy("It stands for itself, without turns around it")),
    "speaker": (gettext_lazy("Speaker"), gettext_lazy("Said by somebody whom the question names")),
    "answers": (gettext_lazy("Answers"), gettext_lazy("The turn before it asks what was asked")),
    "first_person": (gettext_lazy("In person"), gettext_lazy("The speaker speaks of themselves")),
    "date": (gettext_lazy("Date"), gettext_lazy("From the time that the question names, or near it")),
    "when": (gettext_lazy("When"), gettext_lazy("The question asks when, and it holds a time")),
    "exact": (gettext_lazy("Exact"), gettext_lazy("It has a code or quoted words of the question literally")),
    "slot": (gettext_lazy("Slot"), gettext_lazy("Its key is what the question asks for")),
    "idle": (gettext_lazy("Idle"), gettext_lazy("It only asks the same question, or is small talk")),
    "ranker": (gettext_lazy("Ranker"), gettext_lazy("What the learned ranker adds to the best candidates")),
}
FACTORS: Mapping[str, tuple[str, str]] = {
    "age": (gettext_lazy("Age"), gettext_lazy("How long ago it happened or was last used")),
    "use": (gettext_lazy("Use"), gettext_lazy("How often it was recalled")),
    "outcome": (gettext_lazy("Outcome"), gettext_lazy("How often a how-to worked")),
    "catalog": (gettext_lazy("Shared"), gettext_lazy("Entries of the catalog go behind what is the member's own")),
    "stale": (gettext_lazy("Stale"), gettext_lazy("Nobody confirmed it in time, or a newer one replaced it")),
}
CUTS: Mapping[Cut, str] = {
    Cut.NO: gettext_lazy("given out"),
    Cut.RANK: gettext_lazy("below the limit"),
    Cut.DUPLICATE: gettext_lazy("says the same as a better one"),
    Cut.ASKED_BEFORE: gettext_lazy("asks the same question"),
    Cut.BUDGET: gettext_lazy("does not fit the tokens left"),
    Cut.THRESHOLD: gettext_lazy("below the threshold"),
    Cut.GONE: gettext_lazy("went while it was looked for"),
}
ORIGINS: Mapping[Origin, str] = {
    Origin.WORDS: gettext_lazy("same words"),
    Origin.MEANING: gettext_lazy("same meaning"),
    Origin.CONTEXT: gettext_lazy("beside a hit"),
    Origin.TAIL: gettext_lazy("just written"),
    Origin.DATABASE: gettext_lazy("from the database"),
}
# The width of a bar in units of its SVG view box.
WIDE = 100.0
BRIEF = 90
_BAR = (
    '<span class="bar-number">{}</span><svg class="reach {}" viewBox="0 0 100 6" preserveAspectRatio="none"'
    ' aria-hidden="true"><rect class="reach-track" width="100" height="6"/>'
    '<rect class="reach-bar" width="{}" height="6"/></svg>'
)
_BRIEF = '<span class="memory-cell">{}<a href="#candidate-{}" dir="auto">{}</a></span>'
_GONE = '<span class="memory-cell">{}<span class="tombstone">{}</span></span>'
# The smallest value that two decimal places do not round to zero.
_SHOWS = 0.005
_COVERAGE = ("coverage", "coverage_before", "coverage_around")


@dataclass(frozen=True, slots=True)
class SignalBar:
    """A number with a bar, which is full at `highest`; `tone` is a CSS class."""

    value: float
    highest: float
    tone: str = "c1"

    @property
    def drawn(self) -> SafeString:
        """The HTML of the cell. A table has hundreds of cells, and including a template for each would be slow."""
        width = WIDE * min(max(self.value / self.highest, 0.0), 1.0)
        return format_html(_BAR, number(self.value, 2), self.tone, f"{width:.1f}")


@dataclass(frozen=True, slots=True)
class SignalRow:
    """One candidate. `memory` is None once deleted; `considered` is None for a recorded recall."""

    rank: int
    kind: Kind
    id: UUID
    memory: MemoryView | None
    bars: tuple[SignalBar, ...]
    fused: float
    factor: float
    score: SignalBar
    cut: str
    given: bool
    coverage: tuple[SignalBar, ...]
    considered: ConsideredCandidate | None = None

    @property
    def brief(self) -> SafeString:
        """The start of the text, as a link to the candidate's row in the table of all signals."""
        if self.memory is None:
            return format_html(_GONE, kind_mark(self.kind), _("No longer there."))
        text = Truncator(self.memory.statement).chars(BRIEF)
        return format_html(_BRIEF, kind_mark(self.kind), self.rank, text)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the search found it, as sentences."""
        return self.considered.reasons if self.considered else ()

    @property
    def origins(self) -> list[str]:
        """Labels of the sub-queries that found it."""
        return [ORIGINS[origin] for origin in self.considered.origins] if self.considered else []

    @property
    def factors(self) -> list[float]:
        """The adjustment factors, in the order of FACTORS."""
        return [self.considered.adjustments[name] for name in FACTORS] if self.considered else []


@dataclass(frozen=True, slots=True)
class CandidateTable:
    """Rows under the (title, hint) of each shown signal; `more` is the number of candidates not listed."""

    signals: tuple[tuple[str, str], ...]
    rows: tuple[SignalRow, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A stage of a recall: the number of memories that it left, and its duration. `width` is the bar's, in percent."""

    title: str
    count: int | None
    took_ms: float | None
    hint: str = ""
    width: str = "0"


def funnel_of(steps: Sequence[FunnelStep]) -> tuple[FunnelStep, ...]:
    """The stages, with bar widths relative to the largest count."""
    highest = max((step.count or 0 for step in steps), default=0) or 1
    return tuple(replace(step, width=f"{100 * (step.count or 0) / highest:.1f}") for step in steps)


def table_of(considered: Sequence[ConsideredCandidate], *, most: int) -> CandidateTable:
    """The table of the first `most` candidates of an explained recall."""
    return _table(lines_of(considered[:most]), more=max(len(considered) - most, 0))


def lines_of(considered: Sequence[ConsideredCandidate]) -> list[CandidateLine]:
    """The candidates of an explained recall."""
    return [
        CandidateLine(
            each.rank,
            each.kind,
            each.id,
            None if isinstance(each.memory, Item) else each.memory,
            each.added,
            each.signals,
            each.score,
            each.fused,
            each.factor,
            each.cut,
            each,
        )
        for each in considered
    ]


def table_of_trace(trace: RecallTrace, memories: Mapping[UUID, Memory]) -> CandidateTable:
    """The table of a recorded recall; `memories` are the candidates that still exist."""
    return _table(lines_of_trace(trace, memories))


def lines_of_trace(trace: RecallTrace, memories: Mapping[UUID, Memory]) -> list[CandidateLine]:
    """The recorded candidates of a recall."""
    lines = []
    for line in trace.candidates:
        id_, signals, score = UUID(line["id"]), line["signals"], line["score"]
        fused, factor = signals.get("fused", score), signals.get("adjustment", 1.0)
        kind, cut = Kind(line["kind"]), Cut(line["cut"])
        lines.append(
            CandidateLine(line["rank"], kind, id_, memories.get(id_), signals, signals, score, fused, factor, cut)
        )
    return lines


class CandidateLine(NamedTuple):
    """A candidate of either source; `added` is the contribution of each signal to the sum."""

    rank: int
    kind: Kind
    id: UUID
    memory: Memory | None
    added: Mapping[str, float]
    signals: Mapping[str, float]
    score: float
    fused: float
    factor: float
    cut: Cut
    considered: ConsideredCandidate | None = None


def _table(lines: Sequence[CandidateLine], *, more: int = 0) -> CandidateTable:
    """The rows. All bars of a table share one scale, so that they can be compared across rows and columns.

    A signal is omitted if two decimal places round its contribution to zero for every candidate.
    """
    names = [name for name in SIGNALS if any(abs(line.added.get(name, 0.0)) >= _SHOWS for line in lines)]
    highest = max((line.added.get(name, 0.0) for line in lines for name in SIGNALS), default=0.0) or 1.0
    best = max((abs(line.score) for line in lines), default=0.0) or 1.0
    rows = tuple(
        SignalRow(
            rank=line.rank,
            kind=line.kind,
            id=line.id,
            memory=MemoryView(line.memory) if line.memory else None,
            bars=tuple(SignalBar(line.added.get(name, 0.0), highest) for name in names),
            fused=line.fused,
            factor=line.factor,
            score=SignalBar(line.score, best, "c3"),
            cut=CUTS[line.cut],
            given=line.cut is Cut.NO,
            coverage=tuple(SignalBar(line.signals.get(name, 0.0), 1.0, "c4") for name in _COVERAGE),
            considered=line.considered,
        )
        for line in lines
    )
    return CandidateTable(tuple(SIGNALS[name] for name in names), rows, more)
