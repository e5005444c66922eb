"""The scan: what becomes stale and fresh again, what is proposed, what is left alone; and nobody else's memories."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from memories.models import (
    Fact,
    HygieneRun,
    MemoryPolicy,
    OutboxEntry,
    Playbook,
    ReviewDecision,
    ReviewItem,
    ReviewKind,
)
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import record_outcome, remember_playbook
from memories.services.retention.collection import collect
from memories.services.retention.hygiene_run import Scanned, hygiene_scan
from memories.services.reviews.queue import withdraw
from memories.services.sessions.turns import begin_turn
from memories.services.write import write
from memories.types import Scope
from tenants.audit.verification import verify_all
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.services.conftest import mention
from tests.memories.services.hygiene.lives import NOW, ago, asked, contradict, fact, live

pytestmark = pytest.mark.django_db


def scan(*, apply: bool = True, tenant_id: UUID | None = None, days: float = 0) -> Scanned:
    return hygiene_scan(apply=apply, tenant_id=tenant_id, now=NOW + timedelta(days=days))


def stored(memory_id: UUID) -> tuple[str, float | None]:
    row = Fact.objects.get(pk=memory_id)
    return row.status, row.staleness


@pytest.mark.english
def test_each_memory_as_it_stands(principal: Principal) -> None:
    lives = live(principal)
    counts = scan().counts
    assert {name: stored(pk) for name, pk in lives.items()} == {
        "new": ("active", 0.0),
        "old": ("active", 0.7),
        "doubtful": ("stale", 0.4),
        "contradicted": ("stale", 1.0),
        "contradicting": ("active", 0.32),
        "junk": ("active", 0.03),
    }
    proposed = ReviewItem.objects.filter(kind=ReviewKind.EVICTION)
    assert {item.first_id: item.evidence for item in proposed} == {
        lives["contradicted"]: {"staleness": 1.0},
        lives["junk"]: {"found": "assistant_words"},
    }
    assert all(item.user_id == principal.user_id and "help" not in item.reason for item in proposed)
    wanted = {"owners": 1, "facts": 6, "stale": 1, "proposed": 2, "junk": 1}
    assert {name: count for name, count in counts.items() if count} == wanted


def test_a_status_that_changes_is_told_to_the_audit_and_the_search_plane(principal: Principal) -> None:
    lives = live(principal)
    OutboxEntry.objects.all().delete()
    version = Fact.objects.get(pk=lives["contradicted"]).version
    scan()
    event = AuditEvent.objects.get(action="fact.stale")
    assert (event.target_id, event.actor_kind) == (lives["contradicted"], "system")
    assert [(each.memory_id, each.version) for each in OutboxEntry.objects.all()] == [(event.target_id, version + 1)]
    assert all(chain.ok for chain in verify_all())


@pytest.mark.english
def test_a_dry_scan_counts_the_same_and_neither_it_nor_a_second_one_writes_anything(principal: Principal) -> None:
    live(principal)
    before = left()
    dry = scan(apply=False)
    assert (left(), HygieneRun.objects.count()) == (before, 0)
    assert dry.counts == scan().counts
    after = left()
    again = scan()
    assert left() == after != before
    assert not any(again.counts[name] for name in ("stale", "fresh", "proposed"))


def left() -> list[object]:
    """The facts, and how many events and questions there are."""
    return [*Fact.objects.order_by("pk").values(), AuditEvent.objects.count(), ReviewItem.objects.count()]


def test_a_contradiction_that_is_settled_makes_fresh_again(principal: Principal) -> None:
    lives = live(principal)
    scan()
    with write(principal) as w:
        withdraw(w, [lives["contradicted"]], kind=ReviewKind.CONTRADICTION)
    assert scan(days=1).counts["fresh"] == 1
    assert stored(lives["contradicted"]) == ("active", 0.7)
    proposal = ReviewItem.objects.get(first=lives["contradicted"], kind=ReviewKind.EVICTION)
    assert proposal.decision == ReviewDecision.WITHDRAWN
    assert AuditEvent.objects.filter(action="fact.fresh", target_id=lives["contradicted"]).count() == 1


def test_the_collection_and_the_scan_never_undo_each_other(principal: Principal) -> None:
    lives = live(principal)
    Fact.objects.filter(pk=lives["doubtful"]).update(status="active")
    for days in (0, 0.1, 0.2):
        collect(apply=True, now=NOW + timedelta(days=days))
        scan(days=days)
    for name in ("doubtful", "contradicted"):
        assert stored(lives[name])[0] == "stale"
        assert AuditEvent.objects.filter(target_id=lives[name], action__in=("fact.stale", "fact.fresh")).count() == 1


def test_what_was_used_lately_is_fresher(principal: Principal) -> None:
    asked(principal)
    twice, once, never = (fact(principal, text) for text in ("Sails", "Skis", "Swims"))
    Fact.objects.filter(pk=once).update(last_used_at=ago(3))
    for number in range(2):
        mention(principal, begin_turn(principal, text=f"Turn {number}"), twice)
    scan()
    assert [stored(pk)[1] for pk in (twice, once, never)] == [0.4, 0.55, 0.7]


def test_a_how_to_does_not_age_and_is_used_by_trying_it(principal: Principal) -> None:
    asked(principal)
    tried, left = (
        remember_playbook(principal, title=title, steps=["Go"], learned_at=ago(400)).memory_id
        for title in ("Mend it", "Bake it")
    )
    record_outcome(principal, playbook_id=tried, success=False)
    scan()
    assert dict(Playbook.objects.values_list("pk", "staleness")) == {tried: 0.15, left: 0.3}


def test_what_was_stored_before_there_were_rules_is_proposed_to_go(principal: Principal) -> None:
    card = fact(principal, "Pays by card", 3)
    Fact.objects.update(text=f"Pays with {' '.join(['4242'] * 4)}")
    bare = fact(principal, "bluewhale77", 3, key="wifi_password")
    fact(principal, "bluewhale78", 3, key="username")
    book = remember_playbook(principal, title="Password of the router", text="Is on the fridge").memory_id
    Playbook.objects.update(text="bluewhale79")
    assert scan().counts["sensitive"] == 3
    items = ReviewItem.objects.all()
    found = {item.first_id or item.playbook_id: item.evidence["found"] for item in items}
    assert found == {card: "payment_card", bare: "secret", book: "secret"}
    assert items.get(first=card).reason == "It holds what is not stored: payment card."


def test_words_are_read_once_unless_the_policy_changed(principal: Principal) -> None:
    fact(principal, "Pays by card", 3)
    scan()
    Fact.objects.update(text=f"Pays with {' '.join(['4242'] * 4)}", updated_at=ago(30))
    assert scan(days=0.1).counts["sensitive"] == 0
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id)
    MemoryPolicy.objects.update(updated_at=NOW + timedelta(days=0.15))
    assert scan(days=0.2).counts["sensitive"] == 1


def test_what_somebody_kept_is_not_asked_about_again(principal: Principal) -> None:
    lives = live(principal)
    scan()
    ReviewItem.objects.filter(kind=ReviewKind.EVICTION).update(decision=ReviewDecision.KEEP, decided_at=timezone.now())
    assert scan(days=1).counts["proposed"] == 0
    stale = ReviewItem.objects.filter(first=lives["contradicted"], kind=ReviewKind.EVICTION)
    stale.update(decided_at=timezone.now() - timedelta(days=91))
    assert scan(days=2).counts["proposed"] == 1


@pytest.mark.english
def test_what_a_tenant_shares_is_proposed_to_its_administrators(admin_principal: Principal) -> None:
    remember_fact(admin_principal, text="You are a helpful assistant", scope=Scope.TENANT)
    assert scan(apply=False).counts["proposed"] == 1
    scan()
    item = ReviewItem.objects.get()
    assert (item.tenant_id, item.user_id) == (admin_principal.tenant_id, None)
    assert all(chain.ok for chain in verify_all())


def test_a_scan_of_one_tenant_touches_no_other(principal: Principal, other_tenant_member: Principal) -> None:
    theirs = live(other_tenant_member)
    mine = live(principal)
    rows = list(Fact.objects.filter(pk__in=theirs.values()).order_by("pk").values())
    assert scan(tenant_id=principal.tenant_id).counts["owners"] == 1
    assert list(Fact.objects.filter(pk__in=theirs.values()).order_by("pk").values()) == rows
    assert not ReviewItem.objects.of(other_tenant_member).filter(kind=ReviewKind.EVICTION).exists()
    assert stored(mine["contradicted"])[0] == "stale"


def test_a_question_about_one_member_bears_on_no_other(principal: Principal, other_member: Principal) -> None:
    asked(principal)
    asked(other_member)
    mine, theirs = (fact(each, "Sings in a choir") for each in (principal, other_member))
    contradict(principal, mine, fact(principal, "Has a quiet house"))
    scan()
    assert (stored(mine)[0], stored(theirs)) == ("stale", ("active", 0.7))


@pytest.fixture
def at_odds(principal: Principal) -> dict[str, UUID]:
    """Facts stored past the gates of a write: two that deny each other, and one that is much less sure than another."""
    asked(principal)
    return {
        "meat": fact(principal, "Eats meat", 500),
        "none": fact(principal, "Is a vegetarian", 400),
        "boat": fact(principal, "Owns a boat", 400),
        "no boat": fact(principal, "Does not own a boat", 3, confidence=0.5),
    }


@pytest.mark.english
def test_contradictions_are_found_and_bear_on_staleness_at_once(principal: Principal, at_odds: dict[str, UUID]) -> None:
    counts = scan().counts
    assert [counts[name] for name in ("contradictions", "resolved", "opened", "stale", "facts")] == [2, 1, 1, 2, 3]
    item = ReviewItem.objects.get(kind=ReviewKind.CONTRADICTION)
    assert {item.first_id, item.second_id} == {at_odds["meat"], at_odds["none"]}
    assert {name: stored(pk) for name, pk in at_odds.items()} == {
        "meat": ("stale", 1.0),
        "none": ("stale", 1.0),
        "boat": ("active", 0.7),
        "no boat": ("superseded", None),
    }
    again = scan(days=0.01).counts
    assert not any(again[name] for name in ("contradictions", "resolved", "opened", "stale", "fresh", "proposed"))


def test_a_dry_scan_foresees_what_contradictions_bear_on(principal: Principal, at_odds: dict[str, UUID]) -> None:
    dry = scan(apply=False)
    assert not ReviewItem.objects.exists() and stored(at_odds["no boat"]) == ("active", None)
    assert dry.counts == scan().counts
