"""Reads erasure requests and legal holds, and answers whether a member is erased."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from memories.errors import Conflict, existing
from memories.models import OPEN_ERASURES, ErasureRequest, LegalHold, RequestState
from memories.types import Owner
from memoryhub.db.compiled_query import Prepared
from tenants.models import Membership
from tenants.principal import KeyHolder, Principal

# Shown wherever an erasure is refused; it reveals the hold but not its reason.
SENTENCE = gettext_noop("A legal hold is in force: nothing can be erased until it is released.")


def holds_on(owner: Owner) -> QuerySet[LegalHold]:
    """The holds in force on this owner's memory. Memory that all tenants share is never held."""
    in_force = LegalHold.objects.filter(tenant=owner.tenant_id, released_at=None)
    if owner.tenant_id is None:
        return in_force.none()
    return in_force.filter(Q(user=None) | Q(user=owner.user_id)) if owner.user_id else in_force.filter(user=None)


def on_hold(owner: Owner) -> bool:
    """Whether a legal hold covers this owner. The answer is reliable only under the owner's lock."""
    return owner.tenant_id is not None and _HOLDS.any(owner.tenant_id, owner.user_id)


def _holds(tenant_id: UUID, user_id: UUID | None) -> QuerySet[LegalHold, Any]:
    return holds_on(Owner(tenant_id, user_id)).order_by().values_list("pk")[:1]


_HOLDS = Prepared(_holds)


def require_no_hold(owner: Owner) -> None:
    """Raise Conflict if a legal hold covers this owner; the caller must hold the owner's lock."""
    if on_hold(owner):
        raise Conflict(_(SENTENCE))


# Once an erasure has started, the member must not return and nothing may be written for them.
BEGUN = (RequestState.RUNNING, RequestState.STOPPED, RequestState.DONE)


def open_request(membership_id: UUID) -> ErasureRequest | None:
    """The unfinished erasure request for this member, if there is one."""
    return ErasureRequest.objects.filter(membership=membership_id, state__in=OPEN_ERASURES).first()


def all_requests() -> QuerySet[ErasureRequest]:
    """The requests of all tenants, latest first; for operators."""
    return ErasureRequest.objects.order_by("-asked_at", "pk")


def request_by_id(request_id: UUID) -> ErasureRequest | None:
    """A request of any tenant by its id; for operators."""
    return ErasureRequest.objects.filter(pk=request_id).first()


def erasures_in(tenant_id: UUID) -> QuerySet[ErasureRequest]:
    """The erasures of a tenant, latest first."""
    return all_requests().filter(tenant=tenant_id).select_related("membership")


def erasure_in_tenant(caller: Principal | KeyHolder, request_id: UUID) -> ErasureRequest:
    """An erasure of the caller's tenant. Raises NotFound."""
    return existing(erasures_in(caller.tenant_id).filter(pk=request_id).first(), "erasure")


def holds_in(tenant_id: UUID, *, released: bool) -> QuerySet[LegalHold]:
    """The holds of a tenant that are in force, or were, latest first."""
    return LegalHold.objects.filter(tenant=tenant_id, released_at__isnull=not released)


def hold_in_tenant(caller: Principal | KeyHolder, hold_id: UUID) -> LegalHold:
    """A hold of the caller's tenant. Raises NotFound."""
    return existing(LegalHold.objects.filter(tenant=caller.tenant_id, pk=hold_id).first(), "legal hold")


def latest_request(membership_id: UUID) -> ErasureRequest | None:
    """The latest request for this member, finished or not."""
    return ErasureRequest.objects.filter(membership=membership_id).order_by("-asked_at").first()


def is_erased(membership_id: UUID) -> bool:
    """Whether an erasure of this member has started or is done, so that nothing may be written for them."""
    begun = ErasureRequest.objects.filter(membership=membership_id, started_at__isnull=False)
    return begun.filter(state__in=BEGUN).exists()


def why_not_active(membership: Membership) -> str:
    """The reason why a member cannot be reactivated; empty if they can."""
    return "What was kept of this member is erased; they cannot come back." if is_erased(membership.pk) else ""


def due_requests() -> list[ErasureRequest]:
    """Requests that a worker may process: approved and due, abandoned by a worker, or stopped by a released hold."""
    now = timezone.now()
    free = (Q(leased_until=None) | Q(leased_until__lt=now)) & (Q(begins_at=None) | Q(begins_at__lte=now))
    states = (RequestState.APPROVED, RequestState.RUNNING, RequestState.STOPPED)
    found = ErasureRequest.objects.filter(free, state__in=states).select_related("membership").order_by("asked_at")
    return [each for each in found if each.state != RequestState.STOPPED or not on_hold(owner_of(each.membership))]


def owner_of(membership: Membership) -> Owner:
    """The owner that this member's memory belongs to."""
    return Owner(membership.tenant_id, membership.user_id)
