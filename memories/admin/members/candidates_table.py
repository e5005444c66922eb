"""The candidates of a recall as a table: one row each, a small bar for each signal, what was cut with its reason.

The same table tells of a recall that was just explained and of one that was recorded. Pure: plain values in and out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from memories.models import Episode, Fact, Playbook, RecallTrace
from memories.presenting.lines import headline
from memories.presenting.markup import kind_mark
from memories.recall.boundary import Cut
from memories.recall.explaining import ConsideredCandidate, Origin, SubQueryRank
from memories.selectors.memories import Memory
from memories.types import Kind, Status

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
class Bar:
    """A number, and how far its bar reaches, from 0 to 100."""

    value: float
    width: str
    tone: str = "c1"

    @property
    def drawn(self) -> SafeString:
        """As it stands in a cell. A table has hundreds, which templates of their own would take long for."""
        return format_html(_BAR, f"{self.value:.2f}", self.tone, self.width)


@dataclass(frozen=True, slots=True)
class Told:
    """A memory in a row: its words, its state, and since when it is known or when it happened."""

    text: str
    status: Status
    since: datetime
    session_id: UUID | None


@dataclass(frozen=True, slots=True)
class Line:
    """One candidate. `told` is None for one that is not there any more; `cut` says why it was not given out.

    The places in the legs, where it comes from and the single factors are known of a recall that was just explained.
    """

    rank: int
    kind: Kind
    id: UUID
    told: Told | None
    bars: tuple[Bar, ...]
    fused: float
    factor: float
    score: Bar
    cut: str
    given: bool
    coverage: tuple[Bar, ...]
    reasons: tuple[str, ...] = ()
    words: SubQueryRank | None = None
    meaning: SubQueryRank | None = None
    origins: tuple[str, ...] = ()
    beside: tuple[UUID, ...] = ()
    like: UUID | None = None
    fused_rank: int | None = None
    factors: tuple[float, ...] = ()

    @property
    def brief(self) -> SafeString:
        """In a few words, as a link to its row in the table of all signals."""
        if self.told is None:
            return format_html(_GONE, kind_mark(self.kind))
        text = Truncator(self.told.text).chars(BRIEF)
        return format_html(_BRIEF, kind_mark(self.kind), self.rank, text)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under the signals that any of them has; `more` candidates are not listed."""

    signals: tuple[tuple[str, str], ...]
    rows: tuple[Line, ...]
    more: int = 0


def table_of(considered: Sequence[ConsideredCandidate], *, most: int) -> Table:
    """The first `most` candidates of an explained recall."""
    shown = considered[:most]
    names = _present([each.added for each in shown])
    scale = _Scale([each.added for each in shown], [each.score for each in shown])
    rows = tuple(
        Line(
            rank=each.rank,
            kind=each.kind,
            id=each.id,
            told=told_of(each.memory),
            bars=scale.bars(each.added, names),
            fused=each.fused,
            factor=each.factor,
            score=scale.score(each.score),
            cut=CUTS[each.cut],
            given=each.cut is Cut.NO,
            coverage=_coverage(each.signals),
            reasons=each.reasons,
            words=each.words,
            meaning=each.meaning,
            origins=tuple(ORIGINS[origin] for origin in each.origins),
            beside=each.beside,
            like=each.like,
            fused_rank=each.fused_rank,
            factors=tuple(each.adjustments[name] for name in FACTORS),
        )
        for each in shown
    )
    return Table(tuple(SIGNALS[name] for name in names), rows, len(considered) - len(shown))


def table_of_trace(trace: RecallTrace, memories: Mapping[UUID, Memory]) -> Table:
    """The candidates that a recorded recall lists; `memories` are those that are still there."""
    lines = trace.candidates
    names = _present([line["signals"] for line in lines])
    scale = _Scale([line["signals"] for line in lines], [line["score"] for line in lines])
    rows = tuple(
        Line(
            rank=line["rank"],
            kind=Kind(line["kind"]),
            id=UUID(line["id"]),
            told=told_of(memories.get(UUID(line["id"]))),
            bars=scale.bars(line["signals"], names),
            fused=line["signals"].get("fused", line["score"]),
            factor=line["signals"].get("adjustment", 1.0),
            score=scale.score(line["score"]),
            cut=CUTS[Cut(line["cut"])],
            given=bool(line["selected"]),
            coverage=_coverage(line["signals"]),
        )
        for line in lines
    )
    return Table(tuple(SIGNALS[name] for name in names), rows)


def told_of(memory: Memory | None) -> Told | None:
    """What a memory says, with the title of those that have one, as far as it is there."""
    if memory is None:
        return None
    status = Status(memory.status)
    if isinstance(memory, Episode):
        return Told(memory.searchable_text, status, memory.happened_at, memory.session_id)
    if isinstance(memory, Fact):
        return Told(memory.text, status, memory.learned_at, None)
    text = f"{headline(memory)}. {memory.text}" if memory.text else headline(memory)
    return Told(text, status, memory.learned_at if isinstance(memory, Playbook) else memory.created_at, None)


class _Scale:
    """Bars of one table have one scale, so that they can be compared down and across."""

    def __init__(self, added: Iterable[Mapping[str, float]], scores: Iterable[float]) -> None:
        self._signal = max((line.get(name, 0.0) for line in added for name in SIGNALS), default=0.0) or 1.0
        self._score = max((abs(score) for score in scores), default=0.0) or 1.0

    def bars(self, added: Mapping[str, float], names: Sequence[str]) -> tuple[Bar, ...]:
        return tuple(_bar(added.get(name, 0.0), self._signal) for name in names)

    def score(self, value: float) -> Bar:
        return _bar(value, self._score, "c3")


def _present(added: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """The signals that say something of any candidate, as far as two digits show."""
    return tuple(name for name in SIGNALS if any(abs(line.get(name, 0.0)) >= _SHOWS for line in added))


def _coverage(signals: Mapping[str, float]) -> tuple[Bar, ...]:
    return tuple(_bar(signals.get(name, 0.0), 1.0, "c4") for name in ("coverage", "coverage_before", "coverage_around"))


def _bar(value: float, highest: float, tone: str = "c1") -> Bar:
    return Bar(value, f"{WIDE * min(max(value / highest, 0.0), 1.0):.1f}", tone)
