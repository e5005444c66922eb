"""Finding a member by any of their names, within one tenant."""

from __future__ import annotations

import uuid

import pytest

from tenants.errors import NoMembership
from tenants.models import Membership, Tenant
from tenants.selectors import administers, find_membership, memberships_of
from tenants.services import deactivate
from tests.factories import make_membership


@pytest.fixture
def ada(membership: Membership) -> Membership:
    """Ada, with an e-mail address and an external id."""
    membership.user.email = "ada@example.org"
    membership.user.save()
    membership.external_id = "crm-7"
    membership.save()
    return membership


def test_a_member_is_found_by_every_name(ada: Membership) -> None:
    user = ada.user
    for name in (user.username, "crm-7", "ada@example.org", "Ada@Example.ORG", str(user.id), user.id):
        for tenant in (ada.tenant.slug, str(ada.tenant_id), ada.tenant_id):
            assert find_membership(tenant, name) == ada


@pytest.mark.parametrize("name", ["", "nobody", str(uuid.UUID(int=7)), "\0", "\ud800", "ada@example.com"])
def test_whoever_is_not_there_is_not_found(ada: Membership, name: str) -> None:
    with pytest.raises(NoMembership):
        find_membership(ada.tenant.slug, name)


def test_an_address_of_two_members_names_neither(ada: Membership) -> None:
    other = make_membership(ada.tenant)
    other.user.email = "ada@example.org"
    other.user.save()
    with pytest.raises(NoMembership):
        find_membership(ada.tenant.slug, "ada@example.org")


def test_find_membership_isolates_other_tenants(ada: Membership, tenant: Tenant) -> None:
    elsewhere = make_membership()
    with pytest.raises(NoMembership):
        find_membership(elsewhere.tenant.slug, ada.user.username)
    with pytest.raises(NoMembership):
        find_membership(tenant.slug, elsewhere.user.username)


def test_only_where_one_may_act_is_listed(ada: Membership) -> None:
    first, second, third = (Membership.objects.create(tenant=make_membership().tenant, user=ada.user) for _ in range(3))
    deactivate(first)
    deactivate(second.tenant)
    assert set(memberships_of(ada.user)) == {ada, third}
    deactivate(ada.user)
    assert not memberships_of(ada.user).exists()


def test_administering_takes_the_role_in_that_very_tenant(ada: Membership, staff: Membership) -> None:
    assert administers(staff.user, staff.tenant_id)
    assert not administers(ada.user, ada.tenant_id)
    assert not administers(staff.user, make_membership().tenant_id)
