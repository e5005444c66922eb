"""Requests that a second person approves: the erasure of a member, and the export of a whole memory.

The person who asked never approves. Members may ask for their own erasure, and withdraw it. A backend key may ask and
approves nothing: where the tenant has an administrator,
one of them does, unless its policy never wants a second person. The rules of the last day count beside those of today,
the strictest of them: an administrator who loosens the policy, removes the other administrator or makes a new one waits
a day for the effect. They are read from the tenant's audit log. What the system does (an operator at the machine)
counts at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import ERASURE_DELAY, EXPORTS_DAILY, SETTLED_AFTER
from memories.errors import Conflict, NotFound, existing
from memories.models import ErasureRequest, ExportRequest, RequestState
from memories.selectors.policies import policy_of
from memories.services.admin_requests import administrator_of, asked_reason
from memories.types import SecondPerson
from memoryhub.jobs import wake_on_commit
from tenants.audit.chain import EventDraft, record_tenant_event, tenant_chain
from tenants.errors import Forbidden
from tenants.locks import wait_for_tenant
from tenants.models import AuditEvent, Membership, User
from tenants.principal import Actor, ActorKind, KeyHolder, Principal, Right, Role
from tenants.selectors import active_memberships

# The job that carries out approved erasures.
ERASE = "memories.erase"

Asked = TypeVar("Asked", ErasureRequest, ExportRequest)
_UNDECIDED = (RequestState.ASKED, RequestState.APPROVED, RequestState.STOPPED)
_STRICTER = (SecondPerson.NEVER, SecondPerson.AUTOMATIC, SecondPerson.ALWAYS)


@dataclass(frozen=True, slots=True)
class StaffRules:
    """The rules in force for erasures and exports of a tenant: the strictest of the last day."""

    second_person: SecondPerson
    erasure_delay: timedelta
    exports_daily: int


def staff_rules(tenant_id: UUID) -> StaffRules:
    """The policy of the tenant, without what was loosened in the last day."""
    policy = policy_of(tenant_id)
    before = [said["before"] or {} for said in _lately(tenant_id, "policy.changed")]
    seconds = [
        SecondPerson(each["second_person"] or SecondPerson.AUTOMATIC) for each in before if "second_person" in each
    ]
    delays = [_hours(each["erasure_delay_hours"]) for each in before if "erasure_delay_hours" in each]
    numbers = [_number(each["exports_daily"]) for each in before if "exports_daily" in each]
    return StaffRules(
        max(policy.second_person, *seconds, key=_STRICTER.index) if seconds else policy.second_person,
        max(policy.erasure_delay, *delays) if delays else policy.erasure_delay,
        min(policy.exports_daily, *numbers) if numbers else policy.exports_daily,
    )


def needs_second(tenant_id: UUID, asker: User | None, *, by_key: bool = False) -> bool:
    """Whether another person must approve what `asker`, a backend key or else the system asks for now."""
    wanted = staff_rules(tenant_id).second_person
    if wanted is not SecondPerson.AUTOMATIC:
        return wanted is SecondPerson.ALWAYS
    asked = asker is not None or by_key
    return asked and (_others(tenant_id, asker) or _administrator_left(tenant_id))


def acting_person(
    by: Principal | Actor | KeyHolder, tenant_id: UUID, what: str, *, own: UUID | None = None
) -> tuple[Actor, User | None]:
    """The acting administrator, for the audit log, and the person behind; None for the system and a backend key.

    `own` is the membership whose member may act as well. Raises Forbidden, NotFound(`what`).
    """
    if isinstance(by, Principal) and by.membership_id == own and by.actor_kind in (ActorKind.MEMBER, ActorKind.TOKEN):
        by.require(Right.DECIDE)
        return by.actor, User.objects.get(pk=by.user_id)
    if isinstance(by, KeyHolder):
        if by.tenant_id != tenant_id:
            raise NotFound(what)
        return by.actor, None
    actor = administrator_of(by, tenant_id, what)
    in_person = isinstance(by, Principal) and by.actor_kind is not ActorKind.SYSTEM
    user_id = by.user_id if isinstance(by, Principal) and in_person else actor.id
    return actor, User.objects.filter(pk=user_id).first() if user_id else None


def ask(actor: Actor, request: Asked, *, twice: str) -> Asked:
    """Store a new request; approve it at once unless it needs a second person.

    Raises InvalidInput (`reason`), Conflict(`twice`) if it was asked for already.
    """
    request.reason = asked_reason(request.reason)
    try:
        with transaction.atomic():
            wait_for_tenant(request.tenant_id)  # the policy does not change meanwhile
            by_key = actor.kind is ActorKind.KEY
            request.asked_by_key = actor.id if by_key else None
            request.save(force_insert=True)
            _record(actor, request, "asked", request.reason, {"membership": str(request.membership_id)})
            if not needs_second(request.tenant_id, request.asked_by, by_key=by_key):
                _decide(actor, request.asked_by, request, RequestState.APPROVED)
    except IntegrityError:
        raise Conflict(twice) from None
    return request


def approve(by: Principal | Actor, model: type[Asked], request_id: UUID) -> Asked:
    """Approve a request, as another person than the one who asked.

    Raises NotFound, Forbidden, Conflict (already decided).
    """
    with transaction.atomic():
        actor, decider, request = _locked(by, model, request_id)
        if request.state != RequestState.ASKED:
            raise Conflict(_("This request is decided already."))
        if decider is None or (request.asked_by is not None and _same_person(decider, request.asked_by)):
            raise Forbidden(_("Another person than the one who asked must approve."))
        if not decider.is_superuser and _is_new(decider, request.tenant_id):
            raise Forbidden(_("Who became an administrator less than a day ago does not approve yet."))
        _decide(actor, decider, request, RequestState.APPROVED)
        return request


def refuse(by: Principal | Actor, model: type[Asked], request_id: UUID, reason: str = "") -> Asked:
    """Withdraw a request that has not begun; its author may do so too. Raises NotFound, Forbidden, Conflict."""
    reason = asked_reason(reason, required=False)
    with transaction.atomic():
        actor, decider, request = _locked(by, model, request_id, withdraws=True)
        begun = getattr(request, "started_at", None)
        if request.state not in _UNDECIDED or begun is not None:
            raise Conflict(_("This request is carried out, or was decided already."))
        _decide(actor, decider, request, RequestState.REFUSED, reason)
        return request


def _locked(
    by: Principal | Actor, model: type[Asked], request_id: UUID, *, withdraws: bool = False
) -> tuple[Actor, User | None, Asked]:
    """Who acts, and the request, locked. `withdraws`: also members what they asked for. Raises NotFound, Forbidden."""
    rows: QuerySet[Asked] = model._default_manager.select_for_update(no_key=True)
    request = existing(rows.filter(pk=request_id).first(), model.audit_kind)
    asked = withdraws and isinstance(by, Principal) and request.asked_by_id == by.user_id
    own = request.membership_id if asked else None
    actor, person = acting_person(by, request.tenant_id, model.audit_kind, own=own)
    return actor, person, request


def _decide(actor: Actor, decider: User | None, request: Asked, state: RequestState, reason: str = "") -> None:
    now = timezone.now()
    request.state, request.decided_by, request.decided_at = state, decider, now
    after = None
    if state is RequestState.APPROVED:
        by_system = actor.kind is ActorKind.SYSTEM
        after = request.approved(now if by_system else now + staff_rules(request.tenant_id).erasure_delay)
        wake_on_commit(ERASE)
    request.save()
    _record(actor, request, state.value, reason, after)


def _record(actor: Actor, request: Asked, what: str, reason: str, after: dict[str, str] | None) -> None:
    draft = EventDraft(f"{request.audit_kind}.{what}", request.audit_kind, request.pk, reason, after=after)
    record_tenant_event(actor, request.tenant_id, draft)


def _others(tenant_id: UUID, asker: User | None) -> bool:
    """Whether the tenant has an active administrator who is not the person `asker`."""
    admins = active_memberships().filter(tenant_id=tenant_id, role=Role.ADMIN.value)
    return any(asker is None or not _same_person(each.user, asker) for each in admins)


def _same_person(first: User, second: User) -> bool:
    """Whether two accounts are of one person: the same account, or the same e-mail address."""
    return first.pk == second.pk or (first.email != "" and first.email.casefold() == second.email.casefold())


def _is_new(user: User, tenant_id: UUID) -> bool:
    """Whether somebody made the user an administrator here, or let them in again, in the last day."""
    own = Membership.objects.filter(tenant=tenant_id, user=user).values_list("pk", flat=True)
    made = ("member.added", "member.role_changed", "member.activated")
    return _events(tenant_id, *made).filter(target_id__in=list(own)).exists()


def _administrator_left(tenant_id: UUID) -> bool:
    """Whether an administrator was demoted or deactivated in the last day."""
    if any((said["before"] or {}).get("role") == Role.ADMIN for said in _lately(tenant_id, "member.role_changed")):
        return True
    gone = _events(tenant_id, "member.deactivated").values_list("target_id", flat=True)
    return Membership.objects.filter(pk__in=list(gone), role=Role.ADMIN.value, is_active=False).exists()


def _lately(tenant_id: UUID, action: str) -> Iterator[dict[str, Any]]:
    for event in _events(tenant_id, action).select_related("payload").filter(payload__isnull=False):
        yield event.payload.data


def _events(tenant_id: UUID, *actions: str) -> QuerySet[AuditEvent]:
    """The tenant's events of the last day that people caused."""
    since = timezone.now() - SETTLED_AFTER
    found = AuditEvent.objects.filter(tenant_id=tenant_id, action__in=actions, created_at__gt=since)
    return found.filter(chain=tenant_chain(tenant_id)).exclude(actor_kind=ActorKind.SYSTEM.value)


def _hours(hours: int | None) -> timedelta:
    return ERASURE_DELAY if hours is None else timedelta(hours=hours)


def _number(number: int | None) -> int:
    return EXPORTS_DAILY if number is None else number
