"""As whom staff reads and decides reviews: in a member's place by their role, of what a tenant shares as themselves."""

from __future__ import annotations

from django.http import HttpRequest

from memories.models import ReviewItem
from memories.services.admin_requests import note_review_read, note_shared_review_read
from tenants.admin.scoping import acting, signed_in
from tenants.errors import Forbidden, NoMembership
from tenants.middleware import request_id_of
from tenants.models import Membership, User
from tenants.principal import ActorKind, Principal
from tenants.principals import principal_of, reading_principal, staff_principal
from tenants.selectors import active_memberships, administers


def reader(request: HttpRequest, item: ReviewItem) -> Principal | None:
    """Who looks at an item, once the trail tells of it. None: platform staff who belong to no such tenant.

    Raises Forbidden, NoMembership.
    """
    if item.user_id is None:
        note_shared_review_read(acting(request), item)
        own = _membership(item, signed_in(request))
        return None if own is None else _in_person(request, own)
    principal = reading_principal(_owner(item), staff=signed_in(request), request_id=request_id_of(request))
    note_review_read(principal, item)
    return principal


def decider(request: HttpRequest, item: ReviewItem) -> Principal:
    """Who decides an item. Raises Forbidden, NoMembership."""
    if item.user_id is None:
        own = _membership(item, signed_in(request))
        if own is None or not administers(signed_in(request), item.tenant_id):
            raise Forbidden("Only an administrator of the tenant decides about what it shares.")
        return _in_person(request, own)
    return staff_principal(_owner(item), staff=signed_in(request), request_id=request_id_of(request))


def may_decide(user: User, item: ReviewItem) -> bool:
    """Whether `decider` would let them."""
    return administers(user, item.tenant_id) or (user.is_superuser and item.user_id is not None)


def _owner(item: ReviewItem) -> Membership:
    found = active_memberships().filter(tenant=item.tenant_id, user=item.user_id).first()
    if found is None:
        raise NoMembership("This member is not active.")
    return found


def _membership(item: ReviewItem, user: User) -> Membership | None:
    return active_memberships().filter(tenant=item.tenant_id, user=user.id).first()


def _in_person(request: HttpRequest, membership: Membership) -> Principal:
    return principal_of(membership, actor_kind=ActorKind.MEMBER, request_id=request_id_of(request))
