"""Reads for the inspector: filtered and counted memories and items, the member's state, and a change token.

Rows omit embeddings and token ids, which take most of a row's size and appear in no list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import blake2s
from typing import Any
from uuid import UUID

from django.db.models import CharField, Count, F, Max, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Cast, Concat

from memories.attributes.items import Labels, labels_of, namespace_text
from memories.models import (
    MEMORY_MODELS,
    CatalogEntry,
    ConsolidationRun,
    Fact,
    Item,
    Mention,
    Message,
    OutboxEntry,
    Playbook,
    RecallTrace,
    Session,
)
from memories.models.base import MemoryQuerySet
from memories.models.item import begins_with
from memories.search import search_plane, seems_well
from memories.selectors.memories import Memory, matching, narrowed
from memories.selectors.reviews import open_reviews
from memories.selectors.runs import Backlog, backlog_of
from memories.selectors.staff.index_state import Lag, lag_of, waiting_of
from memories.types import ALL_KINDS, CURRENT, Kind, Scope, Status
from tenants.audit.chain import owner_chain
from tenants.models import AuditEvent, CredentialState, SearchCredential
from tenants.principal import Principal, Right

_LEARNED = (Kind.SEMANTIC, Kind.PROCEDURAL)
# Latest first; each ends in a unique column, as pagination requires.
ORDER: Mapping[Kind, tuple[str, ...]] = {
    Kind.EPISODIC: ("-happened_at", "-sequence", "id"),
    Kind.SEMANTIC: ("-learned_at", "id"),
    Kind.PROCEDURAL: ("-learned_at", "id"),
    Kind.CATALOG: ("-created_at", "id"),
}
_HEAVY = ("embedding", "token_ids")


class StateFilter(StrEnum):
    """Filters memories by state."""

    ANY = ""
    CURRENT = "believed"
    STALE = "stale"
    SUPERSEDED = "superseded"
    EVICTED = "evicted"
    FLAGGED = "flagged"


class OwnerFilter(StrEnum):
    """The member's own memory, its part in a task, or memory shared with them. The catalog is always shared."""

    OWN = ""
    TASK = "task"
    TENANT = "tenant"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class InspectorFilter:
    """The filters of the lists. `query` holds words that a memory must contain, or its id.

    `since` and `until` (exclusive) apply to the time a memory happened or was learned; `session_id` to the session
    where it was said, or where a source of it was said.
    """

    query: str = ""
    show: StateFilter = StateFilter.ANY
    whose: OwnerFilter = OwnerFilter.OWN
    category: str = ""
    key: str = ""
    session_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    def out_of_reach_of(self, kind: Kind) -> tuple[str, ...]:
        """The fields that no memory of this kind can match; for example, only facts have a key."""
        shared = self.whose in (OwnerFilter.TENANT, OwnerFilter.GLOBAL)
        beyond = {
            "key": bool(self.key) and kind is not Kind.SEMANTIC,
            "category": bool(self.category) and kind not in _LEARNED,
            "session_id": self.session_id is not None and kind is Kind.CATALOG,
            "whose": shared if kind is Kind.EPISODIC else self.whose is OwnerFilter.TASK and kind is Kind.CATALOG,
        }
        return tuple(name for name, is_beyond in beyond.items() if is_beyond)


def inspected(principal: Principal, kind: Kind, by: InspectorFilter) -> QuerySet[Memory]:
    """The memories of a kind that match `by`, latest first; episodes are annotated with `turn`."""
    principal.require(Right.READ)
    rows = _of(principal, kind, by.whose)
    if by.out_of_reach_of(kind):
        return rows.none()
    id_ = _as_id(by.query)
    rows = rows.filter(pk=id_) if id_ else matching(rows, kind, by.query)
    rows = narrowed(_in_state(rows, by.show), kind, category=by.category, key=by.key, session_id=None)
    if by.session_id:
        rows = _from_session(principal, rows, kind, by.session_id)
    moment = ORDER[kind][0].removeprefix("-")
    if by.since:
        rows = rows.filter(**{f"{moment}__gte": by.since})
    if by.until:
        rows = rows.filter(**{f"{moment}__lt": by.until})
    if kind is Kind.EPISODIC:
        rows = rows.annotate(turn=F("message__turn"))
    return rows.defer(*_HEAVY).order_by(*ORDER[kind])


def counts_by_status(principal: Principal) -> dict[Kind, Counter[Status]]:
    """The number of memories by kind and status: the principal's own, and the catalog visible to them; four queries.

    Events and catalog entries are all counted as active.
    """
    principal.require(Right.READ)
    counts: dict[Kind, Counter[Status]] = {}
    for kind in ALL_KINDS:
        rows = _of(principal, kind, OwnerFilter.OWN).order_by()
        if kind in _LEARNED:
            found = rows.values_list("status").annotate(count=Count("*"))
            counts[kind] = Counter({Status(status): count for status, count in found})
        else:
            counts[kind] = Counter({Status.ACTIVE: rows.count()})
    return counts


def inspected_items(principal: Principal, *, query: str = "", inside: Labels = ()) -> QuerySet[Item]:
    """The items, deleted and expired ones included, in a namespace, with the words or the id of `query`; latest first.

    Raises InvalidInput.
    """
    principal.require(Right.READ)
    rows = Item.objects.of(principal)
    if inside:
        rows = rows.filter(begins_with(namespace_text(inside)))
    id_ = _as_id(query)
    for word in () if id_ else query.split():
        rows = rows.filter(Q(namespace__icontains=word) | Q(key__icontains=word) | Q(value__icontains=word))
    rows = rows.filter(pk=id_) if id_ else rows
    return rows.defer(*_HEAVY).order_by("-updated_at", "id")


def namespaces_of(items: QuerySet[Any], *, limit: int) -> list[tuple[Labels, int]]:
    """The namespaces of these items with the number of items in each, by name."""
    counted = items.order_by("namespace").values_list("namespace").annotate(count=Count("*"))
    return [(labels_of(namespace), count) for namespace, count in counted[:limit]]


def times_used(principal: Principal, memory_ids: Iterable[UUID]) -> dict[UUID, int]:
    """How many of the principal's answers were made from each memory; one query."""
    principal.require(Right.READ)
    used = Mention.objects.of(principal).filter(memory_id__in=set(memory_ids), used=True)
    turns = Concat(Cast("message__session_id", CharField()), Value(" "), Cast("message__turn", CharField()))
    return dict(used.order_by().values_list("memory_id").annotate(count=Count(turns, distinct=True)))


def _of(principal: Principal, kind: Kind, whose: OwnerFilter) -> MemoryQuerySet[Any]:
    every: MemoryQuerySet[Any] = MEMORY_MODELS[kind].objects.unscoped("staff look at their tenants").all()
    if whose is OwnerFilter.TENANT:
        return every.filter(scope=Scope.TENANT, tenant_id=principal.tenant_id)
    if whose is OwnerFilter.GLOBAL:
        return every.filter(scope=Scope.GLOBAL)
    if kind is Kind.CATALOG:
        return every.visible_to(principal)
    own = every.of(principal)
    return own.filter(scope=Scope.TASK) if whose is OwnerFilter.TASK else own


def _in_state(rows: MemoryQuerySet[Any], show: StateFilter) -> MemoryQuerySet[Any]:
    match show:
        case StateFilter.ANY:
            return rows
        case StateFilter.CURRENT:
            return rows.filter(status__in=CURRENT)
        case StateFilter.FLAGGED:
            return rows.exclude(sensitivity={})
        case _:
            return rows.filter(status=show.value)


def _from_session(principal: Principal, rows: MemoryQuerySet[Any], kind: Kind, session_id: UUID) -> MemoryQuerySet[Any]:
    if kind is Kind.EPISODIC:
        return rows.filter(session_id=session_id)
    links = Fact.supporting_episodes.through if kind is Kind.SEMANTIC else Playbook.supporting_episodes.through
    said_there = Q(
        episode__session_id=session_id,
        episode__tenant_id=principal.tenant_id,
        episode__user_id=principal.user_id,
    )
    learned: Any = links._default_manager.filter(said_there)
    return rows.filter(pk__in=learned.values("fact_id" if kind is Kind.SEMANTIC else "playbook_id"))


def _as_id(query: str) -> UUID | None:
    try:
        return UUID(query.strip())
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class MemberState:
    """The state of a member's memory. `key` is None on a plane without keys (`keyless`), or if the member has none.

    `last_turn_at` is of the latest conversation, `last_recall_at` of the latest recall from any source.
    """

    plane: str
    plane_ok: bool
    keyless: bool
    key: SearchCredential | None
    queue: Lag
    backlog: Backlog
    to_review: int
    last_turn_at: datetime | None
    last_recall_at: datetime | None

    @property
    def key_works(self) -> bool:
        """Whether the member has an active search key."""
        return self.key is not None and self.key.state == CredentialState.ACTIVE


def member_state(principal: Principal) -> MemberState:
    """Read the present state; at most seven queries."""
    principal.require(Right.READ)
    plane = search_plane()
    keyless = not plane.joint
    keys = SearchCredential.objects.filter(membership_id=principal.membership_id).defer("secret")
    sessions = Session.objects.of(principal).order_by("-last_turn_at").values_list("last_turn_at", flat=True)
    recalls = RecallTrace.objects.of(principal).order_by("-created_at").values_list("created_at", flat=True)
    return MemberState(
        plane=plane.name,
        plane_ok=seems_well(),
        keyless=keyless,
        key=None if keyless else keys.first(),
        queue=lag_of(waiting_of(principal)),
        backlog=backlog_of(principal),
        to_review=open_reviews(principal).count(),
        last_turn_at=sessions.first(),
        last_recall_at=recalls.first(),
    )


def last_turn_of_member() -> Subquery:
    """A subquery for rows of memberships: the time of the member's last turn, null if there is none."""
    sessions = Session.objects.unscoped("staff look at their tenants").filter(
        tenant=OuterRef("tenant"), user=OuterRef("user")
    )
    return Subquery(sessions.order_by("-last_turn_at").values("last_turn_at")[:1])


_LENGTH = 16  # bytes; tokens are compared within one member, so a short digest suffices


def change_token(principal: Principal, *, ignoring: Collection[str] = ()) -> str:
    """A digest that changes when the member's memory changes; ten small statements.

    Audit events whose action is in `ignoring` do not change it.
    """
    principal.require(Right.READ)
    parts = (*_own(principal, ignoring), *_beside(principal), *_shared(principal))
    return blake2s(repr(parts).encode(), digest_size=_LENGTH).hexdigest()


def _own(principal: Principal, ignoring: Collection[str]) -> Iterator[object]:
    """The latest audit event, recall trace, session and message of the principal.

    Every change of a memory writes an audit event, and every turn ends with a message.
    """
    events = AuditEvent.objects.filter(chain=owner_chain(principal.tenant_id, principal.user_id))
    yield events.exclude(action__in=ignoring).order_by("-sequence").values_list("sequence").first()
    yield RecallTrace.objects.of(principal).order_by("-created_at").values_list("pk").first()
    session = Session.objects.of(principal).order_by("-last_turn_at").values_list("pk", "last_turn_at").first()
    yield session
    if session is not None:
        said = Message.objects.of(principal).filter(session_id=session[0])
        yield said.order_by("-turn", "-step").values_list("pk", "state").first()


def _beside(principal: Principal) -> Iterator[object]:
    """The pending index changes, the state of the search key, and the latest run."""
    waiting = OutboxEntry.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    yield tuple(waiting.aggregate(Max("id"), Count("id"), Sum("attempts")).values())
    keys = SearchCredential.objects.filter(membership_id=principal.membership_id)
    yield keys.values_list("state", "key_id", "trouble").first()
    yield ConsolidationRun.objects.of(principal).order_by("-started_at").values_list("pk", "state").first()


def _shared(principal: Principal) -> Iterator[object]:
    """Counts of shared memory by status, from the index; catalog entries are added and removed, never edited."""
    for model in (Fact, Playbook):
        shared = model.objects.of_owner(principal.tenant_id, None)
        yield sorted(shared.order_by().values_list("status").annotate(Count("status")))
    yield (
        CatalogEntry.objects.unscoped("shared rows of a tenant")
        .filter(Q(tenant_id=principal.tenant_id) | Q(tenant_id=None))
        .order_by()
        .count()
    )
