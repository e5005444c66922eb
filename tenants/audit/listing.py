"""Filters and lists the audit log in pages, newest first, without counting it.

An `AuditFilter` covers one tenant, or the platform's own events. Names are looked up in that tenant only, so another
tenant's member and an unknown name get the same answer. A page reads at most as many events as it shows or, without an
index for the filter, LOOKED_AT; it reports how far back it searched, and the next page continues there. A cursor holds
a position, never an owner.

Reading an event's payload is itself an event, committed before the page shows the payload. If the chain is broken and
accepts no event, the next wider chain records the read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from tenants.audit.chain import (
    PLATFORM_CHAIN,
    EventDraft,
    owner_chain,
    record_events,
    record_platform_event,
    record_tenant_event,
)
from tenants.audit.moments import read_moment
from tenants.errors import AuditConflict, InvalidValue, is_storable
from tenants.locks import wait_for_owner
from tenants.models import AuditEvent, Membership, User
from tenants.principal import AUDITS, Actor, ActorKind, Principal
from tenants.principals import keeping_principal, reading_principal
from tenants.usernames import is_made_up

_KINDS = frozenset(kind.value for kind in ActorKind)
_LONGEST = 150
# A query with several actions runs one sub-query for each.
MOST_ACTIONS = 8


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Selects events of a tenant (None: of the platform); from `since` inclusive to `until` exclusive.

    `member` and `actor` are ids of users. `actor_kind` is a value of ActorKind. `action` is one action, all of a kind
    (`fact.*`), or several, comma-separated.
    """

    tenant: UUID | None
    member: UUID | None = None
    actor: UUID | None = None
    actor_kind: str = ""
    action: str = ""
    request: str = ""
    target: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def chain(self) -> str:
        """The chain of the member, or of the platform without a tenant; empty if several chains match."""
        if self.tenant is None:
            return PLATFORM_CHAIN
        return owner_chain(self.tenant, self.member) if self.member else ""

    @property
    def along_chain(self) -> bool:
        """Whether to read the events of one chain by sequence. With an `until`, reading by time is faster."""
        return bool(self.chain and not self.until)

    @property
    def actions(self) -> tuple[str, ...]:
        """The requested actions and patterns (`fact.*`), without duplicates; empty for all."""
        said = (each.strip() for each in self.action.split(","))
        return tuple(dict.fromkeys(each for each in said if each))

    @property
    def of_sorts(self) -> bool:
        """Whether a pattern (`fact.*`) is among the actions."""
        return any(each.endswith(".*") for each in self.actions)

    def events(self) -> QuerySet[AuditEvent]:
        """The matching events, unordered."""
        rows = self._whose()
        conditions = {
            "actor_id": self.actor,
            "actor_kind": self.actor_kind,
            "request_id": self.request,
            "target_id": self.target,
            "created_at__gte": self.since,
            "created_at__lt": self.until,
        }
        rows = rows.filter(**{name: value for name, value in conditions.items() if value})
        if self.of_sorts:
            fits = Q(action__in=[each for each in self.actions if not each.endswith(".*")])
            for each in self.actions:
                fits |= Q(action__startswith=each[:-1]) if each.endswith(".*") else Q()
            return rows.filter(fits)
        if len(self.actions) > 1:
            return rows.filter(action__in=self.actions)
        return rows.filter(action=self.actions[0]) if self.actions else rows

    def _whose(self) -> QuerySet[AuditEvent]:
        """Events of the tenant, or of one member in it.

        Few events share a request or a target, and each column has an index. SQLite plans without statistics and would
        choose the indexes of tenant and chain instead; `Coalesce` keeps it from using them.
        """
        rows = AuditEvent.objects.order_by()
        if self.tenant and (self.request or self.target):
            rows = rows.alias(of_tenant=Coalesce("tenant_id", "id")).filter(of_tenant=self.tenant)
        elif self.along_chain:
            return rows.filter(chain=self.chain)
        else:
            rows = rows.filter(tenant_id=self.tenant)
        return rows.filter(owner_id=self.member) if self.member else rows

    def as_dict(self) -> dict[str, str]:
        """The non-empty filters as strings, for query strings, manifests and the audit log."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        said = {
            name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
            for name, value in values.items()
            if value
        }
        return {"tenant": "platform"} | said


def read_filter(tenant: UUID | None, asked: Mapping[str, str]) -> AuditFilter:
    """Parse the filter of a query string or form in this tenant. Raises InvalidValue naming the field."""
    words = {name: value.strip() for name, value in asked.items()}
    for name in ("member", "actor", "action", "request", "target"):
        if len(words.get(name, "")) > _LONGEST or not is_storable(words.get(name, "")):
            raise InvalidValue(name, _("This is nothing that one could look for."))
    if words.get("action", "").count(",") >= MOST_ACTIONS:
        raise InvalidValue("action", _("Give %(most_actions)s actions at most.") % {"most_actions": MOST_ACTIONS})
    actor = words.get("actor", "")
    kind = words.get("actor_kind", "")
    if kind and kind not in _KINDS:
        raise InvalidValue("actor_kind", _("Choose one of %(names)s.") % {"names": ", ".join(sorted(_KINDS))})
    since = _last_audit(tenant) if words.get("since") == LAST_AUDIT else read_moment("since", words.get("since", ""))
    until = read_moment("until", words.get("until", ""), end=True)
    if since and until and since >= until:
        raise InvalidValue("until", _("The end must come after the beginning."))
    return AuditFilter(
        tenant=tenant,
        member=_member(tenant, words["member"]) if words.get("member") else None,
        actor=_actor(tenant, actor) if actor and actor not in _KINDS else None,
        actor_kind=actor if actor in _KINDS else kind,
        action=words.get("action", ""),
        request=words.get("request", ""),
        target=_id("target", words["target"]) if words.get("target") else None,
        since=since,
        until=until,
    )


REPORTED = "audit.reported"
LAST_AUDIT = "last-audit"
"""As `since`: from the end of the period of the tenant's latest report."""


def end_of_last_report(tenant: UUID | None) -> datetime | None:
    """The end of the period of the tenant's latest report; None before the first."""
    reports = AuditEvent.objects.filter(tenant_id=tenant, action=REPORTED).select_related("payload")
    latest = reports.order_by("-created_at", "-sequence").first()
    payload = getattr(latest, "payload", None)
    until = ((payload.data["after"] if payload else None) or {}).get("until")
    try:
        return datetime.fromisoformat(until) if isinstance(until, str) else None
    except ValueError:  # somebody wrote it by SQL; the verification of the chain finds it
        return None


def _last_audit(tenant: UUID | None) -> datetime:
    moment = end_of_last_report(tenant)
    if moment is None:
        raise InvalidValue("since", _("No report of this organisation was made yet: give a day."))
    return moment


def _member(tenant: UUID | None, named: str) -> UUID:
    """The user id of a member, given by name or id (of user or membership); erased members are found by id."""
    members = Membership.objects.filter(tenant_id=tenant) if tenant else Membership.objects.none()
    if (known := _uuid(named)) is not None:
        member = members.filter(Q(pk=known) | Q(user_id=known)).first()
        return member.user_id if member else known
    found = members.filter(_called(named, "user__") | Q(external_id=named)).order_by("pk")
    return _only("member", found.values_list("user_id", flat=True), _("No member of this tenant has this name."))


def member_in_words(tenant: UUID, user_id: UUID) -> str:
    """A name that finds this member alone as a filter, never one that was made up; their id if there is none."""
    known = Membership.objects.filter(tenant_id=tenant, user_id=user_id)
    for name in known.values_list("user__username", "user__display_name", "external_id").first() or ():
        with suppress(InvalidValue):
            if name and not is_made_up(name) and _member(tenant, name) == user_id:
                return str(name)
    return str(user_id)


def _only(field: str, found: QuerySet[Any, UUID], none: str) -> UUID:
    ids = list(found[:2])
    if len(ids) != 1:
        raise InvalidValue(field, _("Several have this name: give a username or an id.") if ids else none)
    return ids[0]


def _actor(tenant: UUID | None, named: str) -> UUID:
    if (known := _uuid(named)) is not None:
        return known
    users = User.objects.filter(_called(named))
    if tenant:
        users = users.filter(memberships__tenant_id=tenant)
    return _only("actor", users.order_by("pk").distinct().values_list("pk", flat=True), _("Nobody here has this name."))


def _called(named: str, path: str = "") -> Q:
    return Q(**{f"{path}username": named}) | Q(**{f"{path}display_name__iexact": named})


def _id(field: str, words: str) -> UUID:
    found = _uuid(words)
    if found is None:
        raise InvalidValue(field, _("Give an id such as 5f5dfd5b-7f1d-4f11-9a3c-0f3e2a1c9b77."))
    return found


def _uuid(words: str) -> UUID | None:
    try:
        return UUID(words)
    except ValueError:
        return None


PAGE = 50
LOOKED_AT = 10_000
_SALT = "tenants.audit.chain"
_IN_CHAIN = ("-sequence",)
_IN_TIME = ("-created_at", "-sequence", "-id")


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events with their payloads and erasures, and the cursor of the next page (empty on the last).

    `looked_back_to` is set if the search stopped at LOOKED_AT before the page was full; older events may match.
    """

    events: tuple[AuditEvent, ...]
    next_cursor: str = ""
    looked_back_to: datetime | None = None


def page_of_events(wanted: AuditFilter, *, cursor: str = "", limit: int = PAGE) -> EventPage:
    """A page of at most `limit` events that match `wanted`. Raises InvalidValue for a cursor of another list."""
    order = _order(wanted)
    after = _after(_read(cursor, order)) if cursor else Q()
    edge = _edge(_indexed(wanted).filter(after), order) if _scans(wanted) else None
    parts = [each.events().filter(after) for each in (_apart(wanted, order) if edge is None else [wanted])]
    if edge is not None:
        # The lower bound lets the database use the index; without it, it would scan to the end of the audit log.
        parts = [rows.filter(_not_before(edge, order)).exclude(_after(_place(edge, order))) for rows in parts]
    found = [
        event for rows in parts for event in rows.select_related("payload", "erasure").order_by(*order)[: limit + 1]
    ]
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
    """One filter per action: an index finds the newest events of each, and the newest of all are among them."""
    alone = wanted.of_sorts or wanted.request or wanted.target or order is _IN_CHAIN
    return [replace(wanted, action=action) for action in wanted.actions if not alone] or [wanted]


def _scans(wanted: AuditFilter) -> bool:
    """Whether no index fits the filter, so that events which do not match must be read."""
    if wanted.request or wanted.target:
        return False
    narrowed = bool(wanted.actor_kind or wanted.of_sorts)
    if not wanted.chain:
        return narrowed
    return narrowed or bool(wanted.until or wanted.since or wanted.actor or wanted.action)


def _indexed(wanted: AuditFilter) -> QuerySet[AuditEvent]:
    """A superset of `wanted` that an index finds."""
    if _order(wanted) is _IN_CHAIN:
        return AuditFilter(wanted.tenant, member=wanted.member).events()
    led_by = "" if wanted.of_sorts or len(wanted.actions) > 1 else wanted.action
    wider = replace(wanted, member=None, actor_kind="", action=led_by)
    return wider.events()


def _edge(rows: QuerySet[AuditEvent], order: Sequence[str]) -> AuditEvent | None:
    """The last event that this page may read; None if there are no more than LOOKED_AT."""
    found = rows.order_by(*order).only("sequence", "created_at")[LOOKED_AT - 1 : LOOKED_AT + 1]
    edges = list(found)
    return edges[0] if len(edges) > 1 else None


Place = tuple[int] | tuple[datetime, int, UUID]


def _place(event: AuditEvent, order: Sequence[str]) -> Place:
    return (event.sequence,) if order is _IN_CHAIN else (event.created_at, event.sequence, event.pk)


def _not_before(event: AuditEvent, order: Sequence[str]) -> Q:
    return Q(sequence__gte=event.sequence) if order is _IN_CHAIN else Q(created_at__gte=event.created_at)


def _after(place: Place) -> Q:
    """The condition for events that follow `place` in the list's order."""
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
        raise InvalidValue("cursor", _("This is no page of this list; begin anew.")) from error
    if order is _IN_CHAIN:
        return (int(values[0]),)
    return datetime.fromisoformat(values[0]), int(values[1]), UUID(values[2])


log = logging.getLogger(__name__)

EVENT_READ = "audit.read"
EVENT_KIND = "audit_event"
ELSEWHERE = "the chain of whose it is takes no event"


def note_event_read(staff: User | None, actor: Actor, event: AuditEvent, *, purpose: str = "") -> AuditEvent:
    """Record on the chain of `event` that `staff` read it, or a backend key if None.

    Raises Forbidden unless staff may audit the tenant.
    """
    draft = EventDraft(EVENT_READ, EVENT_KIND, event.pk, after={"sequence": event.sequence})
    if event.tenant_id is None:
        return tell_platform(actor, draft)
    member = owner_of_event(event)
    if member is None:
        return tell_tenant(actor, event.tenant_id, draft)
    if staff is None:
        principal = replace(keeping_principal(member), actor_kind=actor.kind, actor_id=actor.id, purpose=purpose)
        principal = replace(principal, request_id=actor.request_id)
    else:
        principal = reading_principal(member, staff=staff, roles=AUDITS, request_id=actor.request_id, purpose=purpose)
    return tell_owner(principal, draft)


def owner_of_event(event: AuditEvent) -> Membership | None:
    """The membership of the owner on whose chain the event is, active or not."""
    if event.tenant_id is None or event.owner_id is None:
        return None
    found = Membership.objects.filter(tenant_id=event.tenant_id, user_id=event.owner_id)
    return found.select_related("user", "tenant").first()


def tell_owner(principal: Principal, draft: EventDraft) -> AuditEvent:
    """Record a read and its purpose on the principal's chain, or on the tenant's if the principal's is broken."""
    draft = replace(draft, reason=draft.reason or principal.purpose)

    def own() -> AuditEvent:
        wait_for_owner(principal)
        return record_events(principal, [draft])[0]

    actor = Actor(principal.actor_kind, principal.actor_id, principal.request_id)
    whose = {**(draft.after or {}), "membership": str(principal.membership_id)}
    return _first(own, partial(tell_tenant, actor, principal.tenant_id, replace(draft, reason=ELSEWHERE, after=whose)))


def tell_tenant(actor: Actor, tenant_id: UUID, draft: EventDraft) -> AuditEvent:
    """Record a read on a tenant's chain, or on the platform's if the tenant's is broken."""
    whose = {**(draft.after or {}), "tenant": str(tenant_id)}
    return _first(
        partial(record_tenant_event, actor, tenant_id, draft),
        partial(tell_platform, actor, replace(draft, reason=ELSEWHERE, after=whose)),
    )


def tell_platform(actor: Actor, draft: EventDraft) -> AuditEvent:
    """Record a read on the platform's chain."""
    with transaction.atomic():
        return record_platform_event(actor, draft)


def _first(own: Callable[[], AuditEvent], wider: Callable[[], AuditEvent]) -> AuditEvent:
    try:
        with transaction.atomic():
            return own()
    except (AuditConflict, IntegrityError) as error:
        log.error("A chain of the audit log takes no event (%s): have it verified.", type(error).__name__)  # noqa: TRY400 - no row in the log
        return wider()
