"""The tables that an erasure empties, and the checks of its receipt, which use the same queries.

Every check returns a count, 0 if nothing is left. No query reads a text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.translation import gettext_noop

from memories.models import (
    CaseNote,
    ConsolidationRun,
    Episode,
    EpisodeLedger,
    Fact,
    Feedback,
    FeedEntry,
    ForgetProposal,
    HygieneRun,
    IdempotencyKey,
    Item,
    LearningOperation,
    MemberChoices,
    Mention,
    Message,
    Operation,
    OutboxEntry,
    Playbook,
    RecallTrace,
    ReviewItem,
    SealedOriginal,
    Session,
    SessionEntry,
    SupportCase,
    WebhookDelivery,
)
from memories.models.base import MemoryRow
from memories.models.guard import OwnedQuerySet
from memories.search.outbox import enqueue
from memories.selectors.erasure import owner_of
from memories.services.erasure.copies import count_copies, held_by_plane
from tenants.audit.chain import owner_chain
from tenants.audit.verification import verify_chain
from tenants.erasure import may_act, names_left, payloads_about, payloads_of_chain
from tenants.models import AuditEvent, Membership

# Rows per transaction. Other writers of this owner, and on SQLite all writers, wait for it.
BATCH = 250


@dataclass(frozen=True, slots=True)
class Store:
    """One table. `rows` returns a member's rows in it; `noun` names them for people."""

    name: str
    noun: str
    rows: Callable[[Membership], QuerySet[Any]]

    def count(self, membership: Membership) -> int:
        """The number of the member's rows."""
        return self.rows(membership).order_by().count()

    def erase_some(self, membership: Membership) -> int:
        """Erase at most BATCH rows in the caller's transaction under the owner's lock; return how many."""
        rows = self.rows(membership).order_by("pk")
        if issubclass(rows.model, MemoryRow):
            enqueue(list(rows.only("pk", "version", "tenant", "user")[:BATCH]), Operation.DELETE)
        ids = list(rows.values_list("pk", flat=True)[:BATCH])
        self.rows(membership).filter(pk__in=ids).delete()
        return len(ids)


def _owned(name: str, noun: str, model: type[Model]) -> Store:
    every: Any = model._default_manager.all()
    if isinstance(every, OwnedQuerySet):
        return Store(name, noun, lambda member: every.of_owner(member.tenant_id, member.user_id))
    return Store(name, noun, lambda member: every.filter(tenant_id=member.tenant_id, user_id=member.user_id))


def _told_of(membership: Membership) -> QuerySet[FeedEntry]:
    """The places of the member's own events; those of the tenant's administration stay, as its events do."""
    return FeedEntry.objects.filter(membership=membership, event__owner_id=membership.user_id)


# Referencing tables come first, so that no row is deleted uncounted by a cascade.
STORES = (
    _owned("idempotency_keys", gettext_noop("answers to requests that may be repeated"), IdempotencyKey),
    Store(
        "webhook_deliveries",
        gettext_noop("events on their way to webhooks"),
        lambda member: WebhookDelivery.objects.filter(entry__in=_told_of(member).order_by()),
    ),
    Store("events", gettext_noop("places of events in the feed"), _told_of),
    _owned("forget_proposals", gettext_noop("proposals to forget"), ForgetProposal),
    _owned("feedback", gettext_noop("feedback on answers"), Feedback),
    _owned("reviews", gettext_noop("reviews"), ReviewItem),
    _owned("case_notes", gettext_noop("notes of support on cases"), CaseNote),
    _owned("cases", gettext_noop("cases of support"), SupportCase),
    _owned("operations", gettext_noop("operations of learning"), LearningOperation),
    _owned("originals", gettext_noop("sealed originals"), SealedOriginal),
    _owned("mentions", gettext_noop("mentions of memories in messages"), Mention),
    _owned("entries", gettext_noop("notes of sessions"), SessionEntry),
    _owned("episodes", gettext_noop("episodes"), Episode),
    _owned("messages", gettext_noop("messages"), Message),
    _owned("traces", gettext_noop("traces of recalls"), RecallTrace),
    _owned("sessions", gettext_noop("sessions, with their working memory"), Session),
    _owned("facts", gettext_noop("facts, in every state"), Fact),
    _owned("playbooks", gettext_noop("how-tos, in every state"), Playbook),
    _owned("items", gettext_noop("items"), Item),
    _owned("runs", gettext_noop("consolidation runs"), ConsolidationRun),
    _owned("ledger", gettext_noop("the ledger of episodes"), EpisodeLedger),
    Store(
        "choices",
        gettext_noop("the member's switches and topics"),
        lambda member: MemberChoices.objects.filter(membership=member),
    ),
)
# The outbox is emptied after delivery, because its entries notify the search plane.
OUTBOX = _owned("outbox", gettext_noop("changes on their way to the index"), OutboxEntry)


def hygiene_places(membership: Membership) -> QuerySet[HygieneRun]:
    """Hygiene scans whose cursor names this member; see `services/retention/hygiene_run.py`."""
    return HygieneRun.objects.filter(cursor__owner=f"2 {membership.pk}")


def forget_hygiene_places(membership: Membership) -> int:
    """Clear the cursors that name this member; return how many. A running scan sets its cursor again."""
    return hygiene_places(membership).update(cursor={})


@dataclass(frozen=True, slots=True)
class ChainPosition:
    """The position of the owner's chain when the erasure finished. Later payloads, such as read events, may stay.

    `whole`: the user's own names were erased too.
    """

    sequence: int
    digest: str
    at: datetime
    whole: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A check and its result. `store` names it in the receipt; `query` describes what was counted."""

    store: str
    query: str
    found: int

    def as_json(self) -> dict[str, object]:
        """The JSON form in the receipt."""
        return {"store": self.store, "query": self.query, "found": self.found}


def ask_all(membership: Membership, place: ChainPosition) -> list[Asked]:
    """Run every check now. Raises SearchUnavailable if the index does not answer."""
    asked = [Asked(each.name, f"rows of the member: {each.noun}", each.count(membership)) for each in (*STORES, OUTBOX)]
    payloads = payloads_of_chain(membership, below=place.sequence + 1)
    elsewhere = payloads_about(membership, until=place.at)
    names = names_left(membership, whole=place.whole)
    asked += [
        Asked("copies", "shared memories that were promoted from the member's", count_copies(membership)),
        Asked("hygiene", "scans that name the member as their place", hygiene_places(membership).count()),
        Asked("payloads", "payloads of the member's own audit chain", payloads.count()),
        Asked("payloads_elsewhere", "payloads about the member in other chains", elsewhere.count()),
        Asked("names", "rows that hold a name, address or external id of the member", names),
        Asked("access", "ways to act as the member: membership, tokens, search key", int(may_act(membership.pk))),
    ]
    index = held_by_plane(owner_of(membership))
    asked.append(Asked("index", "documents in the search index under the member's owner filter", index["held"]))
    asked.append(Asked("index_check", "differences between index and database", index["differences"]))
    return asked


def chain_trouble(membership: Membership, place: ChainPosition) -> str:
    """The reason why the owner's chain does not verify or lacks the receipt's position; empty if it is valid."""
    chain = owner_chain(membership.tenant_id, membership.user_id)
    report = verify_chain(chain)
    if not report.ok:
        return f"event {report.first_bad} of the member's audit chain: {report.reason}"
    if not AuditEvent.objects.filter(chain=chain, sequence=place.sequence, digest=place.digest).exists():
        return "the member's audit chain is another than the one of the receipt"
    return ""
