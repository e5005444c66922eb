"""The story of a memory: its whole chain with erased states, audit events and source episodes.

All states of a story belong to one owner; a promoted copy in another scope is given by id and owner, without text. Only
the principal's own episodes are quoted, even under a shared fact. The caller must have written the read event.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet

from memories.models import CHAINED_MODELS, ConsolidationRun, Episode, Fact, Mention, Message, Relation
from memories.models.base import MemoryQuerySet
from memories.selectors.history.chain_events import id_in
from memories.selectors.history.listing import NOUN, ChainedRow
from memories.selectors.memories import chain_order
from memories.types import Kind, Owner
from tenants.models import AuditEvent, said_in
from tenants.principal import Principal, Right

# Limit on the states of a story; `Story.whole` is False beyond it.
MOST_STATES = 300
ERASURES = ("forgotten", "erased")


class Joint(StrEnum):
    """The kind of link between two states: superseded by, restored as, or promoted to a wider scope."""

    SUPERSEDED = "superseded"
    RESTORED = "restored"
    PROMOTED = "promoted"


@dataclass(frozen=True, slots=True)
class ChainJoint:
    """A link from one state to a later one. `bridged` means that a state between them was erased."""

    start: UUID
    end: UUID
    joint: Joint
    bridged: bool = False


@dataclass(frozen=True, slots=True)
class ErasedState:
    """An erased state, and its erasure event if there is one."""

    id: UUID
    event: AuditEvent | None

    @property
    def at(self) -> datetime | None:
        """The time of the erasure."""
        return self.event.created_at if self.event else None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A state in another scope that a promotion links to the chain; without text."""

    id: UUID
    owner: Owner
    scope: str


@dataclass(frozen=True, slots=True)
class Story:
    """A chain: its states in the order they were learned, and the events on each, oldest first.

    `whole` is False if the chain has more than MOST_STATES states.
    """

    kind: Kind
    owner: Owner
    asked: UUID
    rows: tuple[ChainedRow, ...]
    erased: tuple[ErasedState, ...]
    elsewhere: tuple[Elsewhere, ...]
    links: tuple[ChainJoint, ...]
    events: Mapping[UUID, tuple[AuditEvent, ...]]
    whole: bool = True

    @property
    def chains(self) -> tuple[str, ...]:
        """The audit logs that hold events on this story."""
        return tuple(sorted({event.chain for events in self.events.values() for event in events}))


def find_state(kind: Kind, memory_id: UUID) -> ChainedRow | None:
    """A state of any owner. The caller must check that the reader may see its owner before any other use."""
    found: ChainedRow | None = (
        CHAINED_MODELS[kind].objects.unscoped("staff look at one row by id").filter(pk=memory_id).first()
    )
    return found


def erased_state(kind: Kind, memory_id: UUID) -> AuditEvent | None:
    """The erasure event of a state of any owner; None if it was not erased."""
    return _erasures(kind, {memory_id}).get(memory_id)


def story_of(row: ChainedRow, *, asked: UUID | None = None) -> Story:
    """The story of the chain that contains `row`. `asked` is the id to mark, if that state was erased."""
    rows, whole = _linked(row)
    ids = set(rows)
    events = _events(row.kind, rows)
    successors = _recorded_successors(events)
    beyond = {pk for each in rows.values() for pk in (each.superseded_by_id, each.restores) if pk} | set(
        successors.values()
    )
    gone = _erasures(row.kind, beyond - ids)
    erased = [ErasedState(pk, gone.get(pk)) for pk in sorted(beyond - ids) if pk in gone or whole]
    elsewhere, promotions = _promotions(row.kind, rows)
    return Story(
        kind=row.kind,
        owner=row.owner,
        asked=asked or row.pk,
        rows=tuple(sorted(rows.values(), key=chain_order)),
        erased=tuple(erased),
        elsewhere=elsewhere,
        links=(*_links(rows, successors, {each.id for each in erased}), *promotions),
        events=events,
        whole=whole,
    )


def story_of_erased(kind: Kind, event: AuditEvent) -> Story:
    """The story of the chain that an erased state belonged to; if it cannot be found, a story of that state only.

    The search uses the audit event of a predecessor, which names the erased state as its successor.
    """
    memory_id = event.target_id
    if memory_id is None:
        raise LookupError("An erasure without a target.")
    naming = AuditEvent.objects.filter(
        tenant_id=event.tenant_id, action=f"{NOUN[kind]}.superseded", payload__document__contains=str(memory_id)
    )
    if event.owner_id is not None:
        naming = naming.filter(owner_id=event.owner_id)
    for target_id in naming.order_by("-sequence").values_list("target_id", flat=True)[:5]:
        row = find_state(kind, target_id) if target_id else None
        if row is not None and (row.tenant_id, row.user_id) == (event.tenant_id, event.owner_id):
            return story_of(row, asked=memory_id)
    owner = Owner(event.tenant_id, event.owner_id)
    return Story(kind, owner, memory_id, (), (ErasedState(memory_id, event),), (), (), {memory_id: (event,)})


def _linked(start: ChainedRow) -> tuple[dict[UUID, ChainedRow], bool]:
    """The states linked to `start`, at most MOST_STATES, and whether those are all.

    The slot of a fact, which holds most of its chain, is loaded first; the rest is loaded step by step along an index.
    """
    pool: dict[UUID, ChainedRow] = {row.pk: row for row in (*_slot_of(start), start)}
    found, asked = {start.pk}, set[UUID]()
    while len(found) <= MOST_STATES:
        found = _closure(found, pool)
        fresh = sorted(found - asked)[:MOST_STATES]
        if not fresh:
            break
        asked |= set(fresh)
        named = {pk for each in fresh for pk in _named(pool[each])} - pool.keys()
        pool |= {row.pk: row for row in _beside(start, fresh, named) if row.pk not in pool}
    kept = sorted(found, key=lambda pk: abs(pool[pk].learned_at - start.learned_at))[:MOST_STATES]
    return {pk: pool[pk] for pk in kept}, len(found) <= MOST_STATES


def _beside(start: ChainedRow, states: Collection[UUID], named: Collection[UUID]) -> list[ChainedRow]:
    """The owner's states that link to `states`, and those in `named`.

    The owner is compared in Python, because a condition on it would make the database choose the owner's index.
    """
    every: MemoryQuerySet[Any] = (
        CHAINED_MODELS[start.kind]
        .objects.unscoped("staff look at one row by id")
        .defer("embedding", "token_ids")
        .order_by()
    )
    conditions = (Q(superseded_by__in=states), Q(restores__in=states), Q(pk__in=named))
    rows = [every.filter(condition) for condition in conditions]
    return [row for row in rows[0].union(*rows[1:], all=True) if row.owner == start.owner]


def _slot_of(start: ChainedRow) -> list[ChainedRow]:
    """Other states of the same fact slot; most of them belong to the same chain."""
    if not isinstance(start, Fact) or not start.key:
        return []
    slot = {name: getattr(start, name) for name in ("tenant_id", "user_id", "key", "scope", "task")}
    rows = Fact.objects.unscoped("staff look at one row by id").filter(**slot).defer("embedding", "token_ids")
    return list(rows.order_by("-learned_at")[:MOST_STATES])


def _closure(found: AbstractSet[UUID], pool: Mapping[UUID, ChainedRow]) -> set[UUID]:
    """The ids reachable from `found` through links between the loaded rows."""
    beside: dict[UUID, set[UUID]] = defaultdict(set)
    for row in pool.values():
        for other in _named(row):
            beside[row.pk].add(other)
            beside[other].add(row.pk)
    reached, edge = set(found), set(found)
    while edge:
        edge = {other for pk in edge for other in beside[pk] if other in pool} - reached
        reached |= edge
    return reached


def _named(row: ChainedRow) -> tuple[UUID, ...]:
    return tuple(pk for pk in (row.superseded_by_id, row.restores) if pk)


def _links(
    rows: Mapping[UUID, ChainedRow], successors: Mapping[UUID, UUID], erased: AbstractSet[UUID]
) -> list[ChainJoint]:
    links = []
    there = rows.keys() | erased
    for row in rows.values():
        between, successor = successors.get(row.pk), row.superseded_by_id
        if between in erased and between is not None and between != successor:
            links.append(ChainJoint(row.pk, between, Joint.SUPERSEDED))
            if successor in rows and successor is not None:
                links.append(ChainJoint(between, successor, Joint.SUPERSEDED, bridged=True))
        elif successor in there and successor is not None:
            links.append(ChainJoint(row.pk, successor, Joint.SUPERSEDED))
        if row.restores in there and row.restores is not None:
            links.append(ChainJoint(row.restores, row.pk, Joint.RESTORED))
    return list(dict.fromkeys(links))


def _promotions(kind: Kind, rows: Mapping[UUID, ChainedRow]) -> tuple[tuple[Elsewhere, ...], list[ChainJoint]]:
    """The copies and originals of these states in other scopes, and the links to them."""
    originals = {row.promoted_from: row.pk for row in rows.values() if row.promoted_from}
    named = Q(promoted_from__in=list(rows)) | Q(pk__in=list(originals))
    every: MemoryQuerySet[Any] = CHAINED_MODELS[kind].objects.unscoped("staff look at one row by id").filter(named)
    found = every.values_list("pk", "tenant_id", "user_id", "scope", "promoted_from")
    elsewhere, links = [], [ChainJoint(each, copy, Joint.PROMOTED) for each, copy in originals.items() if each in rows]
    for pk, tenant_id, user_id, scope, promoted_from in found:
        if pk in rows:
            continue
        elsewhere.append(Elsewhere(pk, Owner(tenant_id, user_id), scope))
        if promoted_from in rows and promoted_from is not None:
            links.append(ChainJoint(promoted_from, pk, Joint.PROMOTED))
        links += [ChainJoint(pk, row.pk, Joint.PROMOTED) for row in rows.values() if row.promoted_from == pk]
    return tuple(elsewhere), links


def _events(kind: Kind, rows: Mapping[UUID, ChainedRow]) -> dict[UUID, tuple[AuditEvent, ...]]:
    """The events of each state from the owner's audit log; for shared memory, from any log in the tenant."""
    found: dict[UUID, list[AuditEvent]] = defaultdict(list)
    noun = NOUN[kind]
    found_events = AuditEvent.objects.filter(target_id__in=list(rows), action__startswith=f"{noun}.")
    for event in found_events.select_related("payload").order_by("created_at", "sequence"):
        row = rows[event.target_id]  # type: ignore[index]  # as asked for
        if row.tenant_id in (None, event.tenant_id) and row.user_id in (None, event.owner_id):
            found[row.pk].append(event)
    return {pk: tuple(events) for pk, events in found.items()}


def _recorded_successors(events: Mapping[UUID, Sequence[AuditEvent]]) -> dict[UUID, UUID]:
    """The successor of each state according to its latest supersession event."""
    found: dict[UUID, UUID] = {}
    for pk, each in events.items():
        for event in each:
            named = event_id_of(event, "superseded_by") if event.action.endswith(".superseded") else None
            if named is not None:
                found[pk] = named
    return found


def event_reason(event: AuditEvent) -> str:
    """The recorded reason; empty if none was given, or if the payload was erased or tampered with."""
    return str(_said(event)["reason"])


def event_id_of(event: AuditEvent, name: str) -> UUID | None:
    """An id in the `after` of an event."""
    return id_in(_said(event)["after"] or {}, name)


def _said(event: AuditEvent) -> dict[str, Any]:
    payload = getattr(event, "payload", None)
    return said_in(payload.document if payload else "")


def _erasures(kind: Kind, ids: Iterable[UUID]) -> dict[UUID, AuditEvent]:
    actions = [f"{NOUN[kind]}.{verb}" for verb in ERASURES]
    found_events = AuditEvent.objects.filter(target_id__in=list(ids), action__in=actions)
    return {event.target_id: event for event in found_events.select_related("payload") if event.target_id}


# A run ends in the transaction that writes its decisions.
_ONE_TRANSACTION = timedelta(minutes=1)
_SUPPORTS = {Kind.SEMANTIC: "supports", Kind.PROCEDURAL: "supports_playbooks"}

Words = Mapping[UUID, tuple[Episode, ...]]


@dataclass(frozen=True, slots=True)
class StoryWords:
    """The episodes from which each state was learned, and those that ended it."""

    learned_from: Words
    ended_by: Words


def words_of(principal: Principal, story: Story) -> StoryWords:
    """The source episodes of each state in a story of the principal."""
    principal.require(Right.READ)
    support = supporting_episodes(principal, [row.pk for row in story.rows], story.kind)
    ended: dict[UUID, dict[UUID, Episode]] = defaultdict(dict)
    # A restored state keeps its old sources, which did not end the state that it replaced.
    brought_back = {row.pk for row in story.rows if row.restores is not None}
    for row in story.rows:
        successor = row.superseded_by_id
        if successor and successor in support and successor not in brought_back:
            own = {episode.pk for episode in support.get(row.pk, ())}
            ended[row.pk] |= {each.pk: each for each in support[successor] if each.pk not in own}
    retired = [row.pk for row in story.rows if row.superseded_at is not None and row.superseded_by_id is None]
    if retired:
        for found in (_said_in_chat(principal, retired), _consolidated(principal, story, retired)):
            for pk, episodes in found.items():
                ended[pk] |= {each.pk: each for each in episodes}
    return StoryWords(support, {pk: _in_order(each.values()) for pk, each in ended.items()})


def _said_in_chat(principal: Principal, retired: Collection[UUID]) -> dict[UUID, list[Episode]]:
    """The episodes of the turns in which the agent retired these states."""
    mentions = Mention.objects.of(principal).filter(memory_id__in=retired, relation=Relation.REPLACED)
    turns = {
        (each.memory_id, each.message.session_id, each.message.turn) for each in mentions.select_related("message")
    }
    if not turns:
        return {}
    anywhere = Q(pk__in=[])
    for _, session_id, turn in turns:
        anywhere |= Q(message__session_id=session_id, message__turn=turn)
    said: dict[tuple[UUID, int], list[Episode]] = defaultdict(list)
    for episode in Episode.objects.of(principal).filter(anywhere).select_related("message"):
        if episode.message is not None:
            said[episode.message.session_id, episode.message.turn].append(episode)
    return {memory_id: said[session_id, turn] for memory_id, session_id, turn in turns}


def _consolidated(principal: Principal, story: Story, retired: Collection[UUID]) -> dict[UUID, list[Episode]]:
    """The episodes that a consolidation run cited when it retired these states."""
    ends = (".retired", ".retracted")
    events = (event for pk in retired for event in story.events.get(pk, ()))
    times = [event.created_at for event in events if event.action.endswith(ends)]
    near = Q(pk__in=[])
    for moment in times:
        near |= Q(ended_at__range=(moment - _ONE_TRANSACTION, moment + _ONE_TRANSACTION))
    cited: dict[UUID, set[str]] = defaultdict(set)
    wanted = {str(pk): pk for pk in retired}
    for run in ConsolidationRun.objects.of(principal).filter(near).only("decisions"):
        for line in run.decisions:
            if line.get("what") == "end":
                for named in {line.get("memory_id"), *line.get("superseded_ids", ())} & wanted.keys():
                    cited[wanted[named]] |= set(line.get("episode_ids", ()))
    ids = {pk for each in cited.values() for pk in each}
    known = {str(each.pk): each for each in Episode.objects.of(principal).filter(pk__in=ids)} if ids else {}
    return {pk: [known[each] for each in named if each in known] for pk, named in cited.items()}


def _in_order(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    return tuple(sorted(episodes, key=lambda each: (each.happened_at, each.sequence)))


def supporting_episodes(
    principal: Principal, ids: Iterable[UUID], kind: Kind = Kind.SEMANTIC
) -> Mapping[UUID, tuple[Episode, ...]]:
    """The principal's episodes that support each of these facts or playbooks, oldest first, annotated with `turn`."""
    principal.require(Right.READ)
    supports = _SUPPORTS[kind]
    episodes = (
        Episode.objects.of(principal)
        .current()
        .filter(**{f"{supports}__in": set(ids)})
        .annotate(memory_id=F(supports), turn=F("message__turn"))
        .order_by("happened_at", "sequence", "pk")
    )
    found: dict[UUID, list[Episode]] = defaultdict(list)
    for episode in episodes:
        found[episode.memory_id].append(episode)
    return {memory_id: tuple(rows) for memory_id, rows in found.items()}


def questions_of(principal: Principal, messages: Iterable[Message]) -> tuple[Message, ...]:
    """The user's message of each turn that these messages belong to, in order and without duplicates; one query."""
    principal.require(Right.READ)
    turns = list(dict.fromkeys((message.session_id, message.turn) for message in messages))
    asked = Message.objects.of(principal).filter(
        step=0, session_id__in={session for session, _ in turns}, turn__in={turn for _, turn in turns}
    )
    by_turn = {(message.session_id, message.turn): message for message in asked}
    return tuple(by_turn[turn] for turn in turns if turn in by_turn)


def supported_facts(principal: Principal, episode_id: UUID) -> QuerySet[Fact]:
    """The principal's facts that were learned from an episode, newest first."""
    principal.require(Right.READ)
    return Fact.objects.of(principal).filter(supporting_episodes=episode_id).order_by("-learned_at", "id")
