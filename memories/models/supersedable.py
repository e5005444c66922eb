"""What facts and playbooks share: they are superseded, never overwritten, and the chain of links stays.

Invariant: `superseded_by` is set only on a superseded row; `superseded_at` is set exactly on superseded rows (an
evicted one keeps what it had). A superseded row without a successor was retired: it stopped being true and nothing took
its place.
"""

from __future__ import annotations

from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.models.base import MemoryRow
from memories.types import Contradiction, Status


class Supersedable(MemoryRow):
    """`learned_at` to `superseded_at` is when it was believed, whatever the world was like then.

    `restores` names the row whose wording an undo brought back, `promoted_from` the row of a narrower scope that this
    is a copy of; both outlive the row that they name. `archived_at`: the search plane keeps it in its archive.
    `likeness` is shared by wordings that may say the same (`hygiene/dedup.py`); the third gate looks there.
    `evicted_at`, `evicted_from`: when the garbage collection hid it, and the status to which undoing that returns it.
    `staleness`, 0 to 1, is as the last hygiene scan found it (`hygiene/ageing.py`).
    """

    superseded_by_id: UUID | None

    likeness = models.CharField(max_length=64, blank=True, default="", editable=False)
    learned_at = models.DateTimeField(default=timezone.now)
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="supersedes"
    )
    superseded_at = models.DateTimeField(null=True, blank=True)
    contradiction = models.CharField(max_length=8, choices=Contradiction.choices, blank=True, default="")
    retracted = models.BooleanField(default=False)
    restores = models.UUIDField(null=True, blank=True)
    promoted_from = models.UUIDField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    evicted_at = models.DateTimeField(null=True, blank=True)
    evicted_from = models.CharField(max_length=12, choices=Status.choices, blank=True, default="")
    staleness = models.FloatField(null=True, blank=True, editable=False)

    class Meta(MemoryRow.Meta):
        abstract = True


def likeness_index(table: str) -> models.Index:
    """To find the owner's wordings that may say the same."""
    return models.Index(fields=["tenant", "user", "likeness", "status"], name=f"{table}_likeness")


def open_tasks_index(table: str) -> models.Index:
    """To count the tasks that have memories of their own, for `metrics/`."""
    return models.Index(
        fields=["tenant", "user", "task", "status"], name=f"{table}_open_tasks", condition=Q(task__isnull=False)
    )


def history_indexes(table: str) -> list[models.Index]:
    """To browse what was superseded in a tenant, and to walk from a state to those that it was made into."""
    return [
        models.Index(
            fields=["tenant", "-superseded_at"],
            name=f"{table}_superseded",
            condition=Q(superseded_at__isnull=False),
        ),
        models.Index(fields=["restores"], name=f"{table}_restores", condition=Q(restores__isnull=False)),
        models.Index(fields=["promoted_from"], name=f"{table}_promoted", condition=Q(promoted_from__isnull=False)),
    ]


def supersession_constraints(table: str) -> list[models.CheckConstraint]:
    """Status, time and link of a supersession agree."""
    superseded = Q(status=Status.SUPERSEDED)
    return [
        models.CheckConstraint(
            name=f"{table}_superseded_has_time",
            condition=(superseded & Q(superseded_at__isnull=False))
            | (~superseded & Q(superseded_at__isnull=True))
            | Q(status=Status.EVICTED),
        ),
        models.CheckConstraint(
            name=f"{table}_link_means_superseded",
            condition=Q(superseded_by__isnull=True) | Q(status__in=[Status.SUPERSEDED, Status.EVICTED]),
        ),
        models.CheckConstraint(
            name=f"{table}_not_its_own_successor",
            condition=Q(superseded_by__isnull=True) | ~Q(superseded_by=models.F("id")),
        ),
        models.CheckConstraint(
            name=f"{table}_evicted_can_return",
            condition=(Q(status=Status.EVICTED) & Q(evicted_at__isnull=False) & ~Q(evicted_from=""))
            | (~Q(status=Status.EVICTED) & Q(evicted_at__isnull=True) & Q(evicted_from="")),
        ),
        models.CheckConstraint(
            name=f"{table}_archived_is_superseded",
            condition=Q(archived_at__isnull=True) | Q(superseded_at__isnull=False),
        ),
    ]
