"""Lists histories: ended states of facts and how-tos, newest first, each with its successor.

The caller checks that the reader may see the tenant. A query covers one tenant, or the memory that all tenants share,
and reads nothing outside of it. Each page follows an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q

from memories.models import CHAINED_MODELS, Fact, Playbook
from memories.models.base import MemoryQuerySet
from memories.selectors.paging import Page, page_of
from memories.types import Contradiction, Kind
from tenants.models import AuditEvent

ChainedRow = Fact | Playbook

PAGE = 50
NOUN = {Kind.SEMANTIC: "fact", Kind.PROCEDURAL: "playbook"}
_WORDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.SEMANTIC: ("text",),
    Kind.PROCEDURAL: ("title", "trigger", "text", "steps"),
}
_HEAVY = tuple(f"{of}{name}" for of in ("", "superseded_by__") for name in ("embedding", "token_ids"))
ENDINGS = ("superseded", "retired", "retracted")


class StateOutcome(StrEnum):
    """How a state ended, or that it was promoted."""

    NATURAL = "natural"
    HARSH = "harsh"
    RETIRED = "retired"
    MERGED = "merged"
    UNDONE = "undone"
    PROMOTED = "promoted"


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """The filter of a list. `tenant_id` None means the memory that all tenants share.

    `user_id` selects one owner; `shared` selects only memory without an owner. Each word of `text` must occur in a
    state. `until` is exclusive. `everything` adds the states that never ended and sorts by the time they were learned.
    """

    tenant_id: UUID | None
    kind: Kind = Kind.SEMANTIC
    user_id: UUID | None = None
    shared: bool = False
    key: str = ""
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    actor_id: UUID | None = None
    actor_kind: str = ""
    outcome: StateOutcome | None = None
    everything: bool = False

    @property
    def about_states(self) -> bool:
        """Whether single states are listed; otherwise each chain appears once, with the latest state that ended."""
        asked = (self.key, self.text, self.since, self.until, self.actor_id, self.actor_kind, self.outcome)
        return self.everything or any(asked)

    @property
    def by_learning(self) -> bool:
        """Whether the list may hold states that never ended, so that it is sorted by the time they were learned."""
        return self.everything or self.outcome is StateOutcome.PROMOTED


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A state, its successor if any, and the event that ended it, or the latest event on a current one."""

    row: ChainedRow
    successor: ChainedRow | None
    event: AuditEvent | None


def page_of_histories(by: HistoryFilter, *, cursor: str = "", limit: int = PAGE) -> Page[Any]:
    """A page of states of one kind. Raises InvalidInput for a cursor of another list."""
    rows = histories(by)
    order = ("-learned_at", "id") if by.by_learning else ("-superseded_at", "id")
    return page_of(rows.order_by(*order), limit=limit, cursor=cursor)


def histories(by: HistoryFilter) -> MemoryQuerySet[Any]:
    """The states that match the filter, unordered."""
    model = CHAINED_MODELS[by.kind]
    every: MemoryQuerySet[Any] = model.objects.in_place({"tenant_id": by.tenant_id})
    rows = every.select_related("superseded_by", "user").defer(*_HEAVY)
    if by.user_id is not None:
        rows = rows.filter(user_id=by.user_id)
    elif by.shared or by.tenant_id is None:
        rows = rows.filter(user=None)
    if not by.by_learning:
        rows = rows.filter(superseded_at__isnull=False)
    if by.key:
        rows = rows.filter(key=by.key) if by.kind is Kind.SEMANTIC else rows.none()
    for word in by.text.split():
        rows = rows.filter(_says(by.kind, word, every))
    rows = _in_time(rows, by)
    if by.actor_id or by.actor_kind:
        rows = rows.filter(_ended_by(by))
    if by.outcome is not None:
        rows = rows.filter(_became(by.outcome, every.order_by()))
    if not by.about_states:
        rows = rows.filter(*_latest_of_its_chain(model))
    return rows


def history_rows(rows: Sequence[Any]) -> tuple[HistoryRow, ...]:
    """Each of these states with its successor and event, in the same order; one query."""
    events = _last_events(rows)
    return tuple(HistoryRow(row, row.superseded_by, events.get(row.pk)) for row in rows)


def _last_events(rows: Iterable[ChainedRow]) -> dict[UUID, AuditEvent]:
    """The event of each state's end; for a current state, the event that created, restored or promoted it."""
    found: dict[UUID, AuditEvent] = {}
    by_id = {row.pk: row for row in rows}
    noun = {NOUN[row.kind] for row in by_id.values()}
    verbs = (*ENDINGS, "created", "promoted", "restored")
    actions = [f"{each}.{verb}" for each in noun for verb in verbs]
    events = AuditEvent.objects.filter(target_id__in=list(by_id), action__in=actions)
    for event in events.order_by("created_at", "sequence"):
        row = by_id[event.target_id]  # type: ignore[index]  # as asked for
        foreign = row.tenant_id not in (None, event.tenant_id) or row.user_id not in (None, event.owner_id)
        if not foreign and (event.target_id not in found or event.action.rpartition(".")[2] != "created"):
            found[row.pk] = event
    return found


def _says(kind: Kind, word: str, every: MemoryQuerySet[Any]) -> Q:
    """States whose text contains `word`, and states whose current successor does."""
    condition = Q()
    for column in _WORDS[kind]:
        condition |= Q(**{f"{column}__icontains": word})
    standing = every.filter(condition, superseded_at__isnull=True).order_by()
    return condition | Q(superseded_by__in=standing.values("pk"))


def _in_time(rows: MemoryQuerySet[Any], by: HistoryFilter) -> MemoryQuerySet[Any]:
    column = "learned_at" if by.by_learning else "superseded_at"
    if by.since:
        rows = rows.filter(**{f"{column}__gte": by.since})
    if by.until:
        rows = rows.filter(**{f"{column}__lt": by.until})
    return rows


def _ended_by(by: HistoryFilter) -> Q:
    noun = NOUN[by.kind]
    events = AuditEvent.objects.filter(action__in=[f"{noun}.{verb}" for verb in (*ENDINGS, "promoted")])
    if by.tenant_id is not None:
        events = events.filter(Q(tenant_id=by.tenant_id))
    if by.actor_kind:
        events = events.filter(actor_kind=by.actor_kind)
    if by.actor_id is not None:
        events = events.filter(actor_id=by.actor_id)
    return Q(pk__in=events.order_by().values("target_id"))


def _became(outcome: StateOutcome, rows: MemoryQuerySet[Any]) -> Q:
    """The condition for an outcome; `rows` are all rows of the tenant."""
    match outcome:
        case StateOutcome.NATURAL:
            return Q(contradiction=Contradiction.NATURAL)
        case StateOutcome.HARSH:
            return Q(contradiction=Contradiction.HARSH)
        case StateOutcome.RETIRED:
            return Q(superseded_by=None)
        case StateOutcome.MERGED:
            # Without a condition on the owner, the index on `superseded_by` answers the count.
            ended = (
                rows.model.objects.unscoped("staff look at their tenants")
                .order_by()
                .filter(superseded_by__isnull=False)
            )
            joined = ended.values("superseded_by").annotate(many=Count("superseded_by")).filter(many__gt=1)
            return Q(superseded_by__in=joined.values("superseded_by"))
        case StateOutcome.UNDONE:
            back = rows.filter(restores__isnull=False)
            return Q(pk__in=back.values("restores")) | Q(superseded_by__in=back.values("pk"))
        case StateOutcome.PROMOTED:
            copied = rows.model.objects.unscoped("staff look at their tenants").filter(promoted_from__isnull=False)
            return Q(pk__in=copied.values("promoted_from")) | Q(promoted_from__isnull=False)


def _latest_of_its_chain(model: type[Fact | Playbook]) -> tuple[Q, ...]:
    """Conditions that no later state ended: no successor, no row that an undo restored, no row merged beside it.

    A branched chain appears once for each branch.
    """
    beside = model.objects.unscoped("staff look at their tenants").filter(superseded_by=OuterRef("superseded_by"))
    later = Q(superseded_at__gt=OuterRef("superseded_at")) | Q(
        superseded_at=OuterRef("superseded_at"), pk__gt=OuterRef("pk")
    )
    return (
        Q(superseded_by=None) | Q(superseded_by__superseded_at=None),
        ~Q(
            Exists(
                model.objects.unscoped("staff look at their tenants").filter(
                    restores=OuterRef("pk"), superseded_at__isnull=False
                )
            )
        ),
        ~Q(Exists(beside.filter(later))),
    )
