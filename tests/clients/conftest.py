"""A running site, its members, and clients for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from memoryhub_client import Client
from tests.migrated import Migrated
from tests.proofs.site import Person, Site

# At least one for each test of a module.
MEMBERS = 30
ALONE, ADMINISTERED = 30, 5
# The entries of batches that a token may store in an hour; the other limits are the usual ones.
ENTRIES = 50


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, _migrated: Migrated | None) -> Iterator[Site]:
    """A running site."""
    site = Site(
        tmp_path_factory.mktemp("site"),
        {"MEMORYHUB_WEBHOOK_NETWORKS": "127.0.0.0/8", "MEMORYHUB_LIMITS": f"token_entries={ENTRIES}"},
    )
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


@dataclass(frozen=True)
class Tenant:
    """The secrets of a tenant: a backend key with all scopes, and a token of each administrator."""

    key: str
    administrators: list[str]


@pytest.fixture(scope="module")
def tenants(site: Site) -> dict[str, Iterator[Tenant]]:
    """Tenants that are `alone`, without administrators, and some that are `administered` by two."""
    made = json.loads(site.run("-m", "tests.clients.tenants", str(ALONE), str(ADMINISTERED)).stdout)
    return {name: iter([Tenant(**each) for each in found]) for name, found in made.items()}


@pytest.fixture
def key(tenants: dict[str, Iterator[Tenant]]) -> str:
    """A backend key of a tenant of its own."""
    return next(tenants["alone"]).key


@pytest.fixture
def tenant(tenants: dict[str, Iterator[Tenant]]) -> Tenant:
    """A tenant of its own, whose administrators decide."""
    return next(tenants["administered"])


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
