"""The whole story of one chain: every state that supersession and undo link, those that were erased among them.

Invariant: all states of a story belong to one owner, in whose name it is read; what a promotion links in other scopes
is named by id alone, without its words. Whoever asks has told the owner's trail before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import count
from typing import Any
from uuid import UUID

from django.db.models import Q

from memories.models import CHAINED_MODELS, Fact
from memories.models.base import OwnedQuerySet
from memories.selectors.histories import NOTHING, NOUN, Row, Without, require_read
from memories.types import Kind, Owner
from tenants.models import AuditEvent

# A chain is followed so far; longer ones say that they go on.
MOST_STATES = 300
# After so many steps along the links of a chain the rest of its slot is fetched at once.
_STEPS = 4
ERASURES = ("forgotten", "erased")


class Joint(StrEnum):
    """How one state leads to another: it was replaced by it, brought back as it, or copied into a wider scope."""

    SUPERSEDED = "superseded"
    RESTORED = "restored"
    PROMOTED = "promoted"


@dataclass(frozen=True, slots=True)
class Link:
    """From one state to a later one. `bridged`: what was between them was erased."""

    start: UUID
    end: UUID
    joint: Joint
    bridged: bool = False


@dataclass(frozen=True, slots=True)
class Erased:
    """What is left of a state that was erased: that it was, and when it was erased, if anything tells of it."""

    id: UUID
    event: AuditEvent | None

    @property
    def at(self) -> datetime | None:
        """When it was erased."""
        return self.event.created_at if self.event else None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A state in another scope that a promotion links to the chain: whose it is, and no words."""

    id: UUID
    owner: Owner
    scope: str


@dataclass(frozen=True, slots=True)
class Story:
    """A chain, its states in the order in which they began to be believed, and the events on each, oldest first.

    `whole` is False where it goes on beyond MOST_STATES.
    """

    kind: Kind
    owner: Owner
    asked: UUID
    rows: tuple[Row, ...]
    erased: tuple[Erased, ...]
    elsewhere: tuple[Elsewhere, ...]
    links: tuple[Link, ...]
    events: Mapping[UUID, tuple[AuditEvent, ...]]
    whole: bool = True

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains of the audit trail that tell of it."""
        return tuple(sorted({event.chain for told in self.events.values() for event in told}))


def find_state(kind: Kind, memory_id: UUID) -> Row | None:
    """A state whoever's it is. The caller checks that the reader may see its owner, before anything else."""
    found: Row | None = CHAINED_MODELS[kind].objects.filter(pk=memory_id).first()
    return found


def erased_state(kind: Kind, memory_id: UUID) -> AuditEvent | None:
    """The event that tells of the erasure of a state that is not there any more, whoever's it was."""
    return _erasures(kind, {memory_id}).get(memory_id)


def story_of(row: Row, *, asked: UUID | None = None, without: Without = NOTHING) -> Story:
    """The story of the chain that `row` is part of. `asked`: the state asked for, if that was erased.

    `without`: states that cannot be read.
    """
    require_read([row])
    rows, whole = _linked(row, without)
    require_read(rows.values())
    ids = set(rows)
    events = _events(row.kind, rows)
    told = _told_successors(events)
    beyond = {pk for each in rows.values() for pk in (each.superseded_by_id, each.restores) if pk} | set(told.values())
    beyond -= without.ids
    gone = _erasures(row.kind, beyond - ids)
    erased = [Erased(pk, gone.get(pk)) for pk in sorted(beyond - ids) if pk in gone or whole]
    elsewhere, promotions = _promotions(row.kind, rows, without)
    return Story(
        kind=row.kind,
        owner=row.owner,
        asked=asked or row.pk,
        rows=tuple(sorted(rows.values(), key=_order)),
        erased=tuple(erased),
        elsewhere=elsewhere,
        links=(*_links(rows, told, {each.id for each in erased}), *promotions),
        events=events,
        whole=whole,
    )


def story_of_erased(kind: Kind, event: AuditEvent, *, without: Without = NOTHING) -> Story:
    """The chain that an erased state was part of, as far as the trail still leads to it; else nothing but that it was.

    A predecessor's own event names it; what lies after it is found through that.
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
        row = find_state(kind, target_id) if target_id and target_id not in without.ids else None
        if row is not None and (row.tenant_id, row.user_id) == (event.tenant_id, event.owner_id):
            return story_of(row, asked=memory_id, without=without)
    owner = Owner(event.tenant_id, event.owner_id)
    return Story(kind, owner, memory_id, (), (Erased(memory_id, event),), (), (), {memory_id: (event,)})


def _linked(start: Row, without: Without) -> tuple[dict[UUID, Row], bool]:
    """The states that links lead to from `start`, and whether these are all.

    Step by step, each along an index; what takes many steps has the rest of its slot fetched at once, for which there
    is none.
    """
    pool: dict[UUID, Row] = {start.pk: start}
    found, asked = {start.pk}, set[UUID]()
    for step in count():
        found = _closure(found, pool)
        fresh = sorted(found - asked)[:MOST_STATES]
        if not fresh or len(found) > MOST_STATES:
            break
        asked |= set(fresh)
        named = {pk for each in fresh for pk in _named(pool[each])} - pool.keys()
        linked = _beside(start, fresh, named, without)
        if step == _STEPS:
            linked += _slot_of(start, without)
        pool |= {row.pk: row for row in linked if row.pk not in pool}
    kept = sorted(found, key=lambda pk: abs(pool[pk].learned_at - start.learned_at))[:MOST_STATES]
    return {pk: pool[pk] for pk in kept}, len(found) <= MOST_STATES


def _beside(start: Row, states: Collection[UUID], named: Collection[UUID], without: Without) -> list[Row]:
    """The owner's states that link to these, and those that they name. A condition on the owner would be the index."""
    every: OwnedQuerySet[Any] = CHAINED_MODELS[start.kind].objects.defer("embedding", "token_ids").order_by()
    conditions = (Q(superseded_by__in=states), Q(restores__in=states), Q(pk__in=named))
    rows = [without.leave_out(every.filter(condition)) for condition in conditions]
    return [row for row in rows[0].union(*rows[1:], all=True) if row.owner == start.owner]


def _slot_of(start: Row, without: Without) -> list[Row]:
    """Other states of the same slot, of which most are in the same chain."""
    if not isinstance(start, Fact) or not start.key:
        return []
    slot = {name: getattr(start, name) for name in ("tenant_id", "user_id", "key", "scope", "task")}
    rows = without.leave_out(Fact.objects.filter(**slot)).defer("embedding", "token_ids")
    return list(rows.order_by("-learned_at")[:MOST_STATES])


def _closure(found: AbstractSet[UUID], pool: Mapping[UUID, Row]) -> set[UUID]:
    """What links lead to from `found` among the rows that are at hand."""
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


def _named(row: Row) -> tuple[UUID, ...]:
    return tuple(pk for pk in (row.superseded_by_id, row.restores) if pk)


def _order(row: Row) -> tuple[datetime, bool, datetime, datetime]:
    """By when they began to be believed; what was believed at no time comes before what took its place."""
    return (row.learned_at, row.superseded_at is None, row.superseded_at or row.learned_at, row.created_at)


def _links(rows: Mapping[UUID, Row], told: Mapping[UUID, UUID], erased: AbstractSet[UUID]) -> list[Link]:
    links = []
    there = rows.keys() | erased
    for row in rows.values():
        between, successor = told.get(row.pk), row.superseded_by_id
        if between in erased and between is not None and between != successor:
            links.append(Link(row.pk, between, Joint.SUPERSEDED))
            if successor in rows and successor is not None:
                links.append(Link(between, successor, Joint.SUPERSEDED, bridged=True))
        elif successor in there and successor is not None:
            links.append(Link(row.pk, successor, Joint.SUPERSEDED))
        if row.restores in there and row.restores is not None:
            links.append(Link(row.restores, row.pk, Joint.RESTORED))
    return list(dict.fromkeys(links))


def _promotions(kind: Kind, rows: Mapping[UUID, Row], without: Without) -> tuple[tuple[Elsewhere, ...], list[Link]]:
    """The copies of these states, and the originals that they are copies of; a copy within the chain is its own."""
    originals = {row.promoted_from: row.pk for row in rows.values() if row.promoted_from}
    named = Q(promoted_from__in=list(rows)) | Q(pk__in=list(originals))
    every: OwnedQuerySet[Any] = CHAINED_MODELS[kind].objects.filter(named)
    found = without.leave_out(every).values_list("pk", "tenant_id", "user_id", "scope", "promoted_from")
    elsewhere, links = [], [Link(each, copy, Joint.PROMOTED) for each, copy in originals.items() if each in rows]
    for pk, tenant_id, user_id, scope, promoted_from in found:
        if pk in rows:
            continue
        elsewhere.append(Elsewhere(pk, Owner(tenant_id, user_id), scope))
        if promoted_from in rows and promoted_from is not None:
            links.append(Link(promoted_from, pk, Joint.PROMOTED))
        links += [Link(pk, row.pk, Joint.PROMOTED) for row in rows.values() if row.promoted_from == pk]
    return tuple(elsewhere), links


def _events(kind: Kind, rows: Mapping[UUID, Row]) -> dict[UUID, tuple[AuditEvent, ...]]:
    """What happened to each state, told in a chain of its owner (of anybody in the tenant, for what is shared)."""
    found: dict[UUID, list[AuditEvent]] = defaultdict(list)
    noun = NOUN[kind]
    told = AuditEvent.objects.filter(target_id__in=list(rows), action__startswith=f"{noun}.")
    for event in told.select_related("payload").order_by("created_at", "sequence"):
        row = rows[event.target_id]  # type: ignore[index]  # as asked for
        if row.tenant_id in (None, event.tenant_id) and row.user_id in (None, event.owner_id):
            found[row.pk].append(event)
    return {pk: tuple(events) for pk, events in found.items()}


def _told_successors(events: Mapping[UUID, Sequence[AuditEvent]]) -> dict[UUID, UUID]:
    """What took the place of each state by the latest event that tells of it."""
    found: dict[UUID, UUID] = {}
    for pk, told in events.items():
        for event in told:
            named = told_id(event, "superseded_by") if event.action.endswith(".superseded") else None
            if named is not None:
                found[pk] = named
    return found


def told_reason(event: AuditEvent) -> str:
    """Why, as it was recorded; empty if nobody said, or if the payload was erased or tampered with."""
    return str(_payload(event).get("reason") or "")


def told_id(event: AuditEvent, name: str) -> UUID | None:
    """An id in the `after` of an event."""
    after = _payload(event).get("after")
    try:
        return UUID(str(after[name])) if isinstance(after, dict) and after.get(name) else None
    except ValueError:
        return None


def _payload(event: AuditEvent) -> dict[str, Any]:
    """What an event says. Whoever tampered with it is found by the proof; a page has to show the rest all the same."""
    payload = getattr(event, "payload", None)
    try:
        content = payload.data if payload else {}
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _erasures(kind: Kind, ids: Iterable[UUID]) -> dict[UUID, AuditEvent]:
    actions = [f"{NOUN[kind]}.{verb}" for verb in ERASURES]
    told = AuditEvent.objects.filter(target_id__in=list(ids), action__in=actions)
    return {event.target_id: event for event in told.select_related("payload") if event.target_id}
