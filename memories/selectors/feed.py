"""Reads the feed of events: what changed in a tenant or for one member, in an order that misses nothing.

An event shows ids, kinds and times, never a text: who may read the memory asks for it by its id. A cursor is encrypted,
since the numbers in it count the events of all tenants, and ends with the entries that are kept.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken
from django.db.models import Q, QuerySet
from django.utils.crypto import salted_hmac

from memories.errors import InvalidInput
from memories.models import ConsolidationRun, EventType, FeedEntry, LearningOperation
from tenants.principal import Principal, Role

# Entries are deleted after this time; receivers that were away for longer read the memories anew.
KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Some events, the cursor behind them, and whether there are more by now."""

    entries: Sequence[FeedEntry]
    next_cursor: str
    has_more: bool


def feed_of_tenant(tenant_id: UUID) -> QuerySet[FeedEntry]:
    """The events of the tenant and of the members that its backend keys reach; of others, that they were erased."""
    reached = Q(membership__role=Role.MEMBER.value) & ~Q(membership__external_id="")
    rows = FeedEntry.objects.filter(Q(membership=None) | reached | Q(type=EventType.MEMBER_ERASED), tenant=tenant_id)
    return rows.select_related("event", "membership").order_by("id")


def feed_of_member(principal: Principal) -> QuerySet[FeedEntry]:
    """The events of one member; of an app that is kept apart, those of its memories and of no app's."""
    rows = FeedEntry.objects.filter(tenant=principal.tenant_id, membership=principal.membership_id)
    if principal.only_app is not None:
        rows = rows.filter(app__in=["", principal.only_app])
    return rows.select_related("event", "membership").order_by("id")


def page_of_feed(
    rows: QuerySet[FeedEntry],
    *,
    limit: int,
    cursor: str = "",
    since: datetime | None = None,
    types: Collection[str] = (),
) -> FeedPage:
    """At most `limit` events after `cursor`, or from `since` on. Raises InvalidInput."""
    place = place_before(rows, cursor=cursor, since=since)
    wanted = rows.filter(id__gt=place)
    found = list((wanted.filter(type__in=types) if types else wanted)[: limit + 1])
    page = found[:limit]
    return FeedPage(page, _box().encrypt(str(page[-1].pk if page else place).encode()).decode(), len(found) > limit)


def place_before(rows: QuerySet[FeedEntry], *, cursor: str = "", since: datetime | None = None) -> int:
    """The place after which to read; 0 is the beginning. Raises InvalidInput."""
    if cursor and since:
        raise InvalidInput("since", "cannot be given with a cursor; give one of them.")
    if since:
        first = rows.filter(event__created_at__gte=since).values_list("pk", flat=True).first()
        last = rows.order_by("-id").values_list("pk", flat=True).first()
        return first - 1 if first else last or 0
    if not cursor:
        return 0
    try:
        return int(_box().decrypt(cursor.encode(), ttl=int(KEPT.total_seconds())))
    except InvalidToken:
        raise InvalidInput(
            "cursor", f"is not a cursor of this feed, or is older than {KEPT.days} days: leave it out to begin anew."
        ) from None


def _box() -> Fernet:
    return Fernet(urlsafe_b64encode(salted_hmac("memories.feed", "cursor", algorithm="sha256").digest()))


def shown_events(entries: Iterable[FeedEntry]) -> list[dict[str, Any]]:
    """The events as the feed and webhooks show them."""
    rows = list(entries)
    learned = {
        entry.event.target_id
        for entry in rows
        if entry.type in (EventType.LEARNING_FINISHED, EventType.LEARNING_FAILED)
    }
    operations = _operations({each for each in learned if each})
    return [_shown(entry, operations) for entry in rows]


def _shown(entry: FeedEntry, operations: Mapping[UUID, list[str]]) -> dict[str, Any]:
    event, member = entry.event, entry.membership
    data: dict[str, Any] = {"kind": event.target_kind, "id": event.target_id and str(event.target_id)}
    data["user_id"] = (member.external_id or None) if member else None
    data["member_id"] = str(member.pk) if member else None
    data |= {"app": entry.app, "actor": event.actor_kind}
    if event.target_id and event.target_id in operations:
        data["operation_ids"] = operations[event.target_id]
    return {"id": event.pk, "type": entry.type, "timestamp": event.created_at, "data": data}


def _operations(runs: Collection[UUID]) -> dict[UUID, list[str]]:
    """The operations whose last episode each run read."""
    if not runs:
        return {}
    found: dict[UUID, list[str]] = {}
    for run in ConsolidationRun.objects.unscoped("the feed of events").filter(pk__in=runs):
        ended = LearningOperation.objects.unscoped("the feed of events").filter(
            tenant=run.tenant_id, user=run.user_id, last_ordinal__range=(run.first_ordinal, run.last_ordinal)
        )
        found[run.pk] = [str(pk) for pk in ended.order_by("last_ordinal", "pk").values_list("pk", flat=True)]
    return found
