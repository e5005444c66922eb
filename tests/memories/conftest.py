"""Shared fixtures: a contradiction to decide, and a check of all chains after a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memories.models import Fact, ReviewItem
from memories.selectors.history.chains import verify_chains
from tenants.audit.verification import verify_all
from tenants.principal import Principal
from tests.memories.services.reviewing import asked, two_widths


@pytest.fixture
def everything_is_whole(db: None) -> Iterator[None]:
    """After the test, all supersession and audit chains must verify."""
    yield
    assert verify_chains().faults == ()
    assert all(report.ok for report in verify_all())


@pytest.fixture(params=["other_member", "other_tenant_member"])
def stranger(request: pytest.FixtureRequest) -> Principal:
    """Somebody else: another member of the same tenant, and one of another tenant."""
    who: Principal = request.getfixturevalue(request.param)
    return who


@pytest.fixture
def pair(principal: Principal) -> tuple[Fact, Fact]:
    """Two contradicting facts of Ada's."""
    return two_widths(principal)


@pytest.fixture
def item(principal: Principal, pair: tuple[Fact, Fact]) -> ReviewItem:
    """The review item of the pair."""
    return asked(principal, *pair)
