"""The context of a chain page: its states on a common time axis, the graph of their links, and their events.

All text belongs to one owner, whose audit log already has the read event. A promoted copy in another scope is shown
without its text, and an owner in another tenant is never named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.hygiene.differences import Piece, differences
from memories.models import Episode, Fact, Playbook
from memories.presenting.lines import believed, did, ending_of, headline, state_look, state_word, valid
from memories.presenting.memory import MemoryView, source_words
from memories.presenting.reasons import reason_words
from memories.selectors.history.listing import ChainedRow
from memories.selectors.history.stories import ChainJoint, Elsewhere, Joint, Story, StoryWords, event_reason
from memories.staff.chain_drawing import Axis, AxisBar, Edge, Graph, Node, axis_of, graph_of
from memories.types import Contradiction, Scope
from tenants.audit.sentences import ActorNames
from tenants.models import AuditEvent

EVENTS_SHOWN = 12
_DIFFS_SHOWN = 3
_ENDING_VERBS = ("superseded", "retired", "retracted", "evicted", "forgotten", "erased")


@dataclass(frozen=True, slots=True)
class ChainEvent:
    """An audit event with the actor's name; `bad` is true if the latest verification failed at it."""

    event: AuditEvent
    who: str
    bad: bool

    @property
    def verb(self) -> str:
        return self.event.action.rpartition(".")[2]

    @property
    def did(self) -> str:
        """The event as a verb phrase such as `replaced it`."""
        return did(self.event.action)

    @property
    def reason(self) -> str:
        return reason_words(event_reason(self.event))


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another state of the chain, and its number in the timeline."""

    id: UUID
    number: int


@dataclass(frozen=True, slots=True)
class WordingChange:
    """The word differences between a state and its predecessor `before`."""

    before: Neighbour
    old: tuple[Piece, ...]
    new: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class StateView:
    """One state of the timeline. `row` is None for an erased state; `number` counts from 1."""

    id: UUID
    number: int
    url: str
    here: bool
    row: ChainedRow | None = None
    belief_bar: AxisBar | None = None
    valid_bar: AxisBar | None = None
    events: tuple[ChainEvent, ...] = ()
    learned_from: Sequence[Episode] = ()
    ended_by: Sequence[Episode] = ()
    merges: tuple[Neighbour, ...] = ()
    differences: tuple[WordingChange, ...] = ()
    successor: Neighbour | None = None
    restores: Neighbour | None = None
    branches: tuple[Neighbour, ...] = ()
    fault: str = ""

    @property
    def memory(self) -> MemoryView | None:
        return MemoryView(self.row) if self.row else None

    @property
    def words(self) -> str:
        return headline(self.row) if self.row else ""

    @property
    def state(self) -> str:
        """The label of the state, in a word or two."""
        return state_word(self.row) if self.row else _("erased")

    @property
    def look(self) -> str:
        """The state as a CSS class."""
        return state_look(self.row) if self.row else "erased"

    @property
    def believed(self) -> str:
        return believed(self.row, exact=True) if self.row else ""

    @property
    def valid(self) -> str:
        """The period in which it was true in the world."""
        return valid(self.row) if self.row else ""

    @property
    def ending(self) -> str:
        return ending_of(self.row) if self.row else _("Its words are gone for good.")

    @property
    def source(self) -> str:
        return source_words(self.row, staff=True) if self.row else ""

    @property
    def shown(self) -> tuple[ChainEvent, ...]:
        """The latest EVENTS_SHOWN events."""
        return self.events[-EVENTS_SHOWN:]

    @property
    def began(self) -> ChainEvent | None:
        """The event that created the state; an undo takes precedence over the write that it caused."""
        verbs = ("restored", "created")
        return next((event for verb in verbs for event in self.events if event.verb == verb), None)

    @property
    def ended(self) -> ChainEvent | None:
        """The last event that ended the state, including its erasure."""
        return next((event for event in reversed(self.events) if event.verb in _ENDING_VERBS), None)

    @property
    def bad(self) -> bool:
        """Whether the state, or one of the shown events, does not verify."""
        return bool(self.fault) or any(event.bad for event in self.shown)


@dataclass(frozen=True, slots=True)
class ChainTimeline:
    """The context of the whole page; `elsewhere` holds (copy, label, URL) of copies in other scopes."""

    states: tuple[StateView, ...]
    axis: Axis
    graph: Graph
    elsewhere: tuple[tuple[Elsewhere, str, str], ...]

    @property
    def newest_first(self) -> tuple[StateView, ...]:
        """The states in reverse chronological order."""
        return self.states[::-1]


@dataclass(frozen=True, slots=True)
class ChainContext:
    """The inputs beside the chain: names, quotes, URL builders, and which events and states do not verify."""

    names: ActorNames
    words: StoryWords
    address: Callable[[UUID], str]
    elsewhere_address: Callable[[Elsewhere], str]
    bad: frozenset[UUID]
    faults: Mapping[UUID, str]


def view_of(story: Story, around: ChainContext) -> ChainTimeline:
    """Build the timeline of a story."""
    axis = axis_of(_moments(story), now=timezone.now())
    order = _numbered(story)
    neighbours = {pk: Neighbour(pk, number) for number, (pk, _) in enumerate(order, start=1)}
    states = tuple(
        _state(story, row, neighbours, axis, around) if row else _tombstone(story, pk, neighbours, around)
        for pk, row in order
    )
    elsewhere = tuple((each, _named(each), around.elsewhere_address(each)) for each in story.elsewhere)
    return ChainTimeline(states, axis, _graph(story, states, elsewhere), elsewhere)


def _numbered(story: Story) -> list[tuple[UUID, ChainedRow | None]]:
    """All states in chronological order; an erased state, which has None, precedes its successors."""
    order: list[tuple[UUID, ChainedRow | None]] = [(row.pk, row) for row in story.rows]
    for each in story.erased:
        after = {link.end for link in story.links if link.start == each.id}
        place = next((number for number, (pk, _) in enumerate(order) if pk in after), len(order))
        order.insert(place, (each.id, None))
    return order


def _state(
    story: Story, row: ChainedRow, neighbours: Mapping[UUID, Neighbour], axis: Axis, around: ChainContext
) -> StateView:
    fact = row if isinstance(row, Fact) else None
    before = [link.start for link in story.links if link.end == row.pk and link.joint is Joint.SUPERSEDED]
    before.sort(key=lambda pk: neighbours[pk].number)
    return StateView(
        id=row.pk,
        number=neighbours[row.pk].number,
        url=around.address(row.pk),
        here=row.pk == story.asked,
        row=row,
        belief_bar=None if row.superseded_at == row.learned_at else axis.bar(row.learned_at, row.superseded_at),
        valid_bar=_valid_bar(fact, axis),
        events=_events(story.events.get(row.pk, ()), around),
        learned_from=around.words.learned_from.get(row.pk, ()),
        ended_by=around.words.ended_by.get(row.pk, ()),
        merges=tuple(neighbours[pk] for pk in before) if len(before) > 1 else (),
        differences=_differences(story, row, before, neighbours),
        successor=_next(story, row.pk, neighbours),
        restores=neighbours.get(row.restores) if row.restores else None,
        branches=_branches(story, row.pk, neighbours),
        fault=around.faults.get(row.pk, ""),
    )


def _tombstone(story: Story, pk: UUID, neighbours: Mapping[UUID, Neighbour], around: ChainContext) -> StateView:
    event = next((each.event for each in story.erased if each.id == pk), None)
    return StateView(
        id=pk,
        number=neighbours[pk].number,
        url=around.address(pk),
        here=pk == story.asked,
        events=_events([event] if event else [], around),
        successor=_next(story, pk, neighbours),
    )


def _events(events: Sequence[AuditEvent], around: ChainContext) -> tuple[ChainEvent, ...]:
    return tuple(ChainEvent(event, around.names.who(event), event.pk in around.bad) for event in events)


def _differences(
    story: Story, row: ChainedRow, before: Sequence[UUID], neighbours: Mapping[UUID, Neighbour]
) -> tuple[WordingChange, ...]:
    rows = {each.pk: each for each in story.rows}
    found = []
    for pk in before[:_DIFFS_SHOWN]:
        if pk in rows and (old := _wording(rows[pk])) != (new := _wording(row)):
            pieces = differences(old, new)
            found.append(WordingChange(neighbours[pk], *pieces))
    return tuple(found)


def _next(story: Story, pk: UUID, neighbours: Mapping[UUID, Neighbour]) -> Neighbour | None:
    ends = (link.end for link in story.links if link.start == pk and link.joint is Joint.SUPERSEDED)
    return next((neighbours[end] for end in ends if end in neighbours), None)


def _branches(story: Story, pk: UUID, neighbours: Mapping[UUID, Neighbour]) -> tuple[Neighbour, ...]:
    """The states that an undo restored from it, or that a promotion copied from it within the chain."""
    ends = [link.end for link in story.links if link.start == pk and link.joint is not Joint.SUPERSEDED]
    return tuple(neighbours[end] for end in ends if end in neighbours)


def _graph(story: Story, states: Sequence[StateView], elsewhere: Sequence[tuple[Elsewhere, str, str]]) -> Graph:
    copies = {link.end for link in story.links if link.joint is Joint.PROMOTED}
    points = [
        Node(state.id, state.words or _("Erased"), f"#state-{state.id}", _note(state), _here(state)) for state in states
    ]
    named = [Node(each.id, name, url, each.scope, "elsewhere") for each, name, url in elsewhere]
    originals = [point for point in named if point.id not in copies]
    others = [point for point in named if point.id in copies]
    rows = {row.pk: row for row in story.rows}
    edges = [Edge(link.start, link.end, _edge_look(link, rows.get(link.start))) for link in story.links]
    return graph_of([*originals, *points, *others], edges)


def _note(state: StateView) -> str:
    return f"{state.number} · {state.state}"


def _here(state: StateView) -> str:
    return f"{state.look}{' here' if state.here else ''}{' bad' if state.bad else ''}"


def _edge_look(link: ChainJoint, start: ChainedRow | None) -> str:
    if link.joint is Joint.SUPERSEDED and start is not None and start.contradiction == Contradiction.HARSH:
        return "harsh"
    return "bridged" if link.bridged else link.joint.value


def _valid_bar(fact: Fact | None, axis: Axis) -> AxisBar | None:
    if fact is None or fact.retracted or (fact.valid_from is None and fact.valid_to is None):
        return None
    return axis.bar(fact.valid_from, fact.valid_to)


def _moments(story: Story) -> list[datetime | None]:
    found: list[datetime | None] = []
    for row in story.rows:
        found += [row.learned_at, row.superseded_at]
        if isinstance(row, Fact):
            found += [row.valid_from, row.valid_to]
    return [*found, *(each.at for each in story.erased)]


def _wording(row: ChainedRow) -> str:
    return "\n".join([row.title, *row.steps]) if isinstance(row, Playbook) else row.text


def _named(each: Elsewhere) -> str:
    match Scope(each.scope):
        case Scope.GLOBAL:
            return _("Shared with all tenants")
        case Scope.TENANT:
            return _("Shared in the tenant")
        case Scope.TASK:
            return _("In a task of the member")
        case Scope.USER:
            return _("In a member's memory")
