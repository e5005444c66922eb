"""Facts (semantic memory) and playbooks (procedural memory), which are superseded and never overwritten.

Only superseded and evicted rows may have `superseded_by`. Every superseded row has `superseded_at`, and an evicted row
keeps the value it had. A superseded row without a successor was retired: it stopped being true without a replacement.
"""

from __future__ import annotations

from uuid import UUID

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.models.base import MemoryRow, scope_constraint, unique_while_current
from memories.models.episode import Episode
from memories.types import Contradiction, Kind, Source, Status


class Supersedable(MemoryRow):
    """A memory that can be superseded. It was believed from `learned_at` to `superseded_at`.

    `restores` is the id of the row whose text an undo brought back, `promoted_from` that of the row of narrower
    scope that was copied; either row may be gone. `archived_at`: the search plane keeps the row in its archive.
    Texts that a rule set considers equal share the digest `likeness` (`consolidation/rules.py`), which the gates
    compare (`services/facts/gates.py`). `evicted_at` and `evicted_from` are the time of the eviction and the status
    that an undo restores. `staleness`, 0 to 1, is from the last hygiene scan (`hygiene/ageing.py`).
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
    """Index for finding an owner's texts that may say the same."""
    return models.Index(fields=["tenant", "user", "likeness", "status"], name=f"{table}_likeness")


def open_tasks_index(table: str) -> models.Index:
    """Index for counting the tasks with memories of their own, for `metrics/`."""
    return models.Index(
        fields=["tenant", "user", "task", "status"], name=f"{table}_open_tasks", condition=Q(task__isnull=False)
    )


def history_indexes(table: str) -> list[models.Index]:
    """Indexes for listing a tenant's superseded rows and for following `restores` and `promoted_from`."""
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
    """Check constraints that keep the status, times and links of supersession and eviction consistent."""
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


class Fact(Supersedable):
    """A fact. `key` is the slot it fills, such as `home_city`, or empty; an owner has one current fact per key.

    After `review_after` it is ranked like a stale fact until it is confirmed; after `expires_at` it is no longer
    returned.
    """

    kind = Kind.SEMANTIC

    key = models.CharField(max_length=100, blank=True, default="")
    category = models.CharField(max_length=100, blank=True, default="")
    confidence = models.FloatField(default=1.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.USER_STATED)
    pinned = models.BooleanField(default=False)
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(null=True, blank=True)
    supporting_episodes = models.ManyToManyField(Episode, blank=True, related_name="supports")
    use_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_verified_at = models.DateTimeField(null=True, blank=True)
    review_after = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta(Supersedable.Meta):
        abstract = False
        ordering = ["-learned_at", "id"]
        constraints = [
            scope_constraint("fact"),
            *supersession_constraints("fact"),
            *unique_while_current("fact", "key"),
            *unique_while_current("fact", "content_hash"),
            models.CheckConstraint(
                name="fact_confidence_is_a_share", condition=Q(confidence__gte=0.0) & Q(confidence__lte=1.0)
            ),
            models.CheckConstraint(
                name="fact_validity_runs_forward",
                condition=Q(valid_from__isnull=True)
                | Q(valid_to__isnull=True)
                | Q(valid_to__gte=models.F("valid_from")),
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "status", "-learned_at"], name="fact_owner_status"),
            likeness_index("fact"),
            open_tasks_index("fact"),
            *history_indexes("fact"),
            models.Index(fields=["tenant", "staleness", "status"], name="fact_staleness"),
            models.Index(fields=["expires_at"], name="fact_to_expire", condition=Q(expires_at__isnull=False)),
            models.Index(fields=["review_after"], name="fact_to_review", condition=Q(review_after__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"Fact {self.id}"

    @property
    def indexed_text(self) -> str:
        """The text that is indexed and encoded, after the words of the key: "home city: Lives in Bristol"."""
        return f"{self.key.replace('_', ' ')}: {self.text}" if self.key else self.text


class Playbook(Supersedable):
    """A procedure: `trigger` says when to use it, `steps` what to do in order. Reported outcomes are counted.

    A `proposed` one is an agent's own idea: no automatic recall returns it before it worked once or the member accepted
    it.
    """

    kind = Kind.PROCEDURAL

    title = models.CharField(max_length=200)
    trigger = models.TextField(blank=True, default="")
    steps: models.JSONField[list[str]] = models.JSONField(default=list, blank=True)
    category = models.CharField(max_length=100, blank=True, default="")
    success_count = models.PositiveIntegerField(default=0)
    failure_count = models.PositiveIntegerField(default=0)
    last_success_at = models.DateTimeField(null=True, blank=True)
    last_failure_at = models.DateTimeField(null=True, blank=True)
    proposed = models.BooleanField(default=False)
    supporting_episodes = models.ManyToManyField(Episode, blank=True, related_name="supports_playbooks")

    class Meta(Supersedable.Meta):
        abstract = False
        ordering = ["title", "id"]
        constraints = [
            scope_constraint("playbook"),
            *supersession_constraints("playbook"),
            *unique_while_current("playbook", "content_hash"),
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "status"], name="playbook_owner_status"),
            likeness_index("playbook"),
            open_tasks_index("playbook"),
            *history_indexes("playbook"),
        ]

    def __str__(self) -> str:
        return f"Playbook {self.id}"

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts that the hash and the likeness are computed from."""
        return (self.title, self.trigger, self.text, *self.steps)

    @property
    def searchable_text(self) -> str:
        """Title, trigger, summary and steps, since a query may match any of them."""
        return " ".join(part for part in (self.title, self.trigger, self.text, *self.steps) if part)

    @property
    def indexed_text(self) -> str:
        """The text that is indexed and encoded: the title as a label, then the rest."""
        return f"{self.title}: {' '.join(part for part in (self.trigger, self.text, *self.steps) if part)}"
