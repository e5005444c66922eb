"""Sampling: once in five minutes whoever looks, nothing for what is idle, and no more rows than the charts need."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest
from django.db import IntegrityError, connections

from memories.metrics import measuring, sampling
from memories.metrics.alerts import LONGEST_GAP, Holding, MetricReading
from memories.metrics.sampling import (
    ALERT,
    EVERY,
    FINE,
    KEPT,
    MARK,
    course,
    held,
    last_look,
    look_of,
    looks,
    marks,
    sample_metrics,
    thin,
)
from memories.models import ConsolidationRun, MetricSample, RunState
from tenants.models import Membership
from tests.factories import make_membership
from tests.memories.metrics import situations as made

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 3, 12, 2, 30, tzinfo=UTC)
AT = datetime(2026, 3, 3, 12, 0, tzinfo=UTC)
FAILING = "MemoryhubConsolidationFailing"
LAGGING = "MemoryhubIndexLagging"


def test_a_look_is_stored_under_its_five_minutes_and_once(membership: Membership) -> None:
    made.not_indexed(membership, NOW - timedelta(seconds=10))
    assert look_of(NOW) == AT
    assert sample_metrics(NOW)
    rows = set(MetricSample.objects.values_list("tenant", "name", "at", "value"))
    assert rows - {row for row in rows if row[1] == MARK} == {
        (membership.tenant_id, "index_lag_seconds", AT, 10.0),
        (membership.tenant_id, "index_waiting_entries", AT, 1.0),
    }
    assert not sample_metrics(NOW + timedelta(minutes=2))
    assert sample_metrics(NOW + timedelta(minutes=3))
    assert marks().count() == 2


def test_what_is_idle_takes_no_rows(db: None) -> None:
    for _ in range(3):
        make_membership()
    sample_metrics(NOW)
    assert MetricSample.objects.get().name == MARK


@pytest.mark.django_db(transaction=True)
def test_of_two_that_look_at_once_one_stores(membership: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    made.recalled(membership, NOW - timedelta(minutes=1), 3)
    both = threading.Barrier(2, timeout=30)
    measured = measuring.measure

    def together(now: datetime | None = None) -> object:
        found = measured(now)
        both.wait()
        return found

    monkeypatch.setattr(sampling, "measure", together)
    stored: list[bool] = []

    def look() -> None:
        try:
            stored.append(sample_metrics(NOW))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(stored) == [False, True]
    assert marks().count() == MetricSample.objects.filter(name="recalls_per_hour").count() == 1


def test_an_alert_holds_since_the_first_of_looks_in_a_row(membership: Membership) -> None:
    made.consolidated(membership, NOW, RunState.FAILED, 11)
    for place in range(3):
        sample_metrics(NOW + EVERY * place)
    assert held(AT + EVERY * 2) == {Holding(FAILING, membership.tenant_id): AT}
    late = NOW + EVERY * 2 + LONGEST_GAP + EVERY
    sample_metrics(late)
    assert held(look_of(late)) == {Holding(FAILING, membership.tenant_id): look_of(late)}
    ConsolidationRun.objects.all().delete()
    sample_metrics(late + EVERY)
    assert held(look_of(late + EVERY)) == {}


def test_the_last_look_says_what_fires_and_what_is_pending(membership: Membership) -> None:
    made.consolidated(membership, NOW, RunState.FAILED, 11)
    made.not_indexed(membership, NOW - timedelta(minutes=10))
    sample_metrics(NOW)
    found = last_look(None)
    standings = [(each.alert.name, each.fires, each.value) for each in found.standings]
    assert standings == [(FAILING, True, 11.0), (LAGGING, False, 600.0)]
    sample_metrics(NOW + EVERY)
    assert [(each.alert.name, each.fires) for each in last_look(None).standings] == [(FAILING, True), (LAGGING, True)]
    assert found.at == AT and found.readings[MetricReading("index_lag_seconds", membership.tenant_id)] == 600.0


def test_nothing_of_another_tenant_is_read(membership: Membership) -> None:
    other = make_membership()
    for situation in made.SITUATIONS.values():
        situation(other, NOW)
    sample_metrics(NOW)
    span = (AT - EVERY, AT)
    own = last_look([membership.tenant_id])
    assert (own.readings, own.standings) == ({}, ()) and own.at == AT
    assert course([membership.tenant_id], *span) == {}
    theirs = course([other.tenant_id], *span)
    assert {reading.tenant_id for reading in theirs} == {other.tenant_id}
    assert {each.tenant_id for each in last_look([other.tenant_id]).standings} == {other.tenant_id}


def test_old_looks_are_thinned_out_to_one_an_hour_and_dropped(membership: Membership) -> None:
    hours = [AT - FINE - timedelta(hours=2), AT - timedelta(hours=1)]
    times = [hour + EVERY * place for hour in hours for place in range(1, 13)]
    times += [AT - KEPT - EVERY, AT - KEPT + timedelta(hours=3)]
    for name, tenant_id in ((MARK, None), ("writes_per_minute", membership.tenant_id), (f"{ALERT}X", None)):
        MetricSample.objects.bulk_create(MetricSample(tenant_id=tenant_id, name=name, at=at, value=1.0) for at in times)
    assert thin(AT) == 10  # of 12: the last of them begins the next hour
    left = [AT - KEPT + timedelta(hours=3), hours[0] + EVERY, hours[0] + EVERY * 12, *times[12:24]]
    assert looks(AT - KEPT, AT) == left
    for name in ("writes_per_minute", f"{ALERT}X"):
        assert list(MetricSample.objects.filter(name=name).values_list("at", flat=True)) == left
    assert thin(AT) == 0


def test_a_tenant_that_went_meanwhile_leaves_the_look_for_later(
    membership: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.recalled(membership, NOW)
    gone = measuring.measure(NOW)
    monkeypatch.setattr(sampling, "measure", lambda _now: gone)
    monkeypatch.setattr(MetricSample.objects, "bulk_create", Mock(side_effect=IntegrityError("a tenant that is gone")))
    assert not sample_metrics(NOW)
    assert not MetricSample.objects.exists()
