"""Admission control: whether a request may be served now, decided at the edge before any work.

A request takes units of the quotas of its token, its member and their tenant, all or none; a place among the member's
open turns, if it is a turn; and one of the threads, and of the open turns, that its tenant may use in this process. The
limits are those of the tenant's policy, else of the installation (MEMORYHUB_LIMITS). docs/adr/0024-limits.md has the
reasons.

A backend key has the limits of a token for each member that it acts for, so that it uses up the share of none; what it
does for no member counts for the tenant alone.

The answer names the limits of the token and the member alone: what is left for the tenant would show a member how much
the others do.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise

from memories.errors import LimitExceeded
from memories.models import Session
from memories.selectors.policies import limits_with
from memories.selectors.sessions import find_session
from memoryhub import limits
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.env.limits import HOUR, MINUTE, OPEN_TURNS, Bucket, Level, limit_name
from memoryhub.languages import number
from memoryhub.limits import PLACES, Place, Quota, QuotaUse
from memoryhub.middleware import AdmittedRequest, length_of, upload_limit
from tenants.models import Tenant
from tenants.principal import ActorKind, KeyHolder, Principal

Item = TypeVar("Item")
# A change of a policy holds in every process after this time: seconds.
KNOWN_SECONDS = 10.0
THREADS = "threads"
# A text takes a unit for each so many bytes that it begins, since the worst ones take 8 ms of a core for as many.
UNIT_BYTES = 2_000
_PROGRAMS = (ActorKind.TOKEN, ActorKind.KEY)

_WHAT = {
    Bucket.READS: gettext_lazy("Too many requests in a short time"),
    Bucket.WRITES: gettext_lazy("Too many changes in a short time"),
    Bucket.ENTRIES: gettext_lazy("Too many entries of batches and imports in an hour"),
    Bucket.TURNS: gettext_lazy("Too many messages in a short time"),
    Bucket.SESSIONS: gettext_lazy("Too many new conversations in a day"),
    Bucket.MODEL_TOKENS: gettext_lazy("The language model has been used as much as is allowed in a day"),
}
_WHOSE = {
    Level.TOKEN: gettext_lazy("%(what)s with this token"),
    Level.MEMBER: "%(what)s",
    Level.TENANT: gettext_lazy("%(what)s in your organisation"),
}
_BUSY = gettext_lazy("Your organisation uses as much of this server as it may at the moment")
_OPEN = gettext_lazy("Your earlier messages are still being answered; wait for one of them to end")


@dataclass(slots=True)
class Admission:
    """An admitted request. `headers` are those of its limits."""

    tenant_id: UUID | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    place: Place = field(default_factory=Place)
    thread: ExitStack = field(default_factory=ExitStack)

    def leave_thread(self) -> None:
        """Free the request's thread for its tenant, before the end of the request."""
        self.thread.close()

    def kept(self, events: Iterator[Item]) -> Generator[Item]:
        """The events of a turn; reading them keeps its place. Their end frees it, before the reader sees that end.

        Closing this closes them.
        """
        try:
            for event in events:
                self.place.keep()
                yield event
        finally:
            if isinstance(events, Generator):
                events.close()
            self.place.release()


def units_of(length: int) -> int:
    """The units of a text, or a body, of so many bytes or characters."""
    return max(1, -(-length // UNIT_BYTES))


def admit_request(
    caller: Principal | KeyHolder, buckets: Sequence[Bucket], request: AdmittedRequest, *, by_length: bool = True
) -> Admission:
    """Admit a request, which gets the headers of its limits. Raises LimitExceeded.

    A long body takes more units of the limits of a minute. Of imports and requests to models, and of views that are not
    limited `by_length`, the view counts what is in the body.
    """
    by_length = by_length and upload_limit(request.META) is None
    request.sender = _holder(caller, _levels(caller)[0])
    admission = admit(caller, buckets, request.held, units=units_of(length_of(request.META)) if by_length else 1)
    request.limit_headers |= admission.headers
    return admission


def admit(principal: Principal | KeyHolder, buckets: Sequence[Bucket], held: ExitStack, *, units: int = 1) -> Admission:
    """Admit a request that counts in `buckets`, with `units` in those of a minute; closing `held` ends it.

    Raises LimitExceeded. Units beyond the limit of a token count as that limit, so that no request takes what
    others of the organisation have.
    """
    if not settings.MEMORYHUB_LIMITS:
        return Admission(principal.tenant_id)
    thread = held.enter_context(ExitStack())
    known = _known(principal.tenant_id)
    in_force = limits_with(known.own)
    if known.others:
        if not limits.fair_share.enter(principal.tenant_id):
            raise _refused(principal, THREADS, _BUSY, 1)
        thread.callback(limits.fair_share.leave, principal.tenant_id)
        if Bucket.TURNS in buckets:
            if not limits.turn_share.enter(principal.tenant_id):
                raise _refused(principal, THREADS, _BUSY, 1)
            held.callback(limits.turn_share.leave, principal.tenant_id)
    wanted = {bucket: min(units, _most_units(bucket, in_force)) if bucket.window == MINUTE else 1 for bucket in buckets}
    if Bucket.TURNS in buckets:
        wanted[Bucket.MODEL_TOKENS] = 0
    quotas = [
        _quota(principal, level, bucket, in_force, units=taken)
        for bucket, taken in wanted.items()
        for level in _levels(principal)
    ]
    if Bucket.TURNS in buckets and isinstance(principal, Principal):
        uses, place = limits.take_with_place(quotas, str(principal.membership_id), _places(principal, in_force))
        held.callback(place.release)
    else:
        uses, place = limits.take(quotas), Place()
    if not uses:
        limits.count(str(principal.tenant_id))  # served without: the store is away
    if exceeded := [use for use in uses if not use.fits]:
        raise _exceeded(principal, exceeded, in_force)
    headers = _headers([use for use in uses if not use.quota.name.startswith(Level.TENANT)])
    return Admission(principal.tenant_id, headers, place, thread)


def admit_more(principal: Principal, bucket: Bucket, units: int = 1) -> None:
    """Count what only the body of a call tells: a new session, or the entries of a batch. Raises LimitExceeded.

    With no units of MODEL_TOKENS, it only refuses once they are used up.
    """
    if not settings.MEMORYHUB_LIMITS or not (units or bucket is Bucket.MODEL_TOKENS):
        return
    in_force = limits_with(_known(principal.tenant_id).own)
    quotas = [_quota(principal, level, bucket, in_force, units=units) for level in _levels(principal)]
    now = time.time()
    # A quota that nobody has used takes the first request as it is, so what can never fit is refused here.
    never = [
        QuotaUse(quota, fits=False, used_to=now - quota.window, now=now) for quota in quotas if quota.limit < units
    ]
    if exceeded := never or [use for use in limits.take(quotas) if not use.fits]:
        raise _exceeded(principal, exceeded, in_force)


def admit_length(principal: Principal, bucket: Bucket, length: int) -> None:
    """Count the length of a text, of which an admitted call has taken the first unit. Raises LimitExceeded."""
    if not settings.MEMORYHUB_LIMITS or (units := units_of(length)) == 1:
        return
    in_force = limits_with(_known(principal.tenant_id).own)
    more = min(units, _most_units(bucket, in_force)) - 1
    quotas = [_quota(principal, level, bucket, in_force, units=more) for level in _levels(principal) if more]
    if exceeded := [use for use in limits.take(quotas) if not use.fits]:
        raise _exceeded(principal, exceeded, in_force)


def admit_session(principal: Principal, name: str) -> Session | None:
    """The session that the caller names; a new one, or one without a name, is counted. Raises LimitExceeded."""
    session = find_session(principal, name) if name else None
    if session is None:
        admit_more(principal, Bucket.SESSIONS)
    return session


def _exceeded(
    principal: Principal | KeyHolder, exceeded: Sequence[QuotaUse], in_force: Mapping[str, int]
) -> LimitExceeded:
    last = max(exceeded, key=lambda use: use.seconds)
    if last.quota.name == PLACES and isinstance(principal, Principal):
        most = len(_places(principal, in_force))
        headers = {"RateLimit-Policy": f'"{_spelled(OPEN_TURNS)}";q={most};qu="concurrent-requests"'}
        return _refused(principal, OPEN_TURNS, _OPEN, 5, headers=headers)
    level, __, bucket = last.quota.name.partition("_")
    what = str(_WHOSE[Level(level)]) % {"what": _WHAT[Bucket(bucket)]}
    if (most := min(use.quota.limit for use in exceeded)) < last.quota.units:
        what = _("%(what)s: at most %(most)s are taken at once, so divide them") % {"what": what, "most": number(most)}
    names = [use.quota.name for use in exceeded]
    return _refused(principal, bucket, what, last.seconds, names, _headers(exceeded))


def _places(principal: Principal | KeyHolder, in_force: Mapping[str, int]) -> Sequence[int]:
    """The places of open turns that a caller may take, first choice first. Programs leave one, if there are several."""
    places = range(in_force[OPEN_TURNS])
    if isinstance(principal, KeyHolder) or principal.actor_kind in _PROGRAMS:
        return places[:-1] or places
    return places[::-1]


def spend_model_tokens(principal: Principal, tokens: int) -> None:
    """Count the tokens that a language model took for a member."""
    if tokens > 0 and settings.MEMORYHUB_LIMITS:
        in_force = limits_with(_known(principal.tenant_id).own)
        levels = _levels(principal)
        limits.spend([_quota(principal, level, Bucket.MODEL_TOKENS, in_force, units=tokens) for level in levels])


@dataclass(frozen=True, slots=True)
class KnownLimits:
    """The limits that a tenant has of its own, and whether the installation serves other tenants."""

    own: Mapping[str, int]
    others: bool
    read_at: float


_limits_of: dict[UUID, KnownLimits] = {}


def _known(tenant_id: UUID) -> KnownLimits:
    """The limits of a tenant, at most KNOWN_SECONDS old."""
    known = _limits_of.get(tenant_id)
    if known is None or time.monotonic() - known.read_at > KNOWN_SECONDS:
        others = Tenant.objects.filter(is_active=True).exclude(pk=OuterRef("pk"))
        rows = Tenant.objects.filter(pk=tenant_id).order_by()
        with acting_as(WideRole.JOBS):  # a member's scope shows no other tenant
            own, any_others = rows.values_list("memory_policy__limits", Exists(others)).get()
        known = _limits_of[tenant_id] = KnownLimits(own or {}, any_others, time.monotonic())
    return known


def limits_of(caller: Principal | KeyHolder) -> dict[str, int]:
    """The limits that hold for the caller and the member, by name; not those of the tenant, which others share."""
    if not settings.MEMORYHUB_LIMITS:
        return {}
    in_force = limits_with(_known(caller.tenant_id).own)
    return {name: number for name, number in in_force.items() if not name.startswith(Level.TENANT)}


def _levels(principal: Principal | KeyHolder) -> tuple[Level, ...]:
    if isinstance(principal, KeyHolder):
        return (Level.TENANT,)
    return tuple(Level) if principal.actor_kind in _PROGRAMS else (Level.MEMBER, Level.TENANT)


def _holder(principal: Principal | KeyHolder, level: Level) -> str:
    """Who has the limits of a level: the tenant, the member, the token, or the backend key as it acts for a member."""
    if isinstance(principal, KeyHolder) or level is Level.TENANT:
        return str(principal.tenant_id)
    if level is Level.MEMBER:
        return str(principal.membership_id)
    for_member = f":{principal.membership_id}" if principal.actor_kind is ActorKind.KEY else ""
    return f"{principal.actor_id}{for_member}"


def _quota(
    principal: Principal | KeyHolder, level: Level, bucket: Bucket, in_force: Mapping[str, int], *, units: int
) -> Quota:
    name = limit_name(level, bucket)
    return Quota(name, _holder(principal, level), in_force[name], bucket.window, units)


def _most_units(bucket: Bucket, in_force: Mapping[str, int]) -> int:
    """The most units that a request takes."""
    return min(in_force[limit_name(level, bucket)] for level in Level)


def _refused(
    principal: Principal | KeyHolder,
    kind: str,
    what: StrOrPromise,
    seconds: int,
    names: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> LimitExceeded:
    """Count a refusal, and build the error."""
    limits.count(f"{principal.tenant_id}:{kind}")
    spelled = tuple(map(_spelled, names or [kind]))
    return LimitExceeded(f"{what}. {_again(seconds)}", spelled, {**(headers or {}), "Retry-After": str(seconds)})


def _again(seconds: int) -> str:
    hours, minutes = -(-seconds // HOUR), -(-seconds // MINUTE)
    if seconds >= HOUR:
        return ngettext("Try again in %(count)d hour.", "Try again in %(count)d hours.", hours) % {"count": hours}
    if seconds >= MINUTE:
        return ngettext("Try again in %(count)d minute.", "Try again in %(count)d minutes.", minutes) % {
            "count": minutes
        }
    if seconds >= 1:
        return ngettext("Try again in %(count)d second.", "Try again in %(count)d seconds.", seconds) % {
            "count": seconds
        }
    return _("Try again.")


def _headers(uses: Sequence[QuotaUse]) -> dict[str, str]:
    """The fields `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers-10."""
    counted = [use for use in uses if use.quota.units and use.quota.name != PLACES]
    if not counted:
        return {}
    policies = (f'"{_spelled(use.quota.name)}";q={use.quota.limit};w={use.quota.window}' for use in counted)
    states = (f'"{_spelled(use.quota.name)}";r={use.remaining};t={use.seconds}' for use in counted)
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(states)}


def _spelled(name: str) -> str:
    return name.replace("_", "-")
