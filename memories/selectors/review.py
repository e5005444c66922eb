"""Facts that their owner should be asked about: nobody has confirmed them for long."""

from __future__ import annotations

from datetime import datetime

from django.db.models.functions import Coalesce
from django.utils import timezone

from memories.hygiene.expiry import About, wants_review
from memories.models import Fact
from memories.selectors.policies import expiry_rules_of
from tenants.principal import Principal, Right


def facts_to_review(principal: Principal, *, limit: int, now: datetime | None = None) -> list[Fact]:
    """The owner's current facts that want a review, those that were confirmed longest ago first; none that is pinned.

    Being listed changes nothing: what is stable keeps its rank and stays.
    """
    principal.require(Right.READ)
    now = now or timezone.now()
    rules = expiry_rules_of(principal.tenant_id)
    rows = Fact.objects.of(principal).current().unexpired(now).filter(pinned=False)
    confirmed_first = rows.defer("embedding", "token_ids").order_by(Coalesce("last_verified_at", "learned_at"), "pk")
    wanted: list[Fact] = []
    for fact in confirmed_first.iterator(chunk_size=500):
        about = About(fact.category, fact.key, fact.source, fact.scope, fact.text)
        confirmed_at = fact.last_verified_at or fact.learned_at
        if wants_review(about, rules, confirmed_at=confirmed_at, review_after=fact.review_after, now=now):
            wanted.append(fact)
            if len(wanted) == limit:
                break
    return wanted
