"""Staff of Ada's tenant at the pages of its members, each in a browser of their own."""

from __future__ import annotations

from typing import Protocol

import pytest
from django.test import Client

from tenants.models import Membership, Tenant
from tests.memories.staff.looking import page_of, staff_of


class At(Protocol):
    """The address of a page of a member."""

    def __call__(self, name: str, *args: object, of: Membership | None = None) -> str:
        """`of` is Ada unless given."""
        ...


def browser_of(tenant: Tenant, role: str) -> Client:
    """Somebody new who works for `tenant`, signed in."""
    client = Client()
    client.force_login(staff_of(tenant, role))
    return client


@pytest.fixture
def support(tenant: Tenant) -> Client:
    """Somebody who supports Ada's tenant."""
    return browser_of(tenant, "support")


@pytest.fixture
def auditor(tenant: Tenant) -> Client:
    """Somebody who audits Ada's tenant."""
    return browser_of(tenant, "auditor")


@pytest.fixture
def administrator(tenant: Tenant) -> Client:
    """Somebody who administers Ada's tenant."""
    return browser_of(tenant, "admin")


@pytest.fixture
def at(membership: Membership) -> At:
    """`at("inspector")` is the address of a page about Ada."""

    def address(name: str, *args: object, of: Membership | None = None) -> str:
        return page_of(name, of or membership, *args)

    return address
