"""Gives events of the audit log their places in the feed of their tenant.

Chains of the audit log have no gaps, and a chain's head commits with its events, so what a chain gained since its
FeedMark is complete. One transaction at a time gives places in a tenant: an entry of a lower id is never committed
after one of a higher id, however long the transactions of the events took. Nothing is written for this where events
are written; a reader or a webhook gives the places when it looks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from memories.models import (
    MEMORY_MODELS,
    ErasureRequest,
    EventType,
    FeedEntry,
    FeedMark,
    RequestState,
)
from memories.selectors.feed import KEPT
from memories.types import Kind
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.db.statements import in_statements
from tenants.audit.chain import owner_chain, tenant_chain
from tenants.models import AuditEvent, AuditHead, Membership

# Events and chains of one transaction, for which other readers of the tenant's feed wait.
_EVENTS, _CHAINS = 2_000, 200
_MEMORY_VERBS = {
    EventType.MEMORY_CREATED: ("created",),
    EventType.MEMORY_UPDATED: (
        *("accepted", "confirmed", "described", "failed", "merged", "pinned", "promoted", "succeeded"),
        *("fresh", "stale", "unconfirmed", "unpinned"),
    ),
    EventType.MEMORY_SUPERSEDED: ("superseded",),
    EventType.MEMORY_RETIRED: ("archived", "evicted", "retired", "retracted"),
    EventType.MEMORY_RESTORED: ("kept", "restored", "revived", "unarchived"),
    EventType.MEMORY_ERASED: ("erased", "forgotten"),
}
# The event that the feed shows for each action; other actions are not shown.
TYPES: Mapping[str, EventType] = {
    f"{noun}.{verb}": kind
    for noun in ("fact", "playbook", "episode", "catalog")
    for kind, verbs in _MEMORY_VERBS.items()
    for verb in verbs
} | {
    "item.created": EventType.ITEM_CREATED,
    "item.replaced": EventType.ITEM_REPLACED,
    "item.deleted": EventType.ITEM_DELETED,
    "item.restored": EventType.ITEM_RESTORED,
    "item.expired": EventType.ITEM_EXPIRED,
    "item.forgotten": EventType.ITEM_ERASED,
    "consolidation.done": EventType.LEARNING_FINISHED,
    "consolidation.given_up": EventType.LEARNING_FAILED,
    "review.opened": EventType.REVIEW_OPENED,
    "review.decided": EventType.REVIEW_CLOSED,
    "review.withdrawn": EventType.REVIEW_CLOSED,
    "review.undone": EventType.REVIEW_OPENED,
    "member.added": EventType.MEMBER_CREATED,
    "member.activated": EventType.MEMBER_ACTIVATED,
    "member.deactivated": EventType.MEMBER_DEACTIVATED,
    "erasure.done": EventType.MEMBER_ERASED,
    "webhook.disabled": EventType.WEBHOOK_DISABLED,
}


def add_new_events(tenant_id: UUID) -> bool:
    """Give the new events of the tenant their places; True if it stopped early and there are more."""
    with acting_as(WideRole.JOBS):
        if not _grown(tenant_id).exists():
            return False
        with transaction.atomic():
            FeedMark.objects.bulk_create(
                [FeedMark(chain=tenant_chain(tenant_id), tenant_id=tenant_id)], ignore_conflicts=True
            )
            FeedMark.objects.select_for_update().get(pk=tenant_chain(tenant_id))
            events, more = _new_events(tenant_id)
            FeedEntry.objects.bulk_create(_entries(tenant_id, events))
        return more


def forget_old_entries() -> None:
    """Delete the oldest entries, with their deliveries, as long as they are older than KEPT."""
    before = timezone.now() - KEPT
    while True:
        oldest = FeedEntry.objects.order_by("id").values_list("pk", "event__created_at")[:_EVENTS]
        old = [pk for pk, created_at in oldest if created_at < before]
        for some in in_statements(old):
            FeedEntry.objects.filter(pk__in=some).delete()
        if len(old) < _EVENTS:
            return


def _grown(tenant_id: UUID) -> QuerySet[Any]:
    """The chains with events behind their marks, with `marked`; the tenant's own last, as it names new members."""
    chains = Q(chain=tenant_chain(tenant_id)) | Q(chain__startswith=f"owner:{tenant_id}:")
    mark = FeedMark.objects.filter(chain=OuterRef("chain")).values("length")
    rows = AuditHead.objects.filter(chains).annotate(marked=Coalesce(Subquery(mark), 0))
    return rows.filter(length__gt=F("marked")).order_by("chain")


def _new_events(tenant_id: UUID) -> tuple[list[AuditEvent], bool]:
    """The next events for the feed, and whether there are more; moves the marks."""
    heads = list(_grown(tenant_id)[: _CHAINS + 1])
    found: list[AuditEvent] = []
    marks: list[FeedMark] = []
    left = _EVENTS
    for head in heads[:_CHAINS]:
        if not left:
            break
        start = head.marked or _first_kept(head)
        end = min(head.length, start + left)
        of_chain = AuditEvent.objects.filter(chain=head.chain, sequence__gt=start, sequence__lte=end)
        found += of_chain.filter(action__in=TYPES).order_by("sequence")
        marks.append(FeedMark(chain=head.chain, tenant_id=tenant_id, length=end))
        left -= end - start
    FeedMark.objects.bulk_create(marks, update_conflicts=True, unique_fields=["chain"], update_fields=["length"])
    return found, len(marks) < len(heads) or not left


def _first_kept(head: AuditHead) -> int:
    """The place before the first event that the feed still keeps, in a chain that was never read."""
    kept = AuditEvent.objects.filter(chain=head.chain, created_at__gte=timezone.now() - KEPT)
    first = kept.order_by("sequence").values_list("sequence", flat=True).first()
    return first - 1 if first else head.length


def _entries(tenant_id: UUID, events: Collection[AuditEvent]) -> Iterable[FeedEntry]:
    """The entries of these events, in order. Of an erased member only administration is shown."""
    members = {
        owner_chain(tenant_id, user_id): pk
        for some in in_statements(list({event.owner_id for event in events if event.owner_id}))
        for pk, user_id in Membership.objects.filter(tenant=tenant_id, user__in=some).values_list("pk", "user_id")
    }
    gone = set(
        ErasureRequest.objects.filter(
            tenant=tenant_id, state__in=[RequestState.RUNNING, RequestState.STOPPED, RequestState.DONE]
        ).values_list("membership_id", flat=True)
    )
    apps, named = _apps(events), _members_named(tenant_id, events)
    for event in events:
        member = members.get(event.chain) if event.owner_id else named.get(event.target_id)
        if event.owner_id and (member is None or member in gone):
            continue
        yield FeedEntry(
            tenant_id=tenant_id,
            membership_id=member,
            event=event,
            type=TYPES[event.action],
            app=apps.get(event.target_id),
        )


def _apps(events: Iterable[AuditEvent]) -> dict[UUID | None, str]:
    """The apps of the memories and items that events are about, as far as these are there."""
    found: dict[UUID | None, str] = {}
    for kind, model in MEMORY_MODELS.items():
        ids = [event.target_id for event in events if event.target_kind == Kind(kind).value and event.target_id]
        for some in in_statements(ids):
            found |= dict(model.objects.unscoped("the feed of events").filter(pk__in=some).values_list("pk", "app"))
    return found


def _members_named(tenant_id: UUID, events: Iterable[AuditEvent]) -> dict[UUID | None, UUID]:
    """The members that events of the tenant's administration are about, by the target."""
    targets = [event.target_id for event in events if event.owner_id is None and event.target_id]
    found: dict[UUID | None, UUID] = {}
    for some in in_statements(targets):
        found |= {
            pk: pk for pk in Membership.objects.filter(tenant=tenant_id, pk__in=some).values_list("pk", flat=True)
        }
        found |= dict(ErasureRequest.objects.filter(tenant=tenant_id, pk__in=some).values_list("pk", "membership_id"))
    return found
