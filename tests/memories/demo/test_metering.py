"""The invented metrics of the demo lead up to what is measured."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.demo.metering import meter
from memories.metrics.sampling import last_look, sample_metrics
from memories.models import Fact, MetricSample
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def test_the_staleness_ends_where_the_next_sampling_finds_it(principal: Principal) -> None:
    remember_fact(principal, text="Lives in Hull", learned_at=timezone.now() - timedelta(days=300))
    now = timezone.now()
    meter(now)
    drawn = MetricSample.objects.filter(name="staleness_p50").latest("at")
    assert Fact.objects.of(principal).get().staleness == pytest.approx(drawn.value, abs=0.001)
    assert drawn.value > 0
    assert sample_metrics(now + timedelta(hours=1))
    (measured,) = (value for each, value in last_look(None).readings.items() if each.metric == "staleness_p50")
    assert measured == pytest.approx(drawn.value, abs=0.001)
