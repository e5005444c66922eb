"""Staff and browsers for the tests of tenants."""

from __future__ import annotations

import pytest
from django.test import Client

from tenants.models import Membership, Tenant, User
from tests.factories import make_membership


@pytest.fixture
def staff(tenant: Tenant) -> Membership:
    """Alice, an administrator of `tenant` who may enter the admin."""
    return _with_access(make_membership(tenant, role="admin", name="Alice"))


@pytest.fixture
def foreign(db: None) -> Membership:
    """Eve, an administrator of another tenant."""
    return _with_access(make_membership(role="admin", name="Eve"))


@pytest.fixture
def superuser(db: None) -> User:
    """A superuser without a membership."""
    return User.objects.create_superuser("root", password="correct horse battery staple")


@pytest.fixture
def browser(staff: Membership, client: Client) -> Client:
    """Alice's browser, signed in."""
    client.force_login(staff.user)
    return client


@pytest.fixture
def platform_browser(superuser: User, client: Client) -> Client:
    """The superuser's browser, signed in."""
    client.force_login(superuser)
    return client


def _with_access(membership: Membership) -> Membership:
    User.objects.filter(id=membership.user_id).update(is_staff=True)
    return Membership.objects.select_related("user", "tenant").get(id=membership.id)
