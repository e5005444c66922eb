"""The ledger of an owner's episodes: which ordinals are given out. The consolidation moves its watermark.

Invariant: ordinals are given out under the owner's lock, each once, in the order of the commits.
"""

from __future__ import annotations

from datetime import datetime

from memories.models import EpisodeLedger
from tenants.principal import Principal


def ledger_of(principal: Principal) -> EpisodeLedger:
    """The owner's row, made if there is none; the caller holds the owner's lock."""
    ledger, _ = EpisodeLedger.objects.get_or_create(tenant_id=principal.tenant_id, user_id=principal.user_id)
    return ledger


def count_episodes(principal: Principal, number: int, *, at: datetime) -> int:
    """Give out the next `number` ordinals to episodes stored `at`; return the last one before them."""
    if not number:
        return 0
    ledger = ledger_of(principal)
    before = ledger.stored
    ledger.stored = before + number
    ledger.waiting_since = ledger.waiting_since or at
    ledger.updated_at = at
    ledger.save(update_fields=["stored", "waiting_since", "updated_at"])
    return before
