"""Situations that each alert is there for: rows as they are stored when things go that way, and how they end.

Invariant: every alert has one, and it sets off no other.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from memories.models import (
    ConsolidationRun,
    EpisodeLedger,
    ErasureRequest,
    Fact,
    Message,
    MessageRole,
    OutboxEntry,
    RecallTrace,
    RequestState,
    RunState,
    Session,
    WebhookEndpoint,
)
from memories.types import Kind
from memoryhub.limit_store import SLOT, limit_store
from tenants.audit.chain import owner_chain
from tenants.models import AuditEvent, AuditPayload, ChainCheck, Checked, Membership
from tenants.signing_in import FAILED

Make = Callable[[Membership, datetime], object]
_numbers = itertools.count(1)


def owner(member: Membership) -> dict[str, Any]:
    """The columns that say whose a row is."""
    return {"tenant_id": member.tenant_id, "user_id": member.user_id}


def happened(member: Membership, at: datetime, action: str, count: int = 1, document: str = "") -> None:
    """So many events of the member's trail; the digests are nobody's concern here."""
    events = AuditEvent.objects.bulk_create(
        AuditEvent(
            chain=f"owner:{member.pk}", sequence=next(_numbers), tenant_id=member.tenant_id, owner_id=member.user_id,
            actor_kind="agent", action=action, created_at=at,
        )
        for _ in range(count)
    )  # fmt: skip
    if document:
        AuditPayload.objects.bulk_create(AuditPayload(event=event, salt="", document=document) for event in events)


def broken(member: Membership, at: datetime, count: int = 1) -> None:
    """So many members of this tenant whose chain does not verify."""
    for _ in range(count):
        chain = owner_chain(member.tenant_id, uuid.uuid4())
        ChainCheck.objects.create(chain=chain, what=Checked.AUDIT, ok=False, reason="changed", checked_at=at)


def recalled(member: Membership, at: datetime, count: int = 1, *, returned: int = 1, took_ms: float = 20.0) -> None:
    """So many recalls."""
    stages = {"query": {"ms": 1.0}, "candidates": {"ms": took_ms - 5, "count": 9}, "selected": {"ms": 2.0, "count": 1}}
    RecallTrace.objects.bulk_create(
        RecallTrace(**owner(member), stages=stages, returned=returned, took_ms=took_ms, created_at=at)
        for _ in range(count)
    )


def known(member: Membership, staleness: float | None, count: int = 1, task: str = "") -> None:
    """So many facts."""
    columns = owner(member) | {"scope": "task" if task else "user", "task": task or None, "text": "Keeps bees"}
    Fact.objects.bulk_create(Fact(**columns, content_hash=uuid.uuid4().hex, staleness=staleness) for _ in range(count))


def opened(member: Membership, until: datetime | None, count: int = 1) -> list[Session]:
    """So many sessions that go on until then."""
    return Session.objects.bulk_create(Session(**owner(member), expires_at=until) for _ in range(count))


def answered(member: Membership, at: datetime, tokens: int, count: int = 1) -> None:
    """So many turns, whose memories took so many tokens."""
    (session,) = opened(member, None)
    said = owner(member) | {"session": session, "step": 1, "role": MessageRole.ASSISTANT, "created_at": at}
    Message.objects.bulk_create(Message(**said, turn=turn, memory_tokens=tokens) for turn in range(count))


def consolidated(member: Membership, at: datetime, state: RunState, count: int = 1) -> None:
    """So many runs."""
    ConsolidationRun.objects.bulk_create(
        ConsolidationRun(**owner(member), extractor="rules", state=state, started_at=at, ended_at=at, cost="0.25")
        for _ in range(count)
    )


def not_indexed(member: Membership, at: datetime, count: int = 1, *, set_aside_at: datetime | None = None) -> None:
    """So many changes that wait, or that were set aside."""
    change = owner(member) | {"kind": Kind.EPISODIC, "version": 1, "operation": "upsert", "created_at": at}
    change |= {"set_aside_at": set_aside_at}
    OutboxEntry.objects.bulk_create(OutboxEntry(**change, memory_id=uuid.uuid4()) for _ in range(count))


def erasing(member: Membership, at: datetime, trouble: str = "ValueError", attempts: int = 3) -> None:
    """An erasure that fails."""
    ErasureRequest.objects.create(
        tenant_id=member.tenant_id, membership=member, state=RequestState.RUNNING, reason="Asked to leave",
        started_at=at, trouble=trouble, attempts=attempts,
    )  # fmt: skip


def served(member: Membership, at: datetime, limit: str, count: int) -> None:
    """So many requests that `limit` refused, or that no limit was asked about."""
    limit_store().count(int(at.timestamp() // SLOT), {f"{member.tenant_id}{limit}": count})


def unread(member: Membership, since: datetime, count: int = 1) -> None:
    """So many episodes that no run has read."""
    EpisodeLedger.objects.create(tenant_id=member.tenant_id, user_id=member.user_id, stored=count, waiting_since=since)


def _mostly_known(member: Membership, at: datetime) -> None:
    happened(member, at, "fact.merged", 15)
    happened(member, at, "fact.created", 5)


# Alerts about the whole installation, not about a tenant.
OF_ALL = frozenset({"MemoryhubSignInsFail"})
SITUATIONS: Mapping[str, Make] = {
    "MemoryhubWriteRateHigh": lambda member, at: happened(member, at, "episode.created", 5 * 50 + 1),
    "MemoryhubReadHitRatioLow": lambda member, at: recalled(member, at, 20, returned=0),
    "MemoryhubDedupRatioHigh": _mostly_known,
    "MemoryhubContradictionsHigh": lambda member, at: happened(member, at, "fact.superseded", 51),
    "MemoryhubFactsStale": lambda member, at: known(member, 0.6, 20),
    "MemoryhubOpenScopesHigh": lambda member, at: opened(member, at + timedelta(hours=3), 51),
    "MemoryhubSensitiveWrites": lambda member, at: happened(member, at, "memory.blocked", 21),
    "MemoryhubExportsRefused": lambda member, at: happened(member, at, "export.limited", 1),
    "MemoryhubRecallSlow": lambda member, at: recalled(member, at, 20, took_ms=1500.0),
    "MemoryhubIndexLagging": lambda member, at: not_indexed(member, at - timedelta(seconds=301)),
    "MemoryhubConsolidationOverdue": lambda member, at: unread(member, at - timedelta(hours=26, minutes=1)),
    "MemoryhubConsolidationFailing": lambda member, at: consolidated(member, at, RunState.FAILED, 11),
    "MemoryhubRecordBroken": broken,
    "MemoryhubItemsGivenUp": lambda member, at: not_indexed(member, at, set_aside_at=at),
    "MemoryhubErasureFailing": erasing,
    "MemoryhubWebhookDisabled": lambda member, _: WebhookEndpoint.objects.create(
        tenant_id=member.tenant_id, url="https://example.org/", enabled=False, trouble="status 500"
    ),
    "MemoryhubMemoryTokensHigh": lambda member, at: answered(member, at, 6001, 20),
    "MemoryhubRequestsRefused": lambda member, at: served(member, at, ":reads", 501),
    "MemoryhubSignInsFail": lambda _, at: limit_store().count(int(at.timestamp() // SLOT), {FAILED: 101}),
    "MemoryhubLimitsNotEnforced": lambda member, at: served(member, at, "", 1),
}


def mend() -> None:
    """Whatever a day does not end by itself."""
    Fact.objects.update(staleness=0.1)
    OutboxEntry.objects.all().delete()
    ErasureRequest.objects.all().delete()
    WebhookEndpoint.objects.all().delete()
    EpisodeLedger.objects.update(waiting_since=None)
    ChainCheck.objects.all().delete()
