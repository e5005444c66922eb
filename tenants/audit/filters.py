"""Which events of the audit trail somebody asks for: read from an address, and written into one.

Invariant: an `AuditFilter` is of one tenant, or of the platform's own affairs; a name is looked up in that tenant
alone, so that a member of another one and nobody at all get the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from tenants.audit.chain import PLATFORM_CHAIN, owner_chain
from tenants.errors import InvalidValue
from tenants.models import AuditEvent, Membership, User
from tenants.principal import ActorKind
from tenants.validation import is_storable

_KINDS = frozenset(kind.value for kind in ActorKind)
_LONGEST = 150
# Each of several is looked for by itself.
MOST_ACTIONS = 8


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """What to show of a tenant (None: of the platform's own affairs); `since` is in it, `until` is not.

    `member` and `actor` are ids of users; `actor_kind` is who acted in a word. `action` is one, all of a sort
    (`fact.*`), or several between commas.
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
        """The chain of the member asked for; empty where several chains are."""
        if self.tenant is None:
            return PLATFORM_CHAIN
        return owner_chain(self.tenant, self.member) if self.member else ""

    @property
    def along_chain(self) -> bool:
        """Whether the events are those of one chain, in its order; the end of a time leads there faster by the time."""
        return bool(self.chain and not self.until)

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions and sorts of actions asked for, each once; none: all."""
        said = (each.strip() for each in self.action.split(","))
        return tuple(dict.fromkeys(each for each in said if each))

    @property
    def of_sorts(self) -> bool:
        """Whether all actions of a sort are asked for."""
        return any(each.endswith(".*") for each in self.actions)

    def events(self) -> QuerySet[AuditEvent]:
        """The events, in no order."""
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
        """Those of the tenant, or of one member in it.

        A request and a target have few events, which their own index finds: from that SQLite, which guesses without
        statistics, would be led astray by the indexes of tenants and chains.
        """
        rows = AuditEvent.objects.order_by()
        if self.tenant and (self.request or self.target):
            rows = rows.alias(of_tenant=Coalesce("tenant_id", "id")).filter(of_tenant=self.tenant)
        elif self.along_chain:
            return rows.filter(chain=self.chain)
        else:
            rows = rows.filter(tenant_id=self.tenant)
        return rows.filter(owner_id=self.member) if self.member else rows

    def told(self) -> dict[str, str]:
        """What was asked for, in plain values without what is empty: for addresses, manifests and the trail."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        said = {
            name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
            for name, value in values.items()
            if value
        }
        return {"tenant": "platform"} | said


def read_filter(tenant: UUID | None, asked: Mapping[str, str]) -> AuditFilter:
    """The filter that an address or a form asks for in this tenant. Raises InvalidValue naming the field."""
    words = {name: value.strip() for name, value in asked.items()}
    for name in ("member", "actor", "action", "request", "target"):
        if len(words.get(name, "")) > _LONGEST or not is_storable(words.get(name, "")):
            raise InvalidValue(name, "This is nothing that one could look for.")
    if words.get("action", "").count(",") >= MOST_ACTIONS:
        raise InvalidValue("action", f"Give {MOST_ACTIONS} actions at most.")
    actor = words.get("actor", "")
    kind = words.get("actor_kind", "")
    if kind and kind not in _KINDS:
        raise InvalidValue("actor_kind", f"Choose one of {', '.join(sorted(_KINDS))}.")
    since, until = _moment("since", words.get("since", "")), _moment("until", words.get("until", ""), end=True)
    if since and until and since >= until:
        raise InvalidValue("until", "The end must come after the beginning.")
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


def _member(tenant: UUID | None, named: str) -> UUID:
    """The user of a member, also of one whose names were erased. An id may be that of the membership."""
    members = Membership.objects.filter(tenant_id=tenant) if tenant else Membership.objects.none()
    if (known := _uuid(named)) is not None:
        member = members.filter(Q(pk=known) | Q(user_id=known)).first()
        return member.user_id if member else known
    found = list(members.filter(_called(named, "user__") | Q(external_id=named)).order_by("pk")[:2])
    if len(found) != 1:
        raise InvalidValue("member", "No member of this tenant has this name." if not found else _SEVERAL)
    return found[0].user_id


_SEVERAL = "Several have this name: give a username or an id."


def _actor(tenant: UUID | None, named: str) -> UUID:
    if (known := _uuid(named)) is not None:
        return known
    users = User.objects.filter(_called(named))
    if tenant:
        users = users.filter(memberships__tenant_id=tenant)
    found = list(users.order_by("pk").distinct()[:2])
    if len(found) != 1:
        raise InvalidValue("actor", "Nobody here has this name." if not found else _SEVERAL)
    return found[0].pk


def _called(named: str, path: str = "") -> Q:
    return Q(**{f"{path}username": named}) | Q(**{f"{path}display_name__iexact": named})


def _moment(field: str, words: str, *, end: bool = False) -> datetime | None:
    """A day or a moment; an `end` that is a day has all of it."""
    if not words:
        return None
    try:
        day = parse_date(words)
        moment = None if day else parse_datetime(words)
    except ValueError:
        raise InvalidValue(field, "There is no such day or time; look at the day and the hour once more.") from None
    if day:
        return _begin(field, day, days=int(end))
    if moment is None:
        raise InvalidValue(field, "Give a day such as 2026-03-31, or a moment such as 2026-03-31T18:00.")
    _within_time(field, moment)
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment


def _begin(field: str, day: date, *, days: int) -> datetime:
    _within_time(field, day)
    return timezone.make_aware(datetime.combine(day + timedelta(days=days), time.min))


def _within_time(field: str, day: date) -> None:
    """In the first and the last year of all, the same moment is in no year elsewhere on earth."""
    if not MINYEAR < day.year < MAXYEAR:
        raise InvalidValue(field, "Give a day that a calendar has.")


def _id(field: str, words: str) -> UUID:
    found = _uuid(words)
    if found is None:
        raise InvalidValue(field, "Give an id such as 5f5dfd5b-7f1d-4f11-9a3c-0f3e2a1c9b77.")
    return found


def _uuid(words: str) -> UUID | None:
    try:
        return UUID(words)
    except ValueError:
        return None
