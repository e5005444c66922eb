"""The benchmark of the collection measures what it says: all facts of a year, once, in few statements."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone

from benchmarks.collecting import floor, measured, spread_over_a_year
from benchmarks.texts import Writer
from memories.models import Fact
from memories.services.retention.collection import collect
from memories.types import Status
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

COUNT = 600


def test_a_year_of_facts_is_collected_once_in_few_statements(principal: Principal, tmp_path: Path) -> None:
    now = timezone.now()
    spread_over_a_year(principal, Writer(1), COUNT, until=now)
    dry, real, again = (
        measured(name, lambda apply=apply: len(collect(apply=apply, now=now).decisions))  # type: ignore[misc]  # a default
        for name, apply in (("dry", False), ("real", True), ("again", True))
    )
    assert (dry.decisions, real.decisions, again.decisions) == (COUNT, COUNT, 0)
    assert not Fact.objects.exclude(status=Status.EVICTED).exists()
    # About twenty-five for each batch of 250, one of them for holds, and a few to find them; PostgreSQL asks for a lock
    # by statements, too.
    assert (dry.statements <= 16, real.statements <= 95, again.statements <= 5) == (True, True, True)
    assert floor(tmp_path, 10) > 0
