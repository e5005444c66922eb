"""Reading the audit trail a page at a time, newest first, without counting it.

Invariant: a page looks at no more events than it shows or, where no index leads to what is asked for, at `LOOKED_AT`;
it then says how far it came, and the next page goes on there. A cursor says where a page ended, never whose events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.core import signing
from django.db.models import Q, QuerySet

from tenants.audit_filters import AuditFilter
from tenants.errors import InvalidValue
from tenants.models import AuditEvent

PAGE = 50
LOOKED_AT = 10_000
_SALT = "tenants.audit"
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
