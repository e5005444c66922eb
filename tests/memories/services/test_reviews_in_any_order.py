"""Whatever is asked, decided, undone and changed otherwise, in any order: all stays whole, what is open decidable."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import UUID

import pytest

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact, ReviewDecision, ReviewItem, ReviewKind
from memories.selectors.history.chains import verify_chains
from memories.selectors.reviews import decidable
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire
from memories.services.facts.undo import undo
from memories.services.reviews.decisions import DECISIONS, ReviewChoice, decide, undo_decision
from memories.services.reviews.queue import open_contradiction, open_eviction
from memories.services.write import write
from memories.types import Kind, Scope
from tenants.audit.verification import verify_all
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

STEPS = 110
FACT = Kind.SEMANTIC


class Play:
    """One administrator who does what comes to mind, with facts of their own and of their tenant."""

    def __init__(self, who: Principal, seed: int) -> None:
        self.who, self.chance = who, random.Random(seed)
        self.steps: list[Callable[[], object]] = [
            *[self.say, self.say, self.say, self.ask, self.ask, self.ask, self.ask],
            *[self.answer, self.answer, self.answer, self.take_back, self.take_back],
            lambda: correct(who, kind=FACT, memory_id=self._some().pk, text=self._words()),
            lambda: retire(who, kind=FACT, memory_id=self._some().pk),
            lambda: undo(who, kind=FACT, memory_id=self._some().pk),
            lambda: forget(who, kind=FACT, memory_id=self._some().pk),
        ]

    def say(self) -> object:
        key, scope = self.chance.choice(("", "", "home")), self.chance.choice((Scope.USER, Scope.TENANT))
        return remember_fact(self.who, text=self._words(), key=key, scope=scope)

    def ask(self) -> object:
        first, second = self._some(), self._some()
        with write(self.who, Scope.TENANT) as w:
            if self.chance.random() < 0.3:
                return open_eviction(w, first, reason="Old.", evidence={"staleness": 0.95})
            return open_contradiction(w, first, second, reason="Two.", evidence={})

    def answer(self) -> object:
        chosen = self._item()
        keep: list[UUID | None] = [chosen.first_id, chosen.second_id]
        decision = ReviewChoice(
            self.chance.choice(DECISIONS[ReviewKind(chosen.kind)]),
            keep=self.chance.choice(keep),
            never_true=self.chance.random() < 0.5,
            text=self._words(),
            first_text=self.chance.choice(("", self._words())),
            second_text=self.chance.choice(("", self._words())),
        )
        return decide(self.who, item_id=chosen.pk, answer=decision)

    def take_back(self) -> object:
        return undo_decision(self.who, item_id=self._item().pk)

    def _words(self) -> str:
        return f"Says {self.chance.choice('abcdefgh')} {self.chance.randrange(12)}"

    def _some(self) -> Fact:
        believed = Fact.objects.current() if self.chance.random() < 0.8 else Fact.objects.all()
        return self.chance.choice(list(believed.order_by("created_at", "pk")) or list(Fact.objects.all()))

    def _item(self) -> ReviewItem:
        known = list(ReviewItem.objects.order_by("created_at", "pk"))
        if not known:
            raise NotFound("review")
        return self.chance.choice(known[-6:])


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
def test_reviews_stay_whole(admin_principal: Principal, seed: int) -> None:
    play = Play(admin_principal, seed)
    play.say()
    for _ in range(STEPS):
        step = play.chance.choice(play.steps) if Fact.objects.exists() else play.say
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
