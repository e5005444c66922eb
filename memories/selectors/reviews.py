"""Reads reviews, open and decided, and facts that their owner should confirm.

A review counts as open only if it can be decided now: its memories are believed and its owner is an active member.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from memories.errors import existing
from memories.hygiene.ageing import About, wants_review
from memories.models import Fact, ReviewDecision, ReviewItem
from memories.models.guard import OwnedQuerySet
from memories.selectors.policies import expiry_rules_of
from memories.types import CURRENT
from tenants.models import AuditEvent
from tenants.principal import ActorKind, Principal, Right, Role
from tenants.selectors import has_active_member

# The decisions of items that no person answered.
UNANSWERED = (ReviewDecision.OPEN, ReviewDecision.WITHDRAWN)


def decidable(items: QuerySet[ReviewItem], *, now: datetime | None = None) -> QuerySet[ReviewItem]:
    """Those of `items` that are open and can be decided."""
    now = now or timezone.now()
    believed = Q()
    for name in ("first", "second"):
        unexpired = Q(**{f"{name}__expires_at__isnull": True}) | Q(**{f"{name}__expires_at__gt": now})
        believed &= Q(**{f"{name}__isnull": True}) | (Q(**{f"{name}__status__in": CURRENT}) & unexpired)
    believed &= Q(playbook__isnull=True) | Q(playbook__status__in=CURRENT)
    return items.filter(believed, Q(user__isnull=True) | has_active_member(), decision=ReviewDecision.OPEN)


def answered(items: QuerySet[ReviewItem]) -> QuerySet[ReviewItem]:
    """Those of `items` that a person decided."""
    return items.exclude(decision__in=UNANSWERED)


def open_reviews(principal: Principal) -> QuerySet[ReviewItem]:
    """The open reviews of the principal's own memory, oldest first."""
    return decidable(_own(principal)).order_by("created_at", "id")


def answered_reviews(principal: Principal) -> QuerySet[ReviewItem]:
    """The decided reviews of the principal's own memory, latest first."""
    return answered(_own(principal)).order_by("-decided_at", "id")


def get_review(principal: Principal, item_id: UUID) -> ReviewItem:
    """A review of the principal's own memory, open or not. Raises NotFound."""
    return existing(_own(principal).filter(pk=item_id).first(), "review")


def review_to_decide(principal: Principal, item_id: UUID) -> ReviewItem:
    """A review that the principal may decide: of their own memory, or of the tenant's shared one. Raises NotFound."""
    return review_among(_within_reach(principal), item_id)


def review_among(items: QuerySet[ReviewItem], item_id: UUID) -> ReviewItem:
    """One of `items`, with its memories. Raises NotFound."""
    return existing(items.filter(pk=item_id).select_related("first", "second", "playbook").first(), "review")


def is_decidable(item: ReviewItem) -> bool:
    """Whether the item is open and can be decided."""
    return item.pk in still_open([item])


def still_open(items: Iterable[ReviewItem]) -> set[UUID]:
    """The ids of the items that can be decided; one query."""
    rows = ReviewItem.objects.unscoped("reviews by ids of own reviews").filter(pk__in=[item.pk for item in items])
    return set(decidable(rows).values_list("pk", flat=True))


def review_about(principal: Principal, memory_id: UUID) -> ReviewItem | None:
    """The oldest open review of one of the principal's own memories, if there is one."""
    about = Q(first=memory_id) | Q(second=memory_id) | Q(playbook=memory_id)
    return open_reviews(principal).filter(about).first()


def events_of_review(item: ReviewItem) -> QuerySet[AuditEvent]:
    """The audit events of an item, oldest first, with their payloads unless erased."""
    events = AuditEvent.objects.filter(target_kind="review", target_id=item.pk, tenant_id=item.tenant_id)
    return events.select_related("payload").order_by("created_at", "sequence")


def _own(principal: Principal) -> OwnedQuerySet[ReviewItem]:
    principal.require(Right.READ)
    rows: OwnedQuerySet[ReviewItem] = ReviewItem.objects.of(principal).select_related("first", "second", "playbook")
    return rows


def _within_reach(principal: Principal) -> QuerySet[ReviewItem]:
    """The items that the principal may decide. To lock an item, lock its owner; items have no lock of their own."""
    own = Q(tenant_id=principal.tenant_id, user_id=principal.user_id)
    if principal.role is Role.ADMIN and principal.actor_kind in (ActorKind.MEMBER, ActorKind.TOKEN):
        own |= Q(tenant_id=principal.tenant_id, user_id=None)
    return ReviewItem.objects.unscoped("reviews by ids of own reviews").filter(own)


def facts_to_review(principal: Principal, *, limit: int, now: datetime | None = None) -> list[Fact]:
    """The principal's current, unpinned facts that need confirmation, least recently confirmed first."""
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
