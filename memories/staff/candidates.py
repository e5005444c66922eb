"""The candidates of a recall as a table: a row each with a bar for each signal, and why it was left out.

One table serves a recall that was just explained and one that was recorded. Pure: plain values in and out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from memories.models import RecallTrace
from memories.presenting.markup import kind_mark
from memories.presenting.memory import MemoryView
from memories.recall.explaining import ConsideredCandidate, Origin
from memories.recall.selection import Cut
from memories.selectors.memories import Memory
from memories.types import Kind

# What each signal adds, in the words of the page; in the order of its columns.
SIGNALS: Mapping[str, tuple[str, str]] = {
    "meaning": ("Meaning", "How near the memory is to the question in meaning"),
    "words": ("Words", "How well the memory covers the question's words"),
    "words_before": ("Before", "How well the turns up to it cover the question's words"),
    "words_around": ("Around", "How well the turns around it cover the question's words"),
    "session": ("Session", "How near its conversation is to the question"),
    "alone": ("Alone", "It stands for itself, without turns around it"),
    "speaker": ("Speaker", "Said by somebody whom the question names"),
    "answers": ("Answers", "The turn before it asks what was asked"),
    "first_person": ("In person", "The speaker speaks of themselves"),
    "date": ("Date", "From the month or year that the question names"),
    "when": ("When", "The question asks when, and it holds a time"),
}
FACTORS: Mapping[str, tuple[str, str]] = {
    "age": ("Age", "How long ago it happened or was last used"),
    "use": ("Use", "How often it was recalled"),
    "outcome": ("Outcome", "How often a how-to worked"),
    "catalog": ("Shared", "Entries of the catalog go behind what is the member's own"),
    "stale": ("Stale", "Nobody confirmed it in time"),
}
CUTS: Mapping[Cut, str] = {
    Cut.NO: "given out",
    Cut.RANK: "below the limit",
    Cut.DUPLICATE: "says the same as a better one",
    Cut.ASKED_BEFORE: "asks the same question",
    Cut.BUDGET: "does not fit the tokens left",
    Cut.THRESHOLD: "below the threshold",
    Cut.GONE: "went while it was looked for",
}
ORIGINS: Mapping[Origin, str] = {
    Origin.WORDS: "same words",
    Origin.MEANING: "same meaning",
    Origin.CONTEXT: "beside a hit",
    Origin.TAIL: "just written",
    Origin.DATABASE: "from the database",
}
# The width of a bar in its own units.
WIDE = 100.0
BRIEF = 90
_BAR = (
    '<span class="bar-number">{}</span><svg class="reach {}" viewBox="0 0 100 6" preserveAspectRatio="none"'
    ' aria-hidden="true"><rect class="reach-track" width="100" height="6"/>'
    '<rect class="reach-bar" width="{}" height="6"/></svg>'
)
_BRIEF = '<span class="memory-cell">{}<a href="#candidate-{}" dir="auto">{}</a></span>'
_GONE = '<span class="memory-cell">{}<span class="tombstone">No longer there.</span></span>'
# What two digits show as more than nothing.
_SHOWS = 0.005


@dataclass(frozen=True, slots=True)
class SignalBar:
    """A number, and the length of its bar from 0 to 100."""

    value: float
    width: str
    tone: str = "c1"

    @property
    def drawn(self) -> SafeString:
        """The cell. A table has hundreds, and an included template would be slow for each."""
        return format_html(_BAR, f"{self.value:.2f}", self.tone, self.width)


@dataclass(frozen=True, slots=True)
class SignalRow:
    """One candidate. `memory` is None once it is gone; `considered` is known only of a recall explained just now."""

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
        """A few words, as a link to its row in the table of all signals."""
        if self.memory is None:
            return format_html(_GONE, kind_mark(self.kind))
        text = Truncator(self.memory.statement).chars(BRIEF)
        return format_html(_BRIEF, kind_mark(self.kind), self.rank, text)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it was found, in words."""
        return self.considered.reasons if self.considered else ()

    @property
    def origins(self) -> list[str]:
        """Which parts of the search found it, in words."""
        return [ORIGINS[origin] for origin in self.considered.origins] if self.considered else []

    @property
    def factors(self) -> list[float]:
        """The single adjustments, in the order of FACTORS."""
        return [self.considered.adjustments[name] for name in FACTORS] if self.considered else []


@dataclass(frozen=True, slots=True)
class CandidateTable:
    """Rows under the signals that any of them has; `more` candidates are not listed."""

    signals: tuple[tuple[str, str], ...]
    rows: tuple[SignalRow, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A stage of a recall: how many memories it left, and how long it took. `width` is that of its bar."""

    title: str
    count: int | None
    took_ms: float | None
    hint: str = ""
    width: str = "0"


def funnel_of(steps: Sequence[FunnelStep]) -> tuple[FunnelStep, ...]:
    """The stages with bars in proportion to the largest."""
    highest = max((step.count or 0 for step in steps), default=0) or 1
    return tuple(replace(step, width=f"{100 * (step.count or 0) / highest:.1f}") for step in steps)


def table_of(considered: Sequence[ConsideredCandidate], *, most: int) -> CandidateTable:
    """The first `most` candidates of an explained recall."""
    shown = considered[:most]
    names = _present([each.added for each in shown])
    scale = _Scale([each.added for each in shown], [each.score for each in shown])
    rows = tuple(
        SignalRow(
            rank=each.rank,
            kind=each.kind,
            id=each.id,
            memory=MemoryView(each.memory) if each.memory else None,
            bars=scale.bars(each.added, names),
            fused=each.fused,
            factor=each.factor,
            score=scale.score(each.score),
            cut=CUTS[each.cut],
            given=each.cut is Cut.NO,
            coverage=_coverage(each.signals),
            considered=each,
        )
        for each in shown
    )
    return CandidateTable(tuple(SIGNALS[name] for name in names), rows, len(considered) - len(shown))


def table_of_trace(trace: RecallTrace, memories: Mapping[UUID, Memory]) -> CandidateTable:
    """The candidates of a recorded recall; `memories` are those that still exist."""
    lines = trace.candidates
    names = _present([line["signals"] for line in lines])
    scale = _Scale([line["signals"] for line in lines], [line["score"] for line in lines])
    rows = []
    for line in lines:
        memory = memories.get(UUID(line["id"]))
        rows.append(
            SignalRow(
                rank=line["rank"],
                kind=Kind(line["kind"]),
                id=UUID(line["id"]),
                memory=MemoryView(memory) if memory else None,
                bars=scale.bars(line["signals"], names),
                fused=line["signals"].get("fused", line["score"]),
                factor=line["signals"].get("adjustment", 1.0),
                score=scale.score(line["score"]),
                cut=CUTS[Cut(line["cut"])],
                given=bool(line["selected"]),
                coverage=_coverage(line["signals"]),
            )
        )
    return CandidateTable(tuple(SIGNALS[name] for name in names), tuple(rows))


class _Scale:
    """Bars of one table have one scale, so that they can be compared down and across."""

    def __init__(self, added: Iterable[Mapping[str, float]], scores: Iterable[float]) -> None:
        self._signal = max((line.get(name, 0.0) for line in added for name in SIGNALS), default=0.0) or 1.0
        self._score = max((abs(score) for score in scores), default=0.0) or 1.0

    def bars(self, added: Mapping[str, float], names: Sequence[str]) -> tuple[SignalBar, ...]:
        return tuple(_bar(added.get(name, 0.0), self._signal) for name in names)

    def score(self, value: float) -> SignalBar:
        return _bar(value, self._score, "c3")


def _present(added: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """The signals that say something of any candidate, as far as two digits show."""
    return tuple(name for name in SIGNALS if any(abs(line.get(name, 0.0)) >= _SHOWS for line in added))


def _coverage(signals: Mapping[str, float]) -> tuple[SignalBar, ...]:
    return tuple(_bar(signals.get(name, 0.0), 1.0, "c4") for name in ("coverage", "coverage_before", "coverage_around"))


def _bar(value: float, highest: float, tone: str = "c1") -> SignalBar:
    return SignalBar(value, f"{WIDE * min(max(value / highest, 0.0), 1.0):.1f}", tone)
