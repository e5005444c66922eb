"""Reading the audit trail a page at a time, newest first, without counting it.

Invariant: a page looks at no more events than it shows or, where no index leads to what is asked for, at `LOOKED_AT`;
it then says how far it came, and the next page goes on there. A cursor says where a page ended, never whose events.

That somebody read what an event of the audit trail says is itself an event, in the same chain.

Invariant: it is committed before anything is shown. A chain that somebody broke may take no event any more; then the
next wider one tells of the look, so that whoever is to find the damage can see it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID

from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from tenants.audit.chain import EventDraft, record_events, record_platform_event, record_tenant_event
from tenants.audit.filters import AuditFilter
from tenants.errors import AuditConflict, InvalidValue
from tenants.locks import wait_for_owner
from tenants.models import AuditEvent, Membership, User
from tenants.principal import AUDITS, Actor, Principal
from tenants.principals import reading_principal

PAGE = 50
LOOKED_AT = 10_000
_SALT = "tenants.audit.chain"
_IN_CHAIN = ("-sequence",)
_IN_TIME = ("-created_at", "-sequence", "-id")


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events with their payloads, and the cursor of the page after them (empty: there is none).

    `looked_back_to`: so far this page looked without filling up; older events may be there.
    """

    events: tuple[AuditEvent, ...]
    next_cursor: str = ""
    looked_back_to: datetime | None = None


def page_of_events(wanted: AuditFilter, *, cursor: str = "", limit: int = PAGE) -> EventPage:
    """A page of what `wanted` finds. Raises InvalidValue for a cursor of another list."""
    order = _order(wanted)
    after = _after(_read(cursor, order)) if cursor else Q()
    edge = _edge(_indexed(wanted).filter(after), order) if _scans(wanted) else None
    parts = [each.events().filter(after) for each in (_apart(wanted, order) if edge is None else [wanted])]
    if edge is not None:
        # The first bound is for the index: without it the database would walk to the end of the trail.
        parts = [rows.filter(_not_before(edge, order)).exclude(_after(_place(edge, order))) for rows in parts]
    found = [event for rows in parts for event in rows.select_related("payload").order_by(*order)[: limit + 1]]
    if len(parts) > 1:
        found.sort(key=lambda event: (event.created_at, event.sequence, event.pk), reverse=True)
    page = tuple(found[:limit])
    if len(found) > limit:
        return EventPage(page, _write(page[-1], order))
    if edge is not None:
        return EventPage(page, _write(edge, order), edge.created_at)
    return EventPage(page)


def _order(wanted: AuditFilter) -> Sequence[str]:
    return _IN_CHAIN if wanted.along_chain else _IN_TIME


def _apart(wanted: AuditFilter, order: Sequence[str]) -> list[AuditFilter]:
    """A filter for each of several actions: an index leads to the newest of each, and these hold the newest of all."""
    alone = wanted.of_sorts or wanted.request or wanted.target or order is _IN_CHAIN
    return [replace(wanted, action=action) for action in wanted.actions if not alone] or [wanted]


def _scans(wanted: AuditFilter) -> bool:
    """Whether events must be looked through that are not asked for."""
    if wanted.request or wanted.target:
        return False
    narrowed = bool(wanted.actor_kind or wanted.of_sorts)
    if not wanted.chain:
        return narrowed
    return narrowed or bool(wanted.until or wanted.since or wanted.actor or wanted.action)


def _indexed(wanted: AuditFilter) -> QuerySet[AuditEvent]:
    """What an index finds: `wanted` and more."""
    if _order(wanted) is _IN_CHAIN:
        return AuditFilter(wanted.tenant, member=wanted.member).events()
    led_by = "" if wanted.of_sorts or len(wanted.actions) > 1 else wanted.action
    wider = replace(wanted, member=None, actor_kind="", action=led_by)
    return wider.events()


def _edge(rows: QuerySet[AuditEvent], order: Sequence[str]) -> AuditEvent | None:
    """The last event that is looked at, if there are more."""
    found = rows.order_by(*order).only("sequence", "created_at")[LOOKED_AT - 1 : LOOKED_AT + 1]
    edges = list(found)
    return edges[0] if len(edges) > 1 else None


Place = tuple[int] | tuple[datetime, int, UUID]


def _place(event: AuditEvent, order: Sequence[str]) -> Place:
    return (event.sequence,) if order is _IN_CHAIN else (event.created_at, event.sequence, event.pk)


def _not_before(event: AuditEvent, order: Sequence[str]) -> Q:
    return Q(sequence__gte=event.sequence) if order is _IN_CHAIN else Q(created_at__gte=event.created_at)


def _after(place: Place) -> Q:
    """The events that come after a place in its order."""
    if len(place) == 1:
        return Q(sequence__lt=place[0])
    created_at, sequence, pk = place
    later = Q(created_at=created_at) & (Q(sequence__lt=sequence) | Q(sequence=sequence, pk__lt=pk))
    return Q(created_at__lte=created_at) & (Q(created_at__lt=created_at) | later)


def _write(event: AuditEvent, order: Sequence[str]) -> str:
    place = _place(event, order)
    values: list[object] = [place[0]] if len(place) == 1 else [place[0].isoformat(), place[1], str(place[2])]
    return signing.dumps(values, salt=_SALT + order[0])


def _read(cursor: str, order: Sequence[str]) -> Place:
    try:
        values = signing.loads(cursor, salt=_SALT + order[0])
    except signing.BadSignature as error:
        raise InvalidValue("cursor", "This is no page of this list; begin anew.") from error
    if order is _IN_CHAIN:
        return (int(values[0]),)
    return datetime.fromisoformat(values[0]), int(values[1]), UUID(values[2])


log = logging.getLogger(__name__)

EVENT_READ = "audit.read"
EVENT_KIND = "audit_event"
ELSEWHERE = "the chain of whose it is takes no event"


def note_event_read(staff: User, actor: Actor, event: AuditEvent) -> AuditEvent:
    """Tell the chain of `event` that `staff` read it. Raises Forbidden unless they audit its tenant."""
    draft = EventDraft(EVENT_READ, EVENT_KIND, event.pk, after={"sequence": event.sequence})
    if event.tenant_id is None:
        return tell_platform(actor, draft)
    owners = Membership.objects.filter(tenant_id=event.tenant_id).select_related("user")
    member = owners.filter(user_id=event.owner_id).first() if event.owner_id else None
    if member is None:
        return tell_tenant(actor, event.tenant_id, draft)
    principal = reading_principal(member, staff=staff, roles=AUDITS, request_id=actor.request_id)
    return tell_owner(principal, draft)


def tell_owner(principal: Principal, draft: EventDraft) -> AuditEvent:
    """Tell the chain of the principal that somebody looked, or the tenant's if that takes no event."""

    def own() -> AuditEvent:
        wait_for_owner(principal)
        return record_events(principal, [draft])[0]

    actor = Actor(principal.actor_kind, principal.actor_id, principal.request_id)
    whose = {**(draft.after or {}), "membership": str(principal.membership_id)}
    return _first(own, partial(tell_tenant, actor, principal.tenant_id, replace(draft, reason=ELSEWHERE, after=whose)))


def tell_tenant(actor: Actor, tenant_id: UUID, draft: EventDraft) -> AuditEvent:
    """Tell the chain of a tenant that somebody looked, or the platform's if that takes no event."""
    whose = {**(draft.after or {}), "tenant": str(tenant_id)}
    return _first(
        partial(record_tenant_event, actor, tenant_id, draft),
        partial(tell_platform, actor, replace(draft, reason=ELSEWHERE, after=whose)),
    )


def tell_platform(actor: Actor, draft: EventDraft) -> AuditEvent:
    """Tell the chain of the platform that somebody looked."""
    with transaction.atomic():
        return record_platform_event(actor, draft)


def _first(own: Callable[[], AuditEvent], wider: Callable[[], AuditEvent]) -> AuditEvent:
    try:
        with transaction.atomic():
            return own()
    except (AuditConflict, IntegrityError) as error:
        log.error("A chain of the audit trail takes no event (%s): have it verified.", type(error).__name__)  # noqa: TRY400 - no row in the log
        return wider()
