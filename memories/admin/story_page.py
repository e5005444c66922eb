"""What the page of one chain shows: its states on one axis, the graph of their links, and what is told of each.

Invariant: all words are those of the one owner whose trail was told; what a promotion links in other scopes has none,
and an owner of another tenant is never named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.admin.chain_axis import Axis, Bar, axis_of
from memories.admin.chain_graph import Edge, Graph, Point, graph_of
from memories.admin.story_wording import believed, did, ending, state_word, valid
from memories.hygiene.differences import Piece, differences
from memories.models import Episode, Fact, Playbook
from memories.selectors.history.listing import Row
from memories.selectors.history.stories import Elsewhere, Joint, Link, Story, StoryWords, told_reason
from memories.types import Contradiction, Scope, Status
from tenants.audit.sentences import ActorNames
from tenants.models import AuditEvent

EVENTS_SHOWN = 12
_DIFFS_SHOWN = 3
_ERASED = "Erased"


@dataclass(frozen=True, slots=True)
class Told:
    """One event: who did what, when, why; `bad` if the latest proof stumbled over it."""

    id: UUID
    sequence: int
    who: str
    did: str
    at: datetime
    reason: str
    bad: bool


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A state beside another one, and its number in the timeline."""

    id: UUID
    number: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How the wording changed from one state to the next."""

    before: Neighbour
    old: tuple[Piece, ...]
    new: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class StoryState:
    """One state as the timeline shows it. `row` is None for what was erased; `number` counts them from 1."""

    id: UUID
    number: int
    url: str
    here: bool
    row: Row | None
    words: str
    steps: tuple[str, ...]
    trigger: str
    state: str
    look: str
    believed: str
    valid: str
    ending: str
    confidence: float | None
    belief_bar: Bar | None
    valid_bar: Bar | None
    began: Told | None
    ended: Told | None
    events: tuple[Told, ...]
    more_events: int
    learned_from: Sequence[Episode]
    ended_by: Sequence[Episode]
    merges: tuple[Neighbour, ...]
    differences: tuple[Difference, ...]
    successor: Neighbour | None
    restores: Neighbour | None
    branches: tuple[Neighbour, ...]
    erased_at: datetime | None = None

    @property
    def bad(self) -> bool:
        """Whether the latest proof stumbled here."""
        return any(event.bad for event in self.events)


@dataclass(frozen=True, slots=True)
class StoryView:
    """The whole page."""

    states: tuple[StoryState, ...]
    axis: Axis
    graph: Graph
    elsewhere: tuple[tuple[Elsewhere, str, str], ...]

    @property
    def newest_first(self) -> tuple[StoryState, ...]:
        """As the timeline runs."""
        return self.states[::-1]


@dataclass(frozen=True, slots=True)
class Around:
    """What the page needs beside the story: names, quotes, addresses of states, and which events are bad."""

    names: ActorNames
    words: StoryWords
    address: Callable[[UUID], str]
    elsewhere_address: Callable[[Elsewhere], str]
    bad: frozenset[UUID]


def view_of(story: Story, around: Around) -> StoryView:
    """The page of a story."""
    axis = axis_of(_moments(story), now=timezone.now())
    order = _numbered(story)
    neighbours = {pk: Neighbour(pk, number) for number, (pk, _) in enumerate(order, start=1)}
    states = tuple(
        _state(story, row, neighbours, axis, around) if row else _tombstone(story, pk, neighbours, around)
        for pk, row in order
    )
    elsewhere = tuple((each, _named(each), around.elsewhere_address(each)) for each in story.elsewhere)
    return StoryView(states, axis, _graph(story, states, elsewhere), elsewhere)


def _numbered(story: Story) -> list[tuple[UUID, Row | None]]:
    """All states in the order of time; what was erased stands before what came after it."""
    order: list[tuple[UUID, Row | None]] = [(row.pk, row) for row in story.rows]
    for each in story.erased:
        after = {link.end for link in story.links if link.start == each.id}
        place = next((number for number, (pk, _) in enumerate(order) if pk in after), len(order))
        order.insert(place, (each.id, None))
    return order


def _state(story: Story, row: Row, neighbours: Mapping[UUID, Neighbour], axis: Axis, around: Around) -> StoryState:
    events = [_told(event, around) for event in story.events.get(row.pk, ())]
    fact = row if isinstance(row, Fact) else None
    before = [link.start for link in story.links if link.end == row.pk and link.joint is Joint.SUPERSEDED]
    before.sort(key=lambda pk: neighbours[pk].number)
    return StoryState(
        id=row.pk,
        number=neighbours[row.pk].number,
        url=around.address(row.pk),
        here=row.pk == story.asked,
        row=row,
        words=_headline(row),
        steps=tuple(row.steps) if isinstance(row, Playbook) else (),
        trigger=row.trigger if isinstance(row, Playbook) else "",
        state=state_word(row),
        look=_look(row),
        believed=believed(row),
        valid=valid(row),
        ending=ending(row),
        confidence=fact.confidence if fact else None,
        belief_bar=None if row.superseded_at == row.learned_at else axis.bar(row.learned_at, row.superseded_at),
        valid_bar=_valid_bar(fact, axis),
        began=_first(events, ("wrote it down", "brought it back")),
        ended=_last(events, ("replaced it", "retired it", "marked it as never true", "evicted it")),
        events=tuple(events[-EVENTS_SHOWN:]),
        more_events=max(0, len(events) - EVENTS_SHOWN),
        learned_from=around.words.learned_from.get(row.pk, ()),
        ended_by=around.words.ended_by.get(row.pk, ()),
        merges=tuple(neighbours[pk] for pk in before) if len(before) > 1 else (),
        differences=_differences(story, row, before, neighbours),
        successor=_next(story, row.pk, neighbours),
        restores=neighbours.get(row.restores) if row.restores else None,
        branches=_branches(story, row.pk, neighbours),
    )


def _tombstone(story: Story, pk: UUID, neighbours: Mapping[UUID, Neighbour], around: Around) -> StoryState:
    event = next((each.event for each in story.erased if each.id == pk), None)
    told = (_told(event, around),) if event else ()
    return StoryState(
        id=pk,
        number=neighbours[pk].number,
        url=around.address(pk),
        here=pk == story.asked,
        row=None,
        words="",
        steps=(),
        trigger="",
        state="erased",
        look="erased",
        believed="",
        valid="",
        ending="Its words are gone for good.",
        confidence=None,
        belief_bar=None,
        valid_bar=None,
        began=None,
        ended=told[0] if told else None,
        events=told,
        more_events=0,
        learned_from=(),
        ended_by=(),
        merges=(),
        differences=(),
        successor=_next(story, pk, neighbours),
        restores=None,
        branches=(),
        erased_at=event.created_at if event else None,
    )


def _told(event: AuditEvent, around: Around) -> Told:
    return Told(
        id=event.pk,
        sequence=event.sequence,
        who=around.names.who(event),
        did=did(event.action),
        at=event.created_at,
        reason=told_reason(event),
        bad=event.pk in around.bad,
    )


def _first(events: Sequence[Told], what: Sequence[str]) -> Told | None:
    """What brought it about; an undo says more than the writing that was part of it."""
    return next((event for each in reversed(what) for event in events if event.did == each), None)


def _last(events: Sequence[Told], what: Sequence[str]) -> Told | None:
    return next((event for event in reversed(events) if event.did in what), None)


def _differences(
    story: Story, row: Row, before: Sequence[UUID], neighbours: Mapping[UUID, Neighbour]
) -> tuple[Difference, ...]:
    rows = {each.pk: each for each in story.rows}
    found = []
    for pk in before[:_DIFFS_SHOWN]:
        if pk in rows and (old := _wording(rows[pk])) != (new := _wording(row)):
            pieces = differences(old, new)
            found.append(Difference(neighbours[pk], *pieces))
    return tuple(found)


def _next(story: Story, pk: UUID, neighbours: Mapping[UUID, Neighbour]) -> Neighbour | None:
    ends = (link.end for link in story.links if link.start == pk and link.joint is Joint.SUPERSEDED)
    return next((neighbours[end] for end in ends if end in neighbours), None)


def _branches(story: Story, pk: UUID, neighbours: Mapping[UUID, Neighbour]) -> tuple[Neighbour, ...]:
    """What else was made of it: brought back by an undo, or copied within the chain."""
    ends = [link.end for link in story.links if link.start == pk and link.joint is not Joint.SUPERSEDED]
    return tuple(neighbours[end] for end in ends if end in neighbours)


def _graph(story: Story, states: Sequence[StoryState], elsewhere: Sequence[tuple[Elsewhere, str, str]]) -> Graph:
    copies = {link.end for link in story.links if link.joint is Joint.PROMOTED}
    points = [
        Point(state.id, state.words or _ERASED, f"#state-{state.id}", _note(state), _here(state)) for state in states
    ]
    named = [Point(each.id, name, url, each.scope, "elsewhere") for each, name, url in elsewhere]
    originals = [point for point in named if point.id not in copies]
    others = [point for point in named if point.id in copies]
    rows = {row.pk: row for row in story.rows}
    edges = [Edge(link.start, link.end, _edge_look(link, rows.get(link.start))) for link in story.links]
    return graph_of([*originals, *points, *others], edges)


def _note(state: StoryState) -> str:
    return f"{state.number} · {state.state}"


def _here(state: StoryState) -> str:
    return f"{state.look}{' here' if state.here else ''}{' bad' if state.bad else ''}"


def _edge_look(link: Link, start: Row | None) -> str:
    if link.joint is Joint.SUPERSEDED and start is not None and start.contradiction == Contradiction.HARSH:
        return "harsh"
    return "bridged" if link.bridged else link.joint.value


def _look(row: Row) -> str:
    if row.status == Status.EVICTED:
        return "evicted"
    if row.superseded_at is None:
        return "stale" if row.status == Status.STALE else "current"
    return "retracted" if row.retracted else "superseded"


def _valid_bar(fact: Fact | None, axis: Axis) -> Bar | None:
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


def _headline(row: Row) -> str:
    return row.title if isinstance(row, Playbook) else row.text


def _wording(row: Row) -> str:
    return "\n".join([row.title, *row.steps]) if isinstance(row, Playbook) else row.text


def _named(each: Elsewhere) -> str:
    match Scope(each.scope):
        case Scope.GLOBAL:
            return "Shared with all tenants"
        case Scope.TENANT:
            return "Shared in the tenant"
        case Scope.TASK:
            return "In a task of the member"
        case Scope.USER:
            return "In a member's memory"
