"""Reads memories that a principal owns or may see: one, many, the chain of one, and its audit events."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import MAX_PINNED_CHOSEN_FROM
from memories.errors import InvalidInput, NotFound
from memories.models import MEMORY_MODELS, CatalogEntry, Episode, Fact, Message, Playbook, SealedOriginal
from memories.models.base import MemoryQuerySet, MemoryRow
from memories.models.filtering import filter_of
from memories.selectors.policies import may_recall
from memories.types import ALL_KINDS, Filter, Kind, Scope, Source, Status
from memoryhub.db.compiled_query import MOST_IDS, Prepared
from tenants.models import AuditEvent
from tenants.principal import ActorKind, Principal, Right, Role

Memory = Episode | Fact | Playbook | CatalogEntry

# The sources of facts that somebody said.
STATED = (Source.USER_STATED, Source.IMPORTED)

_SEARCHED: Mapping[Kind, tuple[str, ...]] = {
    Kind.EPISODIC: ("text", "context", "speaker"),
    Kind.SEMANTIC: ("text", "key", "category"),
    Kind.PROCEDURAL: ("title", "trigger", "text", "steps"),
    Kind.CATALOG: ("title", "text"),
}
_ORDER: Mapping[Kind, tuple[str, ...]] = {
    Kind.EPISODIC: ("-happened_at", "-sequence", "id"),
    Kind.SEMANTIC: ("-learned_at", "id"),
    Kind.PROCEDURAL: ("title", "id"),
    Kind.CATALOG: ("title", "id"),
}


def chain_order(row: Fact | Playbook) -> tuple[datetime, bool, datetime, datetime, UUID]:
    """Sort key for the states of a chain: by the time learned; a state believed at no time precedes its successor."""
    return (row.learned_at, row.superseded_at is None, row.superseded_at or row.learned_at, row.created_at, row.pk)


def get_memory(principal: Principal, kind: Kind, memory_id: UUID) -> Memory:
    """One memory that the principal may see, in any status. Raises NotFound for unknown and foreign ids alike."""
    principal.require(Right.READ)
    row: Memory | None = _BY_ID[kind].first(principal.tenant_id, principal.user_id, principal.only_app, [memory_id])
    if row is None:
        raise NotFound("memory")
    return row


def find_memory(principal: Principal, memory_id: UUID) -> Memory:
    """One memory by id only, of any kind. Raises NotFound."""
    for kind in (Kind.SEMANTIC, Kind.PROCEDURAL, Kind.EPISODIC, Kind.CATALOG):
        try:
            return get_memory(principal, kind, memory_id)
        except NotFound:
            continue
    raise NotFound("memory")


def list_memories(
    principal: Principal,
    kind: Kind,
    *,
    query: str = "",
    status: Iterable[Status] | None = None,
    category: str = "",
    key: str = "",
    session_id: UUID | None = None,
    shared: bool = False,
    filters: Filter | None = None,
) -> QuerySet[Memory]:
    """The principal's memories of one kind, newest first (playbooks and catalog by title).

    Every word of `query` must occur in the text. `status` defaults to the current ones. `shared` adds memory of the
    tenant and global memory; the catalog is always shared. `filters` narrows all of this.
    """
    principal.require(Right.READ)
    rows = _visible(principal, kind)
    if not shared and kind is not Kind.CATALOG:
        rows = rows.of(principal)
    if filters is not None:
        rows = rows.filter(filter_of(filters, kind))
    rows = rows.current() if status is None else rows.filter(status__in=list(status))
    if kind is Kind.SEMANTIC:
        # Expired facts are hidden even before garbage collection; evicted ones stay listed, to be restored.
        rows = rows.unexpired(timezone.now()) | rows.filter(status=Status.EVICTED)
    rows = narrowed(matching(rows, kind, query), kind, category=category, key=key, session_id=session_id)
    return rows.order_by(*_ORDER[kind])


def pinned_facts(principal: Principal) -> list[Fact]:
    """The principal's own pinned facts that may be recalled, latest first, at most MAX_PINNED_CHOSEN_FROM.

    None unless memories may come up for the caller (`may_recall`). The rows omit embeddings and token ids.
    """
    principal.require(Right.READ)
    if not may_recall(principal):
        return []
    return _PINNED.all(principal.tenant_id, principal.user_id, timezone.now(), principal.only_app)


def _pinned(tenant_id: UUID, user_id: UUID, now: datetime, app: str | None) -> QuerySet[Fact]:
    rows = Fact.objects.of_owner(tenant_id, user_id).seen_by(app).filter(pinned=True).current().unexpired(now)
    return rows.defer("embedding", "token_ids").order_by(*_ORDER[Kind.SEMANTIC])[:MAX_PINNED_CHOSEN_FROM]


_PINNED = Prepared(_pinned)


def stable_facts(principal: Principal) -> list[Fact]:
    """The principal's own facts with a key that were stated, do not expire and need no confirmation; latest first.

    At most MAX_PINNED_CHOSEN_FROM; none unless memories may come up for the caller. The rows omit embeddings and token
    ids.
    """
    principal.require(Right.READ)
    if not may_recall(principal):
        return []
    now = timezone.now()
    rows = Fact.objects.of(principal).filter(
        scope=Scope.USER, status=Status.ACTIVE, source__in=STATED, expires_at__isnull=True
    )
    rows = rows.exclude(key="").exclude(review_after__lte=now)
    return list(rows.defer("embedding", "token_ids").order_by(*_ORDER[Kind.SEMANTIC])[:MAX_PINNED_CHOSEN_FROM])


def memories_by_id(principal: Principal, ids: Mapping[Kind, Iterable[UUID]]) -> dict[UUID, Memory]:
    """The memories among `ids` that the principal may see; forgotten and foreign ones are missing.

    Runs one query for each kind and MOST_IDS ids.
    """
    found: dict[UUID, Memory] = {}
    for kind, wanted in ids.items():
        distinct = list(set(wanted))
        for start in range(0, len(distinct), MOST_IDS):
            some = distinct[start : start + MOST_IDS]
            rows = _BY_ID[kind].all(principal.tenant_id, principal.user_id, principal.only_app, some)
            found |= {row.pk: row for row in rows}
    return found


def _by_id(kind: Kind, tenant_id: UUID, user_id: UUID, app: str | None, ids: list[UUID]) -> QuerySet[Any, Any]:
    whose = Principal(
        tenant_id, user_id, user_id, Role.MEMBER, ActorKind.SYSTEM, None, app=app or "", apart=app is not None
    )
    return _visible(whose, kind).filter(pk__in=ids).order_by()


_BY_ID: dict[Kind, Prepared[Any]] = {kind: Prepared(functools.partial(_by_id, kind)) for kind in ALL_KINDS}


def chain_of(principal: Principal, kind: Kind, memory_id: UUID) -> tuple[Fact | Playbook, ...]:
    """Every state linked to this one by supersession or undo, oldest first; empty for kinds without chains.

    A merge has several predecessors, all included. Raises NotFound.
    """
    start = get_memory(principal, kind, memory_id)
    if not isinstance(start, Fact | Playbook):
        return ()
    rows: dict[UUID, Fact | Playbook] = {start.pk: start}
    frontier: set[UUID] = {start.pk}
    while frontier:
        named = {id_ for pk in frontier for id_ in (rows[pk].superseded_by_id, rows[pk].restores) if id_}
        behind = Q(superseded_by__in=frontier) | Q(restores__in=frontier)
        linked = _visible(principal, kind).filter(behind | Q(pk__in=named - rows.keys()))
        fresh = {row.pk: row for row in linked if row.pk not in rows}
        rows |= fresh
        frontier = set(fresh)
    return tuple(sorted(rows.values(), key=chain_order))


def history_of(principal: Principal, memory_ids: Iterable[UUID]) -> QuerySet[AuditEvent]:
    """The audit events on these memories of the principal, oldest first."""
    principal.require(Right.READ)
    return (
        AuditEvent.objects.filter(
            tenant_id=principal.tenant_id, owner_id=principal.user_id, target_id__in=list(memory_ids)
        )
        .select_related("payload")
        .order_by("sequence")
    )


def messages_using(principal: Principal, memory_id: UUID) -> QuerySet[Message]:
    """The messages that brought a memory into an answer that was made from it, newest first."""
    principal.require(Right.READ)
    return (
        Message.objects.of(principal)
        .filter(mentions__memory_id=memory_id, mentions__used=True)
        .select_related("session")
        .distinct()
        .order_by("-created_at")
    )


def _visible(principal: Principal, kind: Kind) -> MemoryQuerySet[Any]:
    rows = MEMORY_MODELS[kind].objects
    return rows.of(principal) | rows.visible_to(principal)


def matching(rows: MemoryQuerySet[Any], kind: Kind, query: str) -> MemoryQuerySet[Any]:
    """Those of `rows` whose text contains every word of `query`."""
    for word in query.split():
        match = Q()
        for column in _SEARCHED[kind]:
            match |= Q(**{f"{column}__icontains": word})
        rows = rows.filter(match)
    return rows


def narrowed(
    rows: MemoryQuerySet[Any], kind: Kind, *, category: str, key: str, session_id: UUID | None
) -> MemoryQuerySet[Any]:
    """Those of `rows` with these values. Raises InvalidInput for a column that the kind does not have."""
    if category:
        if kind not in (Kind.SEMANTIC, Kind.PROCEDURAL):
            raise InvalidInput("category", _("only facts and playbooks have a category."))
        rows = rows.filter(category=category)
    if key:
        if kind is not Kind.SEMANTIC:
            raise InvalidInput("key", _("only facts have a key."))
        rows = rows.filter(key=key)
    if session_id:
        if kind is not Kind.EPISODIC:
            raise InvalidInput("session", _("only episodes belong to a session."))
        rows = rows.filter(session_id=session_id)
    return rows


def is_shared(row: MemoryRow) -> bool:
    """Whether a memory belongs to the tenant or to all, so that members can read but not change it."""
    return row.user_id is None


def has_original(principal: Principal, memory_id: UUID) -> bool:
    """Whether the unmasked original of an own memory is kept; `services/originals.py` opens it."""
    principal.require(Right.READ)
    return SealedOriginal.objects.of(principal).filter(memory_id=memory_id).exists()
