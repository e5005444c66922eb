"""Legal holds: placed and released by administrators, recorded in the tenant's audit log.

A hold is placed under the lock of every member it covers, so an erasure is over before it or does not
happen: whoever erases asks for holds under the same lock, in the transaction of the erasure.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.errors import Conflict, NotFound
from memories.models import LegalHold
from memories.selectors.erasure import holds_on
from memories.services.admin_requests import administrator_of, asked_reason, person
from memories.services.erasure.requests import ERASE
from memories.types import Owner
from memoryhub.jobs import wake_on_commit
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.locks import wait_for_tenant
from tenants.models import Membership
from tenants.principal import Actor, Principal

AUDIT_KIND = "legal_hold"


def place_hold(by: Principal | Actor, *, tenant_id: UUID, reason: str, membership_id: UUID | None = None) -> LegalHold:
    """From now on nothing of a member, or (without `membership_id`) of the whole tenant, is erased or expires.

    An erasure that runs stops before its next batch. Raises NotFound, Forbidden, InvalidInput (`reason`), Conflict (it
    is held already).
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
        record_tenant_event(actor, tenant_id, EventDraft("hold.placed", AUDIT_KIND, hold.pk, reason, after=after))
        return hold


def release_hold(by: Principal | Actor, *, hold_id: UUID, reason: str = "") -> LegalHold:
    """End a hold; erasures that it stopped go on, and what is overdue expires in time.

    Raises NotFound, Forbidden, Conflict (it was released before).
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
        record_tenant_event(actor, hold.tenant_id, EventDraft("hold.released", AUDIT_KIND, hold.pk, reason))
        wake_on_commit(ERASE)
        return hold


def _locked(tenant_id: UUID, membership_id: UUID | None) -> UUID | None:
    """Take the lock of the member, or of all members and the tenant, in the order in which everybody takes them."""
    members = Membership.objects.select_for_update(of=("self",), no_key=True).filter(tenant=tenant_id)
    if membership_id is not None:
        member = members.filter(pk=membership_id).first()
        if member is None:
            raise NotFound("member")
        return member.user_id
    list(members.order_by("pk").values_list("pk", flat=True))
    wait_for_tenant(tenant_id)
    return None
