"""Whatever is asked, decided, undone and changed otherwise, in any order: all stays whole, what is open decidable."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import UUID

import pytest

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact, ReviewDecision, ReviewItem, ReviewKind
from memories.selectors.chains import verify_chains
from memories.selectors.reviews import decidable
from memories.services.deciding import DECISIONS, Answer, decide, undo_decision
from memories.services.facts import remember_fact
from memories.services.forget import forget
from memories.services.ownership import owner_lock
from memories.services.reviews import open_contradiction, open_eviction
from memories.services.supersede import correct, retire
from memories.services.undo import undo
from memories.types import Kind, Scope
from tenants.audit_verification import verify_all
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

STEPS = 110
FACT = Kind.SEMANTIC


@pytest.mark.parametrize("seed", [1])
def test_reviews_stay_whole(admin_principal: Principal, seed: int) -> None:
    who, chance = admin_principal, random.Random(seed)

    def words() -> str:
        return f"Says {chance.choice('abcdefgh')} {chance.randrange(12)}"

    def some() -> Fact:
        believed = Fact.objects.current() if chance.random() < 0.8 else Fact.objects.all()
        return chance.choice(list(believed.order_by("created_at", "pk")) or list(Fact.objects.all()))

    def item() -> ReviewItem:
        known = list(ReviewItem.objects.order_by("created_at", "pk"))
        if not known:
            raise NotFound("review")
        return chance.choice(known[-6:])

    def say() -> object:
        return remember_fact(
            who, text=words(), key=chance.choice(("", "", "home")), scope=chance.choice((Scope.USER, Scope.TENANT))
        )

    def ask() -> object:
        first, second = some(), some()
        with owner_lock(who, Scope.TENANT):
            if chance.random() < 0.3:
                return open_eviction(who, first, reason="Old.", evidence={"staleness": 0.95})
            return open_contradiction(who, first, second, reason="Two.", evidence={})

    def answer() -> object:
        chosen = item()
        keep: list[UUID | None] = [chosen.first_id, chosen.second_id]
        decision = Answer(
            chance.choice(DECISIONS[ReviewKind(chosen.kind)]),
            keep=chance.choice(keep),
            never_true=chance.random() < 0.5,
            text=words(),
            first_text=chance.choice(("", words())),
            second_text=chance.choice(("", words())),
        )
        return decide(who, item_id=chosen.pk, answer=decision)

    steps: list[Callable[[], object]] = [
        *[say, say, say, ask, ask, ask, ask, answer, answer, answer],
        *[lambda: undo_decision(who, item_id=item().pk)] * 2,
        lambda: correct(who, kind=FACT, memory_id=some().pk, text=words()),
        lambda: retire(who, kind=FACT, memory_id=some().pk),
        lambda: undo(who, kind=FACT, memory_id=some().pk),
        lambda: forget(who, kind=FACT, memory_id=some().pk),
    ]
    say()
    for _ in range(STEPS):
        step = chance.choice(steps) if Fact.objects.exists() else say
        try:
            step()
        except (Conflict, InvalidInput, NotFound):
            continue
        assert verify_chains().faults == ()
        waiting = ReviewItem.objects.filter(decision=ReviewDecision.OPEN)
        assert set(decidable(waiting)) == set(waiting)
    assert all(report.ok for report in verify_all())
    done = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"review.opened", "review.decided"} <= done
