"""Counts for the first page of the admin, over the tenants that the reader may see (None: all).

Counts of waiting rows stop at MOST, which bounds the time of the page. No text of a memory is read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeVar
from uuid import UUID

from django.db.models import Count, DateField, Exists, Max, Model, OuterRef, Q, QuerySet
from django.db.models.functions import Cast

from memories.models import (
    CaseState,
    ConsolidationRun,
    ErasureRequest,
    ExportRequest,
    LegalHold,
    Message,
    MessageState,
    OutboxEntry,
    RequestState,
    ReviewItem,
    ReviewKind,
    RunState,
    Session,
    SupportCase,
)
from memories.selectors.reviews import decidable
from tenants.audit.verification import broken
from tenants.auditors import TenantCheck
from tenants.models import AuditEvent, AuditHead, ChainCheck, Checked, CredentialState, SearchCredential

Tenants = Collection[UUID] | None
Row = TypeVar("Row", bound=Model)

MOST = 1000
DAY = timedelta(days=1)
# Keys are replaced well before they expire; one this close to its expiry was not replaced.
ENDS_SOON = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class TroubledTurn:
    """The ids of a turn whose answer failed or was degraded."""

    tenant_id: UUID
    user_id: UUID
    session_id: UUID
    number: int


@dataclass(frozen=True, slots=True)
class Chains:
    """How many of `all` chains failed verification, and how many were not verified for a day."""

    broken: int
    unchecked: int
    all: int


def open_reviews(tenants: Tenants, now: datetime, *, shared: bool = True) -> int:
    """The number of reviews that staff can decide; without those of `shared` memory for platform staff."""
    items = _of(ReviewItem.objects.unscoped("staff look at their tenants").all(), tenants)
    items = items.exclude(kind=ReviewKind.CORRECTION)
    return _count(decidable(items if shared else items.exclude(user=None), now=now))


def open_cases(tenants: Tenants) -> int:
    """The number of cases on which support has to do something."""
    items = _of(SupportCase.objects.unscoped("staff look at their tenants").all(), tenants)
    return _count(items.filter(state=CaseState.OPEN))


def troubled_turns(tenants: Tenants, since: datetime, *, named: int) -> tuple[int, list[TroubledTurn]]:
    """The number of turns since then that failed or ran without the search plane, and the latest `named` of them."""
    sessions = (
        _of(Session.objects.unscoped("staff look at their tenants").filter(last_turn_at__gte=since), tenants)
        .order_by()
        .values("pk")
    )
    wrong = Q(state=MessageState.FAILED) | Q(degraded=True)
    rows = (
        Message.objects.unscoped("staff look at their tenants")
        .filter(wrong, session__in=sessions, created_at__gte=since)
        .order_by()
    )
    # Several messages of one turn may match.
    of_turn = rows.values_list("tenant_id", "user_id", "session_id", "turn").annotate(at=Max("created_at"))
    turns = [TroubledTurn(*row[:4]) for row in of_turn.order_by("-at")[:named]]
    return (of_turn[:MOST].count() if len(turns) == named else len(turns)), turns


def chatted_lately(tenants: Tenants, since: datetime, *, named: int) -> list[tuple[UUID, UUID, datetime]]:
    """Tenant, user and time of the last turn for the `named` members who chatted last since then."""
    rows = _of(Session.objects.unscoped("staff look at their tenants").filter(last_turn_at__gte=since), tenants)
    last = rows.order_by().values_list("tenant_id", "user_id").annotate(at=Max("last_turn_at"))
    return list(last.order_by("-at", "user_id")[:named])


def failed_runs(tenants: Tenants, since: datetime) -> tuple[int, int]:
    """The numbers of consolidation runs since then that were given up, and that failed, without a successful rerun."""
    rows = _of(
        ConsolidationRun.objects.unscoped("staff look at their tenants").filter(
            state=RunState.FAILED, started_at__gte=since
        ),
        tenants,
    )
    found = rows.exclude(reruns__state=RunState.DONE).order_by("-given_up").values_list("given_up", flat=True)[:MOST]
    given_up = sum(found)
    return given_up, len(found) - given_up


def set_aside(tenants: Tenants) -> int:
    """The number of changes that the index does not take."""
    return _count(_of(OutboxEntry.objects.filter(set_aside_at__isnull=False), tenants))


def erasures(tenants: Tenants, now: datetime) -> tuple[list[ErasureRequest], ...]:
    """Erasure requests that need a person, oldest first.

    Those to approve, those stopped or in trouble, and those approved whose delay has not passed.
    """
    troubled = Q(state__in=(RequestState.APPROVED, RequestState.RUNNING)) & ~Q(trouble="")
    delayed = Q(state=RequestState.APPROVED, begins_at__gt=now)
    waiting = Q(state__in=(RequestState.ASKED, RequestState.STOPPED)) | troubled | delayed
    rows = _of(ErasureRequest.objects.filter(waiting).select_related("membership__user"), tenants)
    found: tuple[list[ErasureRequest], ...] = ([], [], [])
    for each in rows.order_by("asked_at", "pk")[:MOST]:
        soon = each.state == RequestState.APPROVED and not each.trouble
        found[0 if each.state == RequestState.ASKED else 2 if soon else 1].append(each)
    return found


def exports_asked(tenants: Tenants) -> list[ExportRequest]:
    """Requests for whole memories that wait for a second person, oldest first."""
    rows = ExportRequest.objects.filter(state=RequestState.ASKED).select_related("membership__user")
    return list(_of(rows, tenants).order_by("asked_at", "pk")[:MOST])


def erasures_done(tenants: Tenants, since: datetime) -> int:
    """The number of erasures finished since then."""
    return _count(_of(ErasureRequest.objects.filter(state=RequestState.DONE, finished_at__gte=since), tenants))


def holds_in_force(tenants: Tenants) -> int:
    """The number of legal holds that are not released."""
    return _count(_of(LegalHold.objects.filter(released_at=None), tenants))


def troubled_keys(tenants: Tenants, now: datetime) -> tuple[int, int]:
    """Of active members, the number of search keys that failed, and the number of those that expire soon.

    A failed key could not be made or replaced.
    """
    rows = SearchCredential.objects.filter(membership__is_active=True)
    rows = _of(rows, tenants, "membership__tenant_id")
    troubled = ~Q(trouble="")
    soon = Q(trouble="", state=CredentialState.ACTIVE.value, expires_at__lt=now + ENDS_SOON)
    found = rows.aggregate(troubled=Count("pk", filter=troubled), soon=Count("pk", filter=soon))
    return found["troubled"], found["soon"]


def chains(tenants: Tenants, now: datetime) -> Chains:
    """The state of the chains of the audit log, of members and of tenants."""
    within = chains_of(tenants)
    heads = AuditHead.objects.filter(within)
    # A chain becomes due a day after its first event.
    begun = AuditEvent.objects.filter(chain=OuterRef("chain"), sequence=1, created_at__lt=now - DAY)
    checked = ChainCheck.objects.filter(chain=OuterRef("chain"), what=Checked.AUDIT.value, checked_at__gte=now - DAY)
    unchecked = heads.filter(Exists(begun), ~Exists(checked))
    # A chain whose audit log and supersession both fail counts once.
    failed = broken().filter(within).order_by().values("chain").distinct()
    return Chains(failed[:MOST].count(), _count(unchecked), heads.count())


def events_by_tenant(tenants: Tenants, actions: Collection[str], since: datetime) -> dict[UUID | None, int]:
    """The number of audit events with one of these actions since then, by tenant (None: the platform)."""
    rows = _of(AuditEvent.objects.filter(action__in=actions, created_at__gte=since), tenants).order_by()
    return dict(rows.values_list("tenant_id").annotate(count=Count("*")))


def events_by_member(
    tenants: Tenants, actions: Collection[str], since: datetime, *, named: int
) -> list[tuple[UUID, UUID, int]]:
    """Tenant, user and number for the `named` members with most audit events with one of these actions since then."""
    rows = _of(AuditEvent.objects.filter(action__in=actions, created_at__gte=since, owner_id__isnull=False), tenants)
    counted = rows.order_by().values_list("tenant_id", "owner_id").annotate(count=Count("*"))
    return list(counted.order_by("-count", "tenant_id", "owner_id")[:named])


def last_verified(tenants: Collection[UUID]) -> dict[UUID, datetime | None]:
    """When the last verification of everything of a tenant finished, by tenant; None while the first runs."""
    rows = TenantCheck.objects.filter(tenant__in=tenants).order_by()
    return dict(rows.values_list("tenant_id").annotate(finished_at=Max("finished_at")))


def events_by_day(tenants: Tenants, actions: Collection[str], since: datetime) -> dict[tuple[str, date], int]:
    """The number of events of each action on each day (UTC) since then; uses the index on tenant and action."""
    rows = _of(AuditEvent.objects.filter(action__in=actions, created_at__gte=since), tenants).order_by()
    counted = rows.annotate(day=Cast("created_at", DateField())).values_list("action", "day").annotate(count=Count("*"))
    return {(action, day): count for action, day, count in counted}


def _of(rows: QuerySet[Row], tenants: Tenants, column: str = "tenant_id") -> QuerySet[Row]:
    return rows if tenants is None else rows.filter(**{f"{column}__in": list(tenants)})


def _count(rows: QuerySet[Row]) -> int:
    return rows.order_by()[:MOST].count()


def chains_of(tenants: Tenants) -> Q:
    """The condition for the chains of these tenants, as ranges of names that an index finds.

    `;` is the character after `:`, so it ends the range of names that begin with the tenant's id.
    """
    if tenants is None:
        return Q()
    found = Q(pk__in=())
    for tenant_id in tenants:
        found |= Q(chain__gte=f"owner:{tenant_id}:", chain__lt=f"owner:{tenant_id};") | Q(chain=f"tenant:{tenant_id}")
    return found
