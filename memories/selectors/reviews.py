"""Reviews that wait for a decision, decided ones, and facts that their owner should confirm.

A review counts as open only if it can be decided now: its memories are believed and an active member owns them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from memories.errors import NotFound
from memories.hygiene.ageing import About, wants_review
from memories.models import Fact, ReviewDecision, ReviewItem
from memories.models.guard import OwnedQuerySet
from memories.selectors.policies import expiry_rules_of
from memories.types import CURRENT
from tenants.models import AuditEvent
from tenants.principal import ActorKind, Principal, Right, Role
from tenants.selectors import has_active_member

# The value for an item that no person answered.
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
    """What the owner is asked about their own memory, oldest first."""
    return decidable(_own(principal)).order_by("created_at", "id")


def answered_reviews(principal: Principal) -> QuerySet[ReviewItem]:
    """What was decided of the owner's memory, latest first."""
    return answered(_own(principal)).order_by("-decided_at", "id")


def get_review(principal: Principal, item_id: UUID) -> ReviewItem:
    """An item about the principal's own memory, open or not. Raises NotFound."""
    item = _own(principal).filter(pk=item_id).first()
    if item is None:
        raise NotFound("review")
    return item


def review_to_decide(principal: Principal, item_id: UUID) -> ReviewItem:
    """An item that the principal may decide: their own, or of what their tenant shares. Raises NotFound."""
    return review_among(_within_reach(principal), item_id)


def review_among(items: QuerySet[ReviewItem], item_id: UUID) -> ReviewItem:
    """One of `items`, with its memories. Raises NotFound."""
    item = items.filter(pk=item_id).select_related("first", "second", "playbook").first()
    if item is None:
        raise NotFound("review")
    return item


def is_decidable(item: ReviewItem) -> bool:
    """Whether it is open and its memories are believed."""
    return item.pk in still_open([item])


def still_open(items: Iterable[ReviewItem]) -> set[UUID]:
    """The ids of those that can be decided; one query."""
    rows = ReviewItem.objects.unscoped("reviews by ids of own reviews").filter(pk__in=[item.pk for item in items])
    return set(decidable(rows).values_list("pk", flat=True))


def review_about(principal: Principal, memory_id: UUID) -> ReviewItem | None:
    """The oldest open item about one of the owner's memories, if there is any."""
    about = Q(first=memory_id) | Q(second=memory_id) | Q(playbook=memory_id)
    return open_reviews(principal).filter(about).first()


def events_of_review(item: ReviewItem) -> QuerySet[AuditEvent]:
    """The audit events of an item, oldest first, with payloads (erased ones are missing)."""
    events = AuditEvent.objects.filter(target_kind="review", target_id=item.pk, tenant_id=item.tenant_id)
    return events.select_related("payload").order_by("created_at", "sequence")


def _own(principal: Principal) -> OwnedQuerySet[ReviewItem]:
    principal.require(Right.READ)
    rows: OwnedQuerySet[ReviewItem] = ReviewItem.objects.of(principal).select_related("first", "second", "playbook")
    return rows


def _within_reach(principal: Principal) -> QuerySet[ReviewItem]:
    """Locked through its owner, never by itself: an item has no lock of its own."""
    own = Q(tenant_id=principal.tenant_id, user_id=principal.user_id)
    if principal.role is Role.ADMIN and principal.actor_kind in (ActorKind.MEMBER, ActorKind.TOKEN):
        own |= Q(tenant_id=principal.tenant_id, user_id=None)
    return ReviewItem.objects.unscoped("reviews by ids of own reviews").filter(own)


def facts_to_review(principal: Principal, *, limit: int, now: datetime | None = None) -> list[Fact]:
    """The owner's current facts that want a review, those that were confirmed longest ago first; none that is pinned.

    Being listed changes nothing: what is stable keeps its rank and stays.
    """
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
