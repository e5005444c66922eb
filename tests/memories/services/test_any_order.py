"""Whatever is done to memories, in whatever order: chains and audit stay whole, and the past answers as it did."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

import pytest
from django.db.models import Q
from django.utils import timezone

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact
from memories.selectors.history.chains import verify_chains
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import retract, undo
from memories.types import Contradiction, Kind, Scope
from tenants.audit.verification import verify_all
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

STEPS = 120
PLACES = ((Scope.USER, ""), (Scope.TASK, "kitchen"), (Scope.TENANT, ""))
KEYS = ("", "", "home", "job", "pet")
FACT = Kind.SEMANTIC


def believed(at: datetime) -> set[UUID]:
    """The facts that were believed at a time."""
    held = Q(learned_at__lte=at) & (Q(superseded_at=None) | Q(superseded_at__gt=at))
    return set(Fact.objects.filter(held).values_list("pk", flat=True))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_chains_stay_whole_and_the_past_stays_as_it_was(admin_principal: Principal, seed: int) -> None:
    who, chance = admin_principal, random.Random(seed)
    past: list[tuple[datetime, set[UUID]]] = []
    gone: set[UUID] = set()

    def some(count: int = 1) -> list[UUID]:
        ids = list(Fact.objects.order_by("created_at", "pk").values_list("pk", flat=True))
        return chance.sample(ids, min(count, len(ids)))

    def words() -> str:
        return f"Says {chance.choice('abcdefgh')} {chance.randrange(12)}"

    def say() -> object:
        scope, task = chance.choice(PLACES)
        return remember_fact(who, text=words(), key=chance.choice(KEYS), scope=scope, task=task)

    def erase() -> object:
        outcome = forget(who, kind=FACT, memory_id=some()[0])
        gone.update(memory_id for _, memory_id in outcome.erased)
        return outcome

    how = list(Contradiction)
    steps: list[Callable[[], object]] = [
        say,
        say,
        lambda: supersede(who, old_ids=some(chance.randint(1, 3)), text=words(), contradiction=chance.choice(how)),
        lambda: retire(who, kind=FACT, memory_id=some()[0], also_ids=some(), contradiction=chance.choice(how)),
        lambda: correct(who, kind=FACT, memory_id=some()[0], text=words()),
        lambda: undo(who, kind=FACT, memory_id=some()[0]),
        lambda: undo(who, kind=FACT, memory_id=some()[0]),
        lambda: promote(who, kind=FACT, memory_id=some()[0], to=chance.choice((Scope.USER, Scope.TENANT))),
        lambda: retract(who, kind=FACT, memory_ids=some()),
        erase,
    ]
    say()
    for _ in range(STEPS):
        step = chance.choice(steps) if Fact.objects.exists() else say
        try:
            step()
        except (Conflict, InvalidInput, NotFound):
            continue
        assert verify_chains().faults == ()
        now = timezone.now()
        past.append((now, believed(now)))
        at, then = chance.choice(past)
        assert believed(at) == then - gone
    assert all(report.ok for report in verify_all())
    done = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"fact.restored", "fact.promoted", "fact.forgotten"} <= done
