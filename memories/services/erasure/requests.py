"""Erasure requests and legal holds, placed by administrators and recorded in the tenant's audit log.

An erasure that has started cannot be withdrawn; who approves one is decided in `services/approvals.py`. Placing a
hold takes the lock of every member it covers. Each erasing transaction checks for holds under the same lock.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import Conflict, existing
from memories.models import ErasureRequest, LegalHold
from memories.selectors.erasure import holds_on, is_erased, open_request
from memories.services.admin_requests import administrator_of, asked_reason, person
from memories.services.approvals import ERASE, acting_person, approve, ask, refuse
from memories.types import Owner
from memoryhub.jobs import wake_on_commit
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.locks import wait_for_tenant
from tenants.models import Membership
from tenants.principal import Actor, KeyHolder, Principal

AUDIT_KIND = ErasureRequest.audit_kind


def ask_erasure(by: Principal | Actor | KeyHolder, *, membership_id: UUID, reason: str) -> ErasureRequest:
    """Request the erasure of a member, or one's own. It is approved at once unless it needs a second person.

    Raises NotFound, Forbidden, InvalidInput (`reason`), Conflict (already requested or already erased).
    """
    member = existing(Membership.objects.filter(pk=membership_id).first(), "member")
    actor, asker = acting_person(by, member.tenant_id, "member", own=membership_id)
    twice = _("The erasure of this member is asked for already.")
    if open_request(membership_id) is not None:
        raise Conflict(twice)
    if is_erased(membership_id):
        raise Conflict(_("What was kept of this member is erased already."))
    wanted = ErasureRequest(tenant_id=member.tenant_id, membership=member, reason=reason, asked_by=asker)
    return ask(actor, wanted, twice=twice)


def approve_erasure(by: Principal | Actor, *, request_id: UUID) -> ErasureRequest:
    """Approve a request; it begins after the delay of the policy. Raises NotFound, Forbidden, Conflict."""
    return approve(by, ErasureRequest, request_id)


def refuse_erasure(by: Principal | Actor, *, request_id: UUID, reason: str = "") -> ErasureRequest:
    """Withdraw a request that has not begun; its author may do so too. Raises NotFound, Forbidden, Conflict."""
    return refuse(by, ErasureRequest, request_id, reason)


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
            raise Conflict(_("This legal hold is in force already."))
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
    found = existing(LegalHold.objects.filter(pk=hold_id).first(), "legal hold")
    actor = administrator_of(by, found.tenant_id, "legal hold")
    reason = asked_reason(reason, required=False)
    with transaction.atomic():
        wait_for_tenant(found.tenant_id)
        hold = LegalHold.objects.get(pk=hold_id)
        if hold.released_at is not None:
            raise Conflict(_("This hold was released before."))
        hold.released_at, hold.released_by = timezone.now(), person(actor)
        hold.save(update_fields=["released_at", "released_by"])
        record_tenant_event(actor, hold.tenant_id, EventDraft("hold.released", HOLD_AUDIT_KIND, hold.pk, reason))
        wake_on_commit(ERASE)
        return hold


def _locked(tenant_id: UUID, membership_id: UUID | None) -> UUID | None:
    """Lock the member, or all members and then the tenant, in the global lock order. Returns the member's user id."""
    members = Membership.objects.select_for_update(of=("self",), no_key=True).filter(tenant=tenant_id)
    if membership_id is not None:
        member = existing(members.filter(pk=membership_id).first(), "member")
        return member.user_id
    list(members.order_by("pk").values_list("pk", flat=True))
    wait_for_tenant(tenant_id)
    return None
