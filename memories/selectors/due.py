"""What the collection has to look at, and what it decides: the one planner of a dry run and of a real one.

Invariant: the database narrows down to more than is due and never to less; `hygiene/endings.py` decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from memories.constants import ARCHIVE_AFTER, DOUBTFUL_AFTER, DOUBTFUL_CONFIDENCE, ERASE_EVICTED_AFTER
from memories.hygiene.endings import Decision, Life, decide
from memories.models import CHAINED_MODELS, Fact, Playbook
from memories.types import CURRENT, Kind, Owner, Status
from tenants.models import AuditEvent, Membership

Ending = Fact | Playbook

# An erasure looks through transcripts and records: it takes about so many times as long as any other ending.
ERASURE_EFFORT = 10

# What decides, and what the outbox is told.
_COMMON = (
    "id", "tenant", "user", "scope", "version", "status", "learned_at", "superseded_at", "archived_at", "evicted_at",
    "evicted_from",
)  # fmt: skip
_OF_FACTS = (
    "confidence", "pinned", "valid_to", "last_used_at", "last_verified_at", "review_after", "expires_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planned:
    """A memory, without its words, and what is to become of it."""

    row: Ending
    decision: Decision


def owners_with_due(now: datetime, tenant_id: UUID | None) -> list[Owner]:
    """Whose memories may be due, those of one tenant if it is named: members, active or not, tenants, and all."""
    owners: set[tuple[UUID | None, UUID | None]] = set()
    member = Membership.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("user"))
    for model in (Fact, Playbook):
        rows = _due(model, now).filter(Q(user=None) | Exists(member))
        if tenant_id is not None:
            rows = rows.filter(tenant=tenant_id)
        owners.update(rows.order_by().values_list("tenant_id", "user_id").distinct())
    return [Owner(*owner) for owner in sorted(owners, key=str)]


def due_batches(owner: Owner, now: datetime, size: int) -> Iterator[tuple[Kind, list[UUID]]]:
    """The ids of an owner's memories that may be due, `size` at a time; fewer of those to erase, which takes longer."""
    for model in (Fact, Playbook):
        rows = _due(model, now).filter(tenant=owner.tenant_id, user=owner.user_id).order_by("pk")
        evicted = Q(status=Status.EVICTED)
        for some, at_once in ((rows.exclude(evicted), size), (rows.filter(evicted), max(1, size // ERASURE_EFFORT))):
            ids = iter(list(some.values_list("pk", flat=True)))
            while batch := list(islice(ids, at_once)):
                yield model.kind, batch


def plan(kind: Kind, ids: Sequence[UUID], *, now: datetime, keep_superseded: bool) -> list[Planned]:
    """What is to become of these memories, as they are at this moment."""
    fields = (*_COMMON, *_OF_FACTS) if kind is Kind.SEMANTIC else _COMMON
    rows: list[Ending] = list(CHAINED_MODELS[kind].objects.filter(pk__in=ids).only(*fields).order_by("pk"))
    back = _brought_back([row.pk for row in rows if row.status == Status.SUPERSEDED])
    planned = []
    for row in rows:
        decision = decide(_life(row, brought_back=row.pk in back), now=now, keep_superseded=keep_superseded)
        if decision is not None:
            planned.append(Planned(row, decision))
    return planned


def _due(model: type[Fact | Playbook], now: datetime) -> QuerySet[Fact] | QuerySet[Playbook]:
    due = Q(status=Status.EVICTED, evicted_at__lte=now - ERASE_EVICTED_AFTER) | Q(
        status=Status.SUPERSEDED, archived_at=None, superseded_at__lte=now - ARCHIVE_AFTER
    )
    if model is Fact:
        since = now - DOUBTFUL_AFTER
        due |= ~Q(status=Status.EVICTED) & Q(expires_at__lte=now)
        due |= Q(status__in=CURRENT, review_after__lte=now)
        due |= Q(status=Status.ACTIVE, confidence__lt=DOUBTFUL_CONFIDENCE) & (
            Q(last_verified_at__lte=since) | Q(last_verified_at=None, learned_at__lte=since)
        )
    return model.objects.filter(due)


def _life(row: Ending, *, brought_back: bool) -> Life:
    life = Life(
        status=row.status,
        confirmed_at=row.learned_at,
        superseded_at=row.superseded_at,
        archived_at=row.archived_at,
        evicted_at=row.evicted_at,
        evicted_from=row.evicted_from,
        brought_back=brought_back,
    )
    if isinstance(row, Playbook):
        return life
    return replace(
        life,
        confirmed_at=row.last_verified_at or row.learned_at,
        confidence=row.confidence,
        pinned=row.pinned,
        valid_to=row.valid_to,
        last_used_at=row.last_used_at,
        review_after=row.review_after,
        expires_at=row.expires_at,
    )


def _brought_back(ids: Collection[UUID]) -> frozenset[UUID]:
    """Those that were taken out of the archive again."""
    if not ids:
        return frozenset()
    events = AuditEvent.objects.filter(target_id__in=ids, action__endswith=".unarchived")
    return frozenset(target for target in events.values_list("target_id", flat=True) if target)
