"""Where rows of one member stand, store by store: what an erasure empties, and what its receipt asks about.

Invariant: an erasure and the check of its receipt ask with the same queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet

from memories.models import (
    ConsolidationRun,
    Episode,
    EpisodeLedger,
    Fact,
    HygieneRun,
    Mention,
    Message,
    OutboxEntry,
    Playbook,
    RecallTrace,
    ReviewItem,
    SealedOriginal,
    Session,
    SessionEntry,
)
from memories.models.base import MemoryRow
from memories.search.outbox import enqueue_deletes
from tenants.models import Membership

# Rows of one transaction: other writers of the owner, and on SQLite of everybody, wait for it.
BATCH = 250


@dataclass(frozen=True, slots=True)
class Store:
    """One table. `rows` are those of a member in it; `noun` says what they are to people."""

    name: str
    noun: str
    rows: Callable[[Membership], QuerySet[Any]]

    def count(self, membership: Membership) -> int:
        """How many rows of the member there are."""
        return self.rows(membership).order_by().count()

    def erase_some(self, membership: Membership) -> int:
        """Erase at most BATCH rows, in the caller's transaction under the owner's lock; return how many."""
        rows = self.rows(membership).order_by("pk")
        if issubclass(rows.model, MemoryRow):
            enqueue_deletes(list(rows.only("pk", "version", "tenant", "user")[:BATCH]))
        ids = list(rows.values_list("pk", flat=True)[:BATCH])
        self.rows(membership).filter(pk__in=ids).delete()
        return len(ids)


def _owned(name: str, noun: str, model: type[Model]) -> Store:
    rows = model._default_manager
    return Store(name, noun, lambda member: rows.filter(tenant_id=member.tenant_id, user_id=member.user_id))


# What points at others comes before what it points at, so that nothing goes unseen with another row.
STORES = (
    _owned("reviews", "reviews", ReviewItem),
    _owned("originals", "sealed originals", SealedOriginal),
    _owned("mentions", "mentions of memories in messages", Mention),
    _owned("entries", "notes of sessions", SessionEntry),
    _owned("episodes", "episodes", Episode),
    _owned("messages", "messages", Message),
    _owned("traces", "traces of recalls", RecallTrace),
    _owned("sessions", "sessions, with their working memory", Session),
    _owned("facts", "facts, in every state", Fact),
    _owned("playbooks", "how-tos, in every state", Playbook),
    _owned("runs", "consolidation runs", ConsolidationRun),
    _owned("ledger", "the ledger of episodes", EpisodeLedger),
)
# It is emptied after the search plane was told, since it is what tells the plane.
OUTBOX = _owned("outbox", "changes on their way to the index", OutboxEntry)


def hygiene_places(membership: Membership) -> QuerySet[HygieneRun]:
    """Scans that name this member as the place where they stood; see `services/hygiene/run.py`."""
    return HygieneRun.objects.filter(cursor__owner=f"2 {membership.pk}")


def forget_hygiene_places(membership: Membership) -> int:
    """Have no scan name this member as its place; return how many did. One that goes on notes its place anew."""
    return hygiene_places(membership).update(cursor={})
