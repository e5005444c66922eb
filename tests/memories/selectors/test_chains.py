"""verify_chains finds each way in which rows and audit can disagree."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from memories.models import Fact
from memories.selectors.chains import verify_chains
from memories.services.facts import remember_fact
from memories.services.supersede import supersede
from memories.types import Status
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


@pytest.fixture
def chain(principal: Principal) -> tuple[UUID, UUID, UUID]:
    """Three states of one fact."""
    first = remember_fact(principal, text="A").memory_id
    second = supersede(principal, old_ids=[first], text="B").memory_id
    return first, second, supersede(principal, old_ids=[second], text="C").memory_id


def test_a_sound_chain_passes(chain: tuple[UUID, UUID, UUID]) -> None:
    report = verify_chains()
    assert (report.ok, report.rows, report.links) == (True, 3, 2)


Damage = Callable[[UUID, UUID, UUID], object]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        pytest.param(
            lambda a, b, c: Fact.objects.filter(pk=c).update(
                status=Status.SUPERSEDED, superseded_at=timezone.now(), superseded_by=a
            ),
            "is part of a cycle",
            id="cycle",
        ),
        pytest.param(
            lambda a, b, c: Fact.objects.filter(pk=c).update(status=Status.SUPERSEDED, superseded_at=timezone.now()),
            "was superseded without an audit event",
            id="no event",
        ),
        pytest.param(
            lambda a, b, c: Fact.objects.filter(pk=a).update(learned_at=timezone.now() + timedelta(days=1)),
            "ended before it began",
            id="backwards",
        ),
        pytest.param(
            lambda a, b, c: Fact.objects.filter(pk=b).update(learned_at=timezone.now() + timedelta(days=1)),
            "ended before its successor was learned",
            id="gap",
        ),
        pytest.param(
            lambda a, b, c: Fact.objects.filter(pk=b).update(scope="task", task="kitchen"),
            "has a successor of another owner or scope",
            id="scope",
        ),
    ],
)
def test_damage_is_named(chain: tuple[UUID, UUID, UUID], damage: Damage, problem: str) -> None:
    damage(*chain)
    assert problem in {fault.problem for fault in verify_chains().faults}
