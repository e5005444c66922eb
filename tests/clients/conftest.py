"""A running site, its members, and clients for them."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from memoryhub_client import Client
from tests.migrated import Migrated
from tests.proofs.site import Person, Site

# At least one for each test of a module.
MEMBERS = 20
SCOPES = ("memory:read", "memory:write", "memory:decide", "chat", "members", "members:erase", "tokens")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, _migrated: Migrated | None) -> Iterator[Site]:
    """A running site."""
    site = Site(tmp_path_factory.mktemp("site"))
    if _migrated is not None:
        _migrated.give(site.database)
    with site:
        site.start()
        yield site


@pytest.fixture(scope="module")
def url(site: Site) -> str:
    """The address of the site."""
    return f"http://127.0.0.1:{site.port}"


@pytest.fixture(scope="module")
def everybody(site: Site) -> Iterator[Person]:
    """Members of the site, two to a tenant."""
    return iter(site.people(MEMBERS))


@pytest.fixture
def person(everybody: Iterator[Person]) -> Person:
    """A member of whom nothing is known yet."""
    return next(everybody)


@pytest.fixture
def key(site: Site) -> str:
    """A backend key of a tenant of its own."""
    tenant = site.manage("tenant", "create", f"tenant-{uuid4().hex[:8]}").strip()
    return site.manage("token", "create", "--tenant", tenant, "--scopes", *SCOPES).strip()


@pytest.fixture
def memory(url: str, person: Person) -> Iterator[Client]:
    """A client of this member."""
    with Client(url, token=person.token) as client:
        yield client


@pytest.fixture
def stranger(url: str, everybody: Iterator[Person]) -> Iterator[Client]:
    """A client of another member."""
    with Client(url, token=next(everybody).token) as client:
        yield client
