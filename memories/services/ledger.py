"""The ledger of an owner's episodes: which ordinals are given out. The consolidation moves its watermark.

Invariant: ordinals are given out under the owner's lock, each once, in the order of the commits.
"""

from __future__ import annotations

import threading
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from memories.models import EpisodeLedger
from memoryhub.statements import Prepared
from tenants.principal import Principal

# Set when the consolidator of this process has something to do at once.
waiting = threading.Event()


def turn_ended() -> None:
    """A turn has its answer; inside the transaction that stores it. In the mode `turn` it is consolidated next."""
    if settings.MEMORYHUB_CONSOLIDATE == "turn":
        transaction.on_commit(waiting.set)


def ledger_of(principal: Principal) -> EpisodeLedger:
    """The owner's row, made if there is none; the caller holds the owner's lock."""
    found = _LEDGER.first(principal.tenant_id, principal.user_id)
    return found or EpisodeLedger.objects.create(tenant_id=principal.tenant_id, user_id=principal.user_id)


def _ledger(tenant_id: UUID, user_id: UUID) -> QuerySet[EpisodeLedger]:
    return EpisodeLedger.objects.filter(tenant_id=tenant_id, user_id=user_id).order_by()


_LEDGER = Prepared(_ledger)


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
