"""Fixtures that every folder shares: members of tenants, principals, an index folder of one's own.

Invariant: each test has its own rows and its own index folder; nothing outlives a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker, Settings

from tenants.models import Membership, Tenant
from tenants.principal import Principal
from tests.audit import audit_unguarded
from tests.factories import MakeMember, make_membership, make_tenant, own_principal


@pytest.fixture
def tenant(db: None) -> Tenant:
    """An organisation."""
    return make_tenant()


@pytest.fixture
def make_member(db: None) -> MakeMember:
    """`make_member(tenant=None, role="member", name="")` makes a membership of a new user."""
    return make_membership


@pytest.fixture
def membership(tenant: Tenant) -> Membership:
    """Ada, a member of `tenant`."""
    return make_membership(tenant, name="Ada")


@pytest.fixture
def principal(membership: Membership) -> Principal:
    """Ada in person."""
    return own_principal(membership)


@pytest.fixture
def other_member(tenant: Tenant) -> Principal:
    """Bob, another member of the same tenant."""
    return own_principal(make_membership(tenant, name="Bob"))


@pytest.fixture
def other_tenant_member(db: None) -> Principal:
    """Eve, a member of another tenant."""
    return own_principal(make_membership(name="Eve"))


@pytest.fixture
def admin_principal(tenant: Tenant) -> Principal:
    """Alice, an administrator of `tenant`."""
    return own_principal(make_membership(tenant, role="admin", name="Alice"))


@pytest.fixture(autouse=True)
def index_dir(tmp_path: Path, settings: Settings) -> Path:
    """The folder of the embedded search plane, of this test alone."""
    folder = tmp_path / "index"
    settings.MEMORYHUB_INDEX_DIR = folder
    return folder


@pytest.fixture(scope="session", autouse=True)
def _flush_past_the_audit_triggers(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A transactional test ends by emptying all tables, which the audit trail refuses; its triggers step aside."""
    flush = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # the stubs leave hooks out

    def unguarded_flush(case: TransactionTestCase) -> None:
        with django_db_blocker.unblock(), audit_unguarded():
            flush(case)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", unguarded_flush)
        yield
