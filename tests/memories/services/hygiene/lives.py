"""Memories of every standing, for scans: made through the models."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from memories.english.wording import likeness
from memories.hygiene.text import content_hash
from memories.models import Fact, RecallTrace, ReviewItem
from memories.services.reviews.queue import open_contradiction
from memories.services.write import write
from tenants.principal import Principal
from tests.memories.retelling import retell

NOW = timezone.now()


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def fact(principal: Principal, text: str, days: float = 400, **columns: Any) -> UUID:
    """A fact learned so many days ago, with these columns, whatever the services would have made of it."""
    words = {"text": text, "content_hash": content_hash(text), "likeness": likeness(text)}
    owner = {"tenant_id": principal.tenant_id, "user_id": principal.user_id}
    id_ = Fact.objects.create(**owner, **words, learned_at=ago(days), **columns).pk
    retell(principal, id_)
    return id_


def asked(principal: Principal) -> None:
    """The owner recalled something lately."""
    RecallTrace.objects.create(tenant_id=principal.tenant_id, user_id=principal.user_id, created_at=ago(1))


def contradict(principal: Principal, first: UUID, second: UUID) -> ReviewItem:
    """An open question which of the two holds."""
    with write(principal) as w:
        one, other = (Fact.objects.get(pk=pk) for pk in (first, second))
        item = open_contradiction(w, one, other, reason="One denies the other.", evidence={})
    assert item is not None
    return item


def live(principal: Principal) -> dict[str, UUID]:
    """A fact of each standing."""
    asked(principal)
    lives = {
        "new": fact(principal, "Keeps bees", 0),
        "old": fact(principal, "Plays the cello"),
        "doubtful": fact(principal, "Owns a boat", 90, confidence=0.2, status="stale"),
        "contradicted": fact(principal, "Sings in a choir", 400),
        "contradicting": fact(principal, "Has a quiet house", 2),
        "junk": fact(principal, "How can I help you today?", 3),
    }
    contradict(principal, lives["contradicted"], lives["contradicting"])
    return lives
