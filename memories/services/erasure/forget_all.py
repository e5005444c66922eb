"""Forgets everything of a member who stays: conversations first, then what is left of their memories, then items.

Each conversation, and each batch of memories, goes in a transaction of its own, by the services that forget one. So a
call that is cut off has erased whole conversations and memories, and the next goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from django.db import transaction

from memories.models import CHAINED_MODELS, Episode, Item, RecallTrace, Session
from memories.models.base import MemoryRow
from memories.services.erasure.forget import erase_rows, forget_session
from memories.services.items import erase_items
from memories.services.write import write
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.principal import Principal, Right

# Memories in one transaction, for which other writers of this owner wait.
_BATCH = 50


@dataclass(slots=True)
class AllForgotten:
    """How much a call erased. Unless `complete`, its time was over before it had everything."""

    memories: int = 0
    sessions: int = 0
    complete: bool = False


def forget_all(principal: Principal, *, seconds: float) -> AllForgotten:
    """Erase the owner's conversations and memories for good, for about so long.

    Raises Forbidden (an inactive member), Conflict (a legal hold is in force).
    """
    principal.require(Right.WRITE)
    done, until = AllForgotten(), time.monotonic() + seconds
    for erased, sessions in _batches(principal):
        done.memories += erased
        done.sessions += sessions
        if time.monotonic() > until:
            break
    else:
        done.complete = True
    counts = {"memories": done.memories, "sessions": done.sessions}
    draft = EventDraft("member.memories_erased", "membership", principal.membership_id, after=counts)
    with transaction.atomic():
        record_tenant_event(principal.actor, principal.tenant_id, draft)
    return done


def _batches(principal: Principal) -> Iterator[tuple[int, int]]:
    """Erase a batch; give the numbers of its memories and conversations."""
    sessions = Session.objects.of(principal).order_by("created_at")
    while session := sessions.first():
        yield len(forget_session(principal, session_id=session.pk).erased), 1
    while True:
        with write(principal) as w:
            rows = list(islice(_left(principal), _BATCH))
            if rows:
                erase_rows(w, rows, reason="all forgotten")
            else:
                RecallTrace.objects.of(principal).delete()
        if not rows:
            break
        yield len(rows), 0
    while True:
        with write(principal) as w:
            items = list(Item.objects.of(principal)[:_BATCH])
            if items:
                erase_items(w, items, reason="all forgotten")
        if not items:
            return
        yield len(items), 0


def _left(principal: Principal) -> Iterator[MemoryRow]:
    for model in (Episode, *CHAINED_MODELS.values()):
        yield from model.objects.of(principal)[:_BATCH]
