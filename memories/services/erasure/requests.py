"""Erasure requests and legal holds, placed by administrators and recorded in the tenant's audit log.

The person who requested an erasure cannot approve it, and an erasure that has started cannot be withdrawn. Placing a
hold takes the lock of every member it covers. Each erasing transaction checks for holds under the same lock.
"""

from __future__ import annotations

from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from memories.errors import Conflict, NotFound
from memories.models import ErasureRequest, ErasureState, LegalHold
from memories.selectors.erasure import holds_on, is_erased, open_request
from memories.selectors.policies import policy_of
from memories.services.admin_requests import administrator_of, asked_reason, person
from memories.types import Owner
from memoryhub.jobs import wake_on_commit
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import Forbidden
from tenants.locks import wait_for_tenant
from tenants.models import Membership
from tenants.principal import Actor, Principal

# The job that carries out approved erasures.
ERASE = "memories.erase"


AUDIT_KIND = "erasure"
_WAITING = (ErasureState.ASKED, ErasureState.APPROVED, ErasureState.STOPPED)


def ask_erasure(by: Principal | Actor, *, membership_id: UUID, reason: str) -> ErasureRequest:
    """Request the erasure of a member. It is approved at once unless the policy requires a second person.

    Raises NotFound, Forbidden, InvalidInput (`reason`), Conflict (already requested or already erased).
    """
    member = Membership.objects.filter(pk=membership_id).first()
    if member is None:
        raise NotFound("member")
    actor = administrator_of(by, member.tenant_id, "member")
    reason = asked_reason(reason)
    if open_request(membership_id) is not None:
        raise Conflict("The erasure of this member is asked for already.")
    if is_erased(membership_id):
        raise Conflict("What was kept of this member is erased already.")
    try:
        with transaction.atomic():
            asked = ErasureRequest.objects.create(
                tenant_id=member.tenant_id, membership=member, reason=reason, asked_by=person(actor)
            )
            _record(actor, asked, "asked", reason, {"membership": str(membership_id)})
            if not policy_of(member.tenant_id).erasure_needs_second:
                _decide(actor, asked, ErasureState.APPROVED)
    except IntegrityError:
        raise Conflict("The erasure of this member is asked for already.") from None
    return asked


def approve_erasure(by: Principal | Actor, *, request_id: UUID) -> ErasureRequest:
    """Approve a request.

    Raises NotFound, Forbidden (also for the person who requested it), Conflict (already decided).
    """
    actor, found = _asked(by, request_id)
    with transaction.atomic():
        locked = ErasureRequest.objects.select_for_update(no_key=True).get(pk=found.pk)
        if locked.state != ErasureState.ASKED:
            raise Conflict("This request is decided already.")
        decider = person(actor)
        if decider is None or decider.pk == locked.asked_by_id:
            raise Forbidden("Another person than the one who asked must approve.")
        _decide(actor, locked, ErasureState.APPROVED)
    return locked


def refuse_erasure(by: Principal | Actor, *, request_id: UUID, reason: str = "") -> ErasureRequest:
    """Withdraw a request that has not started; its author may do so too. Raises NotFound, Forbidden, Conflict."""
    actor, found = _asked(by, request_id)
    reason = asked_reason(reason, required=False)
    with transaction.atomic():
        locked = ErasureRequest.objects.select_for_update(no_key=True).get(pk=found.pk)
        if locked.state not in _WAITING or locked.started_at is not None:
            raise Conflict("This erasure has begun, or was decided already.")
        _decide(actor, locked, ErasureState.REFUSED, reason)
    return locked


def _asked(by: Principal | Actor, request_id: UUID) -> tuple[Actor, ErasureRequest]:
    found = ErasureRequest.objects.filter(pk=request_id).first()
    if found is None:
        raise NotFound("erasure")
    return administrator_of(by, found.tenant_id, "erasure"), found


def _decide(actor: Actor, request: ErasureRequest, state: ErasureState, reason: str = "") -> None:
    request.state = state
    request.decided_by, request.decided_at = person(actor), timezone.now()
    request.save(update_fields=["state", "decided_by", "decided_at"])
    _record(actor, request, state.value, reason)
    wake_on_commit(ERASE)


def _record(
    actor: Actor, request: ErasureRequest, what: str, reason: str = "", after: dict[str, str] | None = None
) -> None:
    draft = EventDraft(f"erasure.{what}", AUDIT_KIND, request.pk, reason, after=after)
    record_tenant_event(actor, request.tenant_id, draft)


HOLD_AUDIT_KIND = "legal_hold"


def place_hold(by: Principal | Actor, *, tenant_id: UUID, reason: str, membership_id: UUID | None = None) -> LegalHold:
    """Stop erasure and expiry for a member or, without `membership_id`, for the whole tenant.

    A running erasure stops before its next batch. Raises NotFound, Forbidden, InvalidInput (`reason`), Conflict (the
    hold is already in force).
    """
    actor = administrator_of(by, tenant_id, "tenant")
    reason = asked_reason(reason)
    with transaction.atomic():
        user_id = _locked(tenant_id, membership_id)
        if holds_on(Owner(tenant_id, user_id)).filter(user=user_id).exists():
            raise Conflict("This legal hold is in force already.")
        hold = LegalHold.objects.create(
            tenant_id=tenant_id, user_id=user_id, reason=reason, placed_by=person(actor), placed_at=timezone.now()
        )
        after = {"membership": membership_id}
        record_tenant_event(actor, tenant_id, EventDraft("hold.placed", HOLD_AUDIT_KIND, hold.pk, reason, after=after))
        return hold


def release_hold(by: Principal | Actor, *, hold_id: UUID, reason: str = "") -> LegalHold:
    """Release a hold. Stopped erasures continue, and overdue memories expire again.

    Raises NotFound, Forbidden, Conflict (already released).
    """
    found = LegalHold.objects.filter(pk=hold_id).first()
    if found is None:
        raise NotFound("legal hold")
    actor = administrator_of(by, found.tenant_id, "legal hold")
    reason = asked_reason(reason, required=False)
    with transaction.atomic():
        wait_for_tenant(found.tenant_id)
        hold = LegalHold.objects.get(pk=hold_id)
        if hold.released_at is not None:
            raise Conflict("This hold was released before.")
        hold.released_at, hold.released_by = timezone.now(), person(actor)
        hold.save(update_fields=["released_at", "released_by"])
        record_tenant_event(actor, hold.tenant_id, EventDraft("hold.released", HOLD_AUDIT_KIND, hold.pk, reason))
        wake_on_commit(ERASE)
        return hold


def _locked(tenant_id: UUID, membership_id: UUID | None) -> UUID | None:
    """Lock the member, or all members and then the tenant, in the global lock order. Returns the member's user id."""
    members = Membership.objects.select_for_update(of=("self",), no_key=True).filter(tenant=tenant_id)
    if membership_id is not None:
        member = members.filter(pk=membership_id).first()
        if member is None:
            raise NotFound("member")
        return member.user_id
    list(members.order_by("pk").values_list("pk", flat=True))
    wait_for_tenant(tenant_id)
    return None
