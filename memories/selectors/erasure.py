"""Erasure requests (which exist, which are due), whether a member is erased, and legal holds on an owner."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from memories.errors import Conflict
from memories.models import OPEN_ERASURES, ErasureRequest, ErasureState, LegalHold
from memories.types import Owner
from memoryhub.db.compiled_query import Prepared
from tenants.models import Membership

# Said wherever somebody asks to erase: it tells that there is a hold, and nothing of why.
SENTENCE = "A legal hold is in force: nothing can be erased until it is released."


def holds_on(owner: Owner) -> QuerySet[LegalHold]:
    """The holds in force that keep what this owner has. What all tenants share is never held."""
    in_force = LegalHold.objects.filter(tenant=owner.tenant_id, released_at=None)
    if owner.tenant_id is None:
        return in_force.none()
    return in_force.filter(Q(user=None) | Q(user=owner.user_id)) if owner.user_id else in_force.filter(user=None)


def on_hold(owner: Owner) -> bool:
    """True if a legal hold keeps what this owner has. The answer is reliable only under the owner's lock."""
    return owner.tenant_id is not None and _HOLDS.any(owner.tenant_id, owner.user_id)


def _holds(tenant_id: UUID, user_id: UUID | None) -> QuerySet[LegalHold, Any]:
    return holds_on(Owner(tenant_id, user_id)).order_by().values_list("pk")[:1]


_HOLDS = Prepared(_holds)


def require_no_hold(owner: Owner) -> None:
    """Raise Conflict if a hold keeps what this owner has; the caller holds the owner's lock."""
    if on_hold(owner):
        raise Conflict(SENTENCE)


# From its first stage on a member is not to come back, nor anything of theirs.
BEGUN = (ErasureState.RUNNING, ErasureState.STOPPED, ErasureState.DONE)


def open_request(membership_id: UUID) -> ErasureRequest | None:
    """The request about this member that is not over, if there is one."""
    return ErasureRequest.objects.filter(membership=membership_id, state__in=OPEN_ERASURES).first()


def all_requests() -> QuerySet[ErasureRequest]:
    """Every request of every tenant, the latest first: for operators."""
    return ErasureRequest.objects.order_by("-asked_at", "pk")


def request_by_id(request_id: UUID) -> ErasureRequest | None:
    """The request of this id, of whatever tenant: for operators."""
    return ErasureRequest.objects.filter(pk=request_id).first()


def latest_request(membership_id: UUID) -> ErasureRequest | None:
    """The last request about this member, over or not."""
    return ErasureRequest.objects.filter(membership=membership_id).order_by("-asked_at").first()


def is_erased(membership_id: UUID) -> bool:
    """True if an erasure of this member has begun or is done: nothing of theirs may be written any more."""
    begun = ErasureRequest.objects.filter(membership=membership_id, started_at__isnull=False)
    return begun.filter(state__in=BEGUN).exists()


def why_not_active(membership: Membership) -> str:
    """Why a member is not activated again, in a sentence; empty if nothing speaks against it."""
    return "What was kept of this member is erased; they cannot come back." if is_erased(membership.pk) else ""


def due_requests(now: datetime | None = None) -> list[ErasureRequest]:
    """Requests that a worker may go on with: approved, left by another worker, or stopped by a hold that is over."""
    now = now or timezone.now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    states = (ErasureState.APPROVED, ErasureState.RUNNING, ErasureState.STOPPED)
    found = ErasureRequest.objects.filter(free, state__in=states).select_related("membership").order_by("asked_at")
    return [each for each in found if each.state != ErasureState.STOPPED or not on_hold(owner_of(each.membership))]


def owner_of(membership: Membership) -> Owner:
    """Whose memory it is."""
    return Owner(membership.tenant_id, membership.user_id)
