"""Changes in a memory between two times: learned, replaced, retired, evicted, restored, forgotten.

An interval excludes its start and includes its end, so that consecutive intervals neither overlap nor leave gaps. A
state that was believed at no time (a correction of the past) is no change; its predecessor is paired with the next
state that was believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from memories.errors import InvalidInput
from memories.models import CHAINED_MODELS, Episode, Fact, Playbook
from memories.selectors.history.as_of import forgotten_since, page_by_status
from memories.selectors.history.listing import NOUN
from memories.selectors.history.stories import event_reason
from memories.types import Kind, Status
from tenants.models import AuditEvent
from tenants.principal import Principal, Right

ChangedRow = Fact | Playbook


class Change(StrEnum):
    """The type of a change. RETIRED ended without a successor; RESTORED came back by an undo."""

    LEARNED = "learned"
    REPLACED = "replaced"
    RETIRED = "retired"
    EVICTED = "evicted"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """One change: the states before and after it, either of which may be None, the actor kind, and the reason.

    `lost` is true if the successor has been forgotten since.
    """

    change: Change
    kind: Kind
    at: datetime
    before: ChangedRow | None
    after: ChangedRow | None
    by: str = ""
    reason: str = ""
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Steps:
    """Some changes, latest first, and the cursor of the next page; empty on the last one."""

    steps: tuple[ChangeStep, ...]
    next_cursor: str


@dataclass(frozen=True, slots=True)
class Differences:
    """Counts between two times: changes by type and kind, new episodes (`said`), and forgotten memories by kind."""

    first: datetime
    second: datetime
    counts: Mapping[tuple[Change, Kind], int]
    said: int
    forgotten: Mapping[Kind, int]

    @property
    def total(self) -> int:
        """The number of changes of facts and playbooks."""
        return sum(self.counts.values())


def differences_between(principal: Principal, first: datetime, second: datetime) -> Differences:
    """Count the changes after `first` and by `second`. Raises InvalidInput unless `first` is earlier."""
    principal.require(Right.READ)
    _check(first, second)
    counts: dict[tuple[Change, Kind], int] = {}
    for kind in CHAINED_MODELS:
        for changes in ((Change.LEARNED, Change.RESTORED), (Change.REPLACED, Change.RETIRED), (Change.EVICTED,)):
            rows = _in(principal, kind, changes[0], first, second)
            found = rows.aggregate(**{change.value: Count("pk", filter=_condition(change, kind)) for change in changes})
            counts |= {(change, kind): found[change.value] for change in changes if found[change.value]}
    said = Episode.objects.of(principal).filter(happened_at__gt=first, happened_at__lte=second).count()
    return Differences(first, second, counts, said, forgotten_since(principal, first, second))


def steps_between(
    principal: Principal, first: datetime, second: datetime, *, change: Change, kind: Kind, limit: int, cursor: str = ""
) -> Steps:
    """The changes of one type and kind in the interval, latest first. Raises InvalidInput."""
    principal.require(Right.READ)
    _check(first, second)
    if kind not in CHAINED_MODELS:
        raise InvalidInput("kind", _("only facts and how-tos change."))
    rows = _in(principal, kind, change, first, second).filter(_condition(change, kind))
    page = page_by_status([rows], (f"-{_SORTS[change][0]}", "id"), limit=limit, cursor=cursor)
    return Steps(_steps(principal, change, kind, page.rows), page.next_cursor)


# For each change: the column with its time, the possible statuses of its rows, the verbs of its events.
# The queries list all statuses, because the owner's index has the status before the time.
_ANY, _ENDED = tuple(Status), (Status.SUPERSEDED, Status.EVICTED)
_SORTS: Mapping[Change, tuple[str, tuple[Status, ...], tuple[str, ...]]] = {
    Change.LEARNED: ("learned_at", _ANY, ("created",)),
    Change.REPLACED: ("superseded_at", _ENDED, ("superseded", "retired")),
    Change.RETIRED: ("superseded_at", _ENDED, ("superseded", "retired")),
    Change.EVICTED: ("evicted_at", (Status.EVICTED,), ("evicted",)),
    Change.RESTORED: ("learned_at", _ANY, ("restored",)),
}


def _check(first: datetime, second: datetime) -> None:
    if first >= second:
        raise InvalidInput("since", _("must be before the time that it is compared with."))


def _in(principal: Principal, kind: Kind, change: Change, first: datetime, second: datetime) -> QuerySet[Any]:
    """The rows with a change of this type in the interval, without states that were believed at no time."""
    column, statuses, __ = _SORTS[change]
    rows = CHAINED_MODELS[kind].objects.of(principal).filter(status__in=statuses).order_by()
    rows = rows.filter(**{f"{column}__gt": first, f"{column}__lte": second})
    if change is Change.EVICTED:
        return rows
    return rows.exclude(superseded_at__isnull=False, superseded_at__lte=F("learned_at"))


def _condition(change: Change, kind: Kind) -> Q:
    """The condition that separates this type of change from others in the same column."""
    match change:
        case Change.LEARNED:
            replaced = Exists(
                CHAINED_MODELS[kind].objects.unscoped("rows by ids of own rows").filter(superseded_by=OuterRef("pk"))
            )
            return Q(restores__isnull=True) & ~Q(replaced)
        case Change.RESTORED:
            return Q(restores__isnull=False)
        case Change.REPLACED:
            return Q(superseded_by__isnull=False)
        case Change.RETIRED:
            return Q(superseded_by__isnull=True)
        case Change.EVICTED:
            return Q(pk__isnull=False)


def _steps(principal: Principal, change: Change, kind: Kind, rows: Sequence[ChangedRow]) -> tuple[ChangeStep, ...]:
    """Turn rows into changes, with predecessor or successor and audit event."""
    beside = _beside(principal, change, kind, rows)
    moment, __, verbs = _SORTS[change]
    events = AuditEvent.objects.filter(
        tenant_id=principal.tenant_id,
        owner_id=principal.user_id,
        target_id__in=[row.pk for row in rows],
        action__in=[f"{NOUN[kind]}.{verb}" for verb in verbs],
    )
    latest = {event.target_id: event for event in events.select_related("payload").order_by("sequence")}
    arrives = change in (Change.LEARNED, Change.RESTORED)
    steps = []
    for row in rows:
        event, other = latest.get(row.pk), beside.get(row.pk)
        steps.append(
            ChangeStep(
                change,
                kind,
                getattr(row, moment),
                before=other if arrives else row,
                after=row if arrives else other,
                by=event.actor_kind if event else "",
                reason=event_reason(event) if event else "",
                lost=change is Change.RETIRED and event is not None and event.action.endswith(".superseded"),
            )
        )
    return tuple(steps)


def _beside(principal: Principal, change: Change, kind: Kind, rows: Sequence[ChangedRow]) -> dict[UUID, ChangedRow]:
    """By row id, the believed successor of a replaced row, or the row that an undo restored."""
    own = CHAINED_MODELS[kind].objects.of(principal)
    if change is Change.RESTORED:
        olds = own.in_bulk([row.restores for row in rows if row.restores])
        return {row.pk: olds[row.restores] for row in rows if row.restores in olds}
    if change is not Change.REPLACED:
        return {}
    found: dict[UUID | None, ChangedRow] = {}
    wanted = {row.superseded_by_id for row in rows}
    while wanted := {pk for pk in wanted if pk is not None and pk not in found}:
        found |= own.in_bulk(wanted)
        # Skip a correction that was believed at no time.
        wanted = {row.superseded_by_id for pk in wanted if (row := found.get(pk)) and _is_instant(row)}
    beside: dict[UUID, ChangedRow] = {}
    for row in rows:
        after = found.get(row.superseded_by_id)
        for __ in found:  # bounded by the number of rows, so that a cycle ends
            if after is not None and _is_instant(after):
                after = found.get(after.superseded_by_id, after)
        if after is not None:
            beside[row.pk] = after
    return beside


def _is_instant(row: ChangedRow) -> bool:
    return row.superseded_at is not None and row.superseded_at <= row.learned_at
