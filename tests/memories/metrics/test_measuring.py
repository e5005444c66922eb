"""Measuring: each number is what the rows say, of one tenant at a time, in as many queries for two as for one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.errors import Blocked
from memories.metrics import measuring
from memories.metrics.alerts import MetricReading
from memories.metrics.measuring import HALF, MOST, measure, percentile
from memories.models import Fact, MemoryPolicy, OutboxEntry, RecallTrace, ReviewItem, RunState, Session
from memories.recall.pipeline import recall
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.turns import begin_turn
from tenants.models import AuditEvent, Membership, Tenant
from tenants.principal import Principal
from tests.factories import make_membership
from tests.memories.metrics import situations as made

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 3, 12, 0, tzinfo=UTC)
# Tenants, the trail three times, reviews, recalls twice, turns, runs, staleness, sessions, tasks, outbox, ledger and
# policies.
QUERIES = 24


def of(member: Membership, now: datetime = NOW) -> dict[tuple[str, str], float]:
    """What is measured of the member's tenant."""
    found = measure(now).readings.items()
    return {(each.metric, each.label): value for each, value in found if each.tenant_id == member.tenant_id}


def test_an_idle_tenant_has_no_reading_and_exposes_zeros(membership: Membership) -> None:
    measured = measure(NOW)
    assert measured.readings == {}
    complete = measured.complete()
    assert complete[MetricReading("writes_per_minute", membership.tenant_id)] == 0.0
    assert MetricReading("read_hit_ratio", membership.tenant_id) not in complete


def test_writes_are_counted_by_minute_and_what_was_known_by_hour(membership: Membership) -> None:
    made.happened(membership, NOW - timedelta(minutes=4), "episode.created", 10)
    made.happened(membership, NOW - timedelta(minutes=6), "fact.created", 3)
    made.happened(membership, NOW - timedelta(minutes=1), "fact.merged")
    made.happened(membership, NOW - timedelta(minutes=61), "fact.merged", 9)
    found = of(membership)
    assert found["writes_per_minute", ""] == 11 / 5
    assert (found["remembered_per_hour", ""], found["dedup_ratio", ""]) == (4, 0.25)


def test_what_the_services_write_is_what_is_counted(principal: Principal, admin_principal: Principal) -> None:
    for _ in range(2):
        remember_fact(principal, text="Keeps bees")
        remember_playbook(principal, title="Feed the bees", steps=["Mix sugar and water"])
    begin_turn(principal, text="Hello")
    remember_catalog_entry(admin_principal, title="Opening hours", text="Open from nine to five")
    counted = AuditEvent.objects.filter(action__in=measuring.WRITTEN).count()
    member = Membership.objects.get(pk=principal.membership_id)
    moment = AuditEvent.objects.latest("created_at").created_at
    found = of(member, moment)
    assert (found["remembered_per_hour", ""], found["dedup_ratio", ""]) == (4, 0.5)
    assert found["writes_per_minute", ""] == counted / 5 == 6 / 5


def test_contradictions_are_what_was_replaced_and_what_a_person_was_asked(membership: Membership) -> None:
    made.happened(membership, NOW - timedelta(hours=23), "fact.superseded", 2)
    made.happened(membership, NOW - timedelta(hours=25), "fact.superseded", 4)
    made.known(membership, None, 2)
    first, second = Fact.objects.all()
    about = {"tenant": membership.tenant, "user": membership.user, "first": first, "created_at": NOW, "reason": "x"}
    ReviewItem.objects.create(kind="contradiction", second=second, **about)
    ReviewItem.objects.create(kind="eviction", **about)
    assert of(membership)["contradictions_per_day", ""] == 3


def test_blocked_values_are_those_of_kinds_that_are_never_stored(membership: Membership) -> None:
    masked = '{"after":{"kinds":["%s"]},"before":null,"reason":""}'
    made.happened(membership, NOW, "memory.blocked", 2)
    made.happened(membership, NOW, "memory.masked", 3, masked % "payment_card")
    made.happened(membership, NOW, "memory.masked", 4, masked % "phone")
    found = of(membership)
    assert (found["blocked_sensitive_per_day", ""], found["masked_sensitive_per_day", ""]) == (5, 7)


def test_a_card_that_is_said_or_written_is_counted_as_kept_out(principal: Principal) -> None:
    card = " ".join(["4242"] * 4)
    begin_turn(principal, text=f"My card is {card}, keep it safe")
    with pytest.raises(Blocked):
        remember_fact(principal, text=f"Pays with {card}")
    found = of(Membership.objects.get(pk=principal.membership_id), datetime.now(UTC))
    assert (found["blocked_sensitive_per_day", ""], found["masked_sensitive_per_day", ""]) == (2, 1)


def test_recalls_that_brought_nothing_are_no_hits(principal: Principal) -> None:
    remember_fact(principal, text="Keeps bees")
    recall(principal, "Who keeps bees?")
    recall(principal, "Who keeps bees?", limit=1, threshold=100.0)
    member = Membership.objects.get(pk=principal.membership_id)
    found = of(member, datetime.now(UTC))
    assert (found["recalls_per_hour", ""], found["read_hit_ratio", ""]) == (2, 0.5)
    stages = {"query", "candidates", "loaded", "scored", "selected", "total"}
    assert {label for name, label in found if name == "recall_p95_seconds"} == stages


@pytest.mark.parametrize(("count", "half", "most"), [(1, 1, 1), (2, 1, 2), (3, 2, 3), (20, 10, 19), (21, 11, 20)])
def test_the_database_ranks_as_python_does(membership: Membership, count: int, half: int, most: int) -> None:
    for place in range(1, count + 1):
        made.known(membership, place / 100)
        made.recalled(membership, NOW, took_ms=float(place * 10))
    ordered = [place / 100 for place in range(1, count + 1)]
    found = of(membership)
    assert found["staleness_p50", ""] == percentile(ordered, HALF) == half / 100
    assert found["staleness_p95", ""] == percentile(ordered, MOST) == most / 100
    assert found["recall_p50_seconds", "total"] == pytest.approx(half / 100)


def test_only_current_facts_that_were_scanned_have_a_staleness(membership: Membership) -> None:
    made.known(membership, 0.3)
    made.known(membership, None, 2)
    made.known(membership, 0.9)
    Fact.objects.filter(staleness=0.9).update(status="superseded", superseded_at=NOW)
    found = of(membership)
    assert (found["staleness_p95", ""], found["scored_facts", ""]) == (0.3, 1)


def test_open_scopes_are_those_of_the_busiest_member(membership: Membership) -> None:
    other = make_membership(membership.tenant)
    later = NOW + timedelta(hours=1)
    made.opened(other, later, 2)
    made.opened(membership, later, 2)
    for task in ("move", "move", "garden"):
        made.known(membership, None, task=task)
    made.opened(membership, NOW - timedelta(hours=1))  # over
    made.opened(membership, None)  # imported
    ended = made.opened(membership, later)[0]
    Session.objects.filter(pk=ended.pk).update(ended_at=NOW)
    assert of(membership)["open_scopes_per_user", ""] == 4


def test_episodes_are_overdue_beyond_what_the_policy_allows(membership: Membership, settings: Any) -> None:
    settings.MEMORYHUB_CONSOLIDATE = "batch"
    made.unread(membership, NOW - timedelta(hours=25), 7)
    found = of(membership)
    assert (found["consolidation_waiting_episodes", ""], found["consolidation_lag_seconds", ""]) == (7, 25 * 3600)
    assert found["consolidation_overdue_seconds", ""] == 3600
    MemoryPolicy.objects.create(tenant=membership.tenant, consolidate_hours=20)
    assert of(membership)["consolidation_overdue_seconds", ""] == 5 * 3600
    settings.MEMORYHUB_CONSOLIDATE = "off"
    assert ("consolidation_overdue_seconds", "") not in of(membership)


@pytest.mark.parametrize("gone", [Membership, Tenant])
def test_who_is_not_active_is_not_measured(membership: Membership, gone: type[Membership | Tenant]) -> None:
    made.unread(membership, NOW - timedelta(hours=25))
    gone._default_manager.update(is_active=False)
    assert measure(NOW).readings == {}


def test_runs_turns_and_changes_that_wait(membership: Membership) -> None:
    made.consolidated(membership, NOW - timedelta(hours=3), RunState.FAILED, 2)
    made.consolidated(membership, NOW, RunState.DONE, 2)
    made.answered(membership, NOW, 100)
    made.answered(membership, NOW, 300)
    made.not_indexed(membership, NOW - timedelta(seconds=40), 3)
    found = of(membership)
    assert (found["consolidation_failures_per_day", ""], found["consolidation_cost_per_day", ""]) == (2, 1.0)
    assert (found["turns_per_hour", ""], found["memory_tokens_per_turn", ""]) == (2, 200)
    assert (found["index_waiting_entries", ""], found["index_lag_seconds", ""]) == (3, 40)


def test_tokens_of_models_and_recalls_without_them(membership: Membership) -> None:
    made.recalled(membership, NOW, 4)
    for place, trace in enumerate(RecallTrace.objects.all()[:3]):
        trace.parameters = {"model_tokens": 10 * place} | ({"stood_in": "no answer"} if place else {})
        trace.save()
    found = of(membership)
    assert (found["recall_model_tokens_per_hour", ""], found["stood_in_recalls_per_hour", ""]) == (30, 2)


def test_changes_of_global_knowledge_are_of_no_tenant(membership: Membership) -> None:
    made.not_indexed(membership, NOW - timedelta(seconds=40))
    OutboxEntry.objects.update(tenant_id=None, user_id=None)
    assert measure(NOW).readings[MetricReading("index_lag_seconds", None)] == 40
    assert of(membership) == {}


def test_a_number_of_one_tenant_has_nothing_of_another(membership: Membership) -> None:
    other = make_membership()
    for situation in made.SITUATIONS.values():
        situation(other, NOW)
    assert of(other) and of(membership) == {}


def test_more_tenants_take_no_more_queries(membership: Membership, django_assert_num_queries: Any) -> None:
    for member in (membership, *(make_membership() for _ in range(3))):
        for situation in made.SITUATIONS.values():
            situation(member, NOW)
    with django_assert_num_queries(QUERIES):
        measure(NOW)


def test_recalls_beyond_the_bound_are_left_to_the_newest(
    membership: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "MOST_TRACES", 2)
    for minutes, took_ms in ((3, 900.0), (2, 100.0), (1, 100.0)):
        made.recalled(membership, NOW - timedelta(minutes=minutes), took_ms=took_ms)
    assert of(membership)["recall_p95_seconds", "total"] == 0.1
