"""Checks administrators' requests (who, which tenant, why) and audits staff access to memories.

A read event is committed to the owner's audit log before the page renders; see `tenants/audit/listing.py`.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import InvalidInput, NotFound
from memories.hygiene.sensitivity.detecting import holds_secrets
from memories.hygiene.text import clean_text
from memories.models import ReviewItem
from memories.selectors.looks import LOOKS_AT_MEMORY
from memories.services.policies import administrator
from memories.services.reviews.queue import AUDIT_KIND, subject
from tenants.audit.chain import EventDraft, owner_chain, record_tenant_event
from tenants.audit.listing import EVENT_READ, tell_owner, tell_platform, tell_tenant
from tenants.errors import Forbidden
from tenants.locks import wait_for_owner
from tenants.models import AuditEvent, User
from tenants.principal import Actor, Principal, Right
from tenants.principals import STAFF_ROLES
from tenants.selectors import has_role

REASON_CHARACTERS = 300


def administrator_of(by: Principal | Actor, tenant_id: UUID, what: str) -> Actor:
    """The acting administrator of the tenant, for the audit log.

    Raises Forbidden for other members and staff of the tenant, and NotFound(`what`) for everybody else.
    """
    try:
        return administrator(by, tenant_id)
    except Forbidden:
        if not _belongs(by, tenant_id):
            raise NotFound(what) from None
        raise


def confirm_policy(actor: Actor, *, tenant_id: UUID) -> None:
    """Record that an administrator saw the policy and left it as it is. Raises Forbidden."""
    actor = administrator(actor, tenant_id)
    with transaction.atomic():
        record_tenant_event(actor, tenant_id, EventDraft("policy.confirmed", "tenant", tenant_id))


def asked_reason(reason: str, *, required: bool = True) -> str:
    """The cleaned reason, as stored and shown to auditors. Raises InvalidInput."""
    clean_text(reason, field="reason", limit=REASON_CHARACTERS, required=required)
    if holds_secrets(reason):
        raise InvalidInput("reason", _("holds what is not stored, such as a key or a card number."))
    return " ".join(reason.split())


def person(actor: Actor) -> User | None:
    """The user behind an actor; None for the system and for programs."""
    return User.objects.filter(pk=actor.id).first() if actor.id else None


def _belongs(by: Principal | Actor, tenant_id: UUID) -> bool:
    if isinstance(by, Principal):
        return by.tenant_id == tenant_id
    user = person(by)
    return user is not None and has_role(user, tenant_id, STAFF_ROLES)


# Audit actions of staff access. These events change no memory.
MEMORY_READ = "memory.read"
MEMORY_ASKED = "memory.asked"
READINGS = (*LOOKS_AT_MEMORY, EVENT_READ)
# Automatic refreshes of a page within this time belong to the same read event.
_ONE_LOOK = timedelta(minutes=5)


def note_reading(
    principal: Principal, page: str, *, target_kind: str = "", target_id: UUID | None = None, case: UUID | None = None
) -> None:
    """Record in the member's audit log that staff read `page` (its name, never a text). Raises Forbidden.

    `case`: the case that the page shows.
    """
    principal.require(Right.READ)
    after = {"page": page, "case": str(case)} if case else {"page": page}
    tell_owner(principal, EventDraft(MEMORY_READ, target_kind, target_id, after=after))


def note_refresh(principal: Principal, page: str, *, target_kind: str = "", target_id: UUID | None = None) -> None:
    """Record an automatic refresh of `page`, unless this person's read of it was recorded within `_ONE_LOOK`.

    Several tabs may refresh at once, so the check is repeated under the owner's lock.
    """
    if _has_looked(principal, page, target_id):
        return
    with transaction.atomic():
        wait_for_owner(principal)
        if not _has_looked(principal, page, target_id):
            note_reading(principal, page, target_kind=target_kind, target_id=target_id)


def _has_looked(principal: Principal, page: str, target_id: UUID | None) -> bool:
    looked = AuditEvent.objects.filter(
        chain=owner_chain(principal.tenant_id, principal.user_id),
        actor_id=principal.actor_id,
        action=MEMORY_READ,
        target_id=target_id,
        payload__isnull=False,
        created_at__gt=timezone.now() - _ONE_LOOK,
    )
    return any(event.payload.data["after"] == {"page": page} for event in looked.select_related("payload"))


def note_shared_reading(
    actor: Actor, tenant_id: UUID | None, page: str, *, target_kind: str = "", target_id: UUID | None = None
) -> None:
    """Record in the tenant's audit log that staff read its shared memories; `tenant_id` None means all tenants."""
    draft = EventDraft(MEMORY_READ, target_kind, target_id, after={"page": page})
    if tenant_id is None:
        tell_platform(actor, draft)
    else:
        tell_tenant(actor, tenant_id, draft)


def note_question(principal: Principal, question: str) -> None:
    """Record in the member's audit log that staff ran a recall, with the question's length. Raises Forbidden."""
    principal.require(Right.READ)
    tell_owner(principal, EventDraft(MEMORY_ASKED, after={"characters": len(question)}))


def note_review_read(principal: Principal, item: ReviewItem) -> None:
    """Record in the member's audit log that staff read one of their reviews. Raises Forbidden."""
    principal.require(Right.READ)
    tell_owner(principal, EventDraft("review.read", AUDIT_KIND, item.pk, after=subject(item)))


def note_shared_review_read(actor: Actor, item: ReviewItem) -> None:
    """Record in the tenant's audit log that staff read a review of shared memories."""
    tell_tenant(actor, item.tenant_id, EventDraft("review.read", AUDIT_KIND, item.pk, after=subject(item)))
