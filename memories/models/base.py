"""The columns and managers of every memory table, and the constraint that ties scope to owner.

Scope `user` and `task` need a tenant and a user, `tenant` a tenant and no user, `global` neither. Only task scope sets
`task`. Queries start with `of(principal)` or `visible_to(principal)`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.constants import MAX_APP_CHARACTERS
from memories.models.guard import GuardedRow, OwnedQuerySet, Row
from memories.types import CURRENT, Kind, Owner, Scope, Status
from tenants.principal import Principal


class MemoryQuerySet(OwnedQuerySet[Row]):
    """Memories scoped by owner."""

    def of(self, principal: Principal) -> Self:
        """The principal's own rows (user and task scope), of a confined principal only those that its app may see."""
        return super().of(principal).seen_by(principal.only_app)

    def seen_by(self, app: str | None) -> Self:
        """Rows of this app and of no app; all rows if `app` is None."""
        return self if app is None else self.filter(app__in=("", app))

    def visible_to(self, principal: Principal, task: str = "") -> Self:
        """The principal's own rows (with `task`, also that task's), their tenant's shared rows and the global ones.

        A confined principal sees the rows of its app and those of no app.
        """
        own = Q(tenant_id=principal.tenant_id, user_id=principal.user_id)
        visible = (
            (own & Q(scope=Scope.USER)) | Q(scope=Scope.TENANT, tenant_id=principal.tenant_id) | Q(scope=Scope.GLOBAL)
        )
        if task:
            visible |= own & Q(scope=Scope.TASK, task=task)
        return self._scoped().filter(visible).seen_by(principal.only_app)

    def current(self) -> Self:
        """Rows that a recall may return: neither superseded nor evicted."""
        return self.filter(status__in=CURRENT)

    def recallable(self) -> Self:
        """Rows that are not kept out of recall; only episodes may be."""
        kept_in = {"recallable": True} if getattr(self.model, "kind", None) is Kind.EPISODIC else {}
        return self.filter(**kept_in)

    def indexed(self) -> Self:
        """Rows that the search plane holds; see `MemoryRow.is_indexed`."""
        return self.exclude(status=Status.EVICTED).recallable()

    def unexpired(self, now: datetime) -> Self:
        """Rows that have not expired by `now`; only for models with `expires_at`."""
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))


class MemoryRow(GuardedRow):
    """The columns of every memory. The outbox fills `embedding` (int8, 384 values) and `token_ids` (uint16) later.

    `sensitivity` maps each kind of sensitive value found in the text (`SensitiveKind`) to its `Handling`. `metadata` is
    the caller's own (`memories/attributes/metadata.py`), `app` the tenant's agent that wrote the memory, if known.
    """

    kind: ClassVar[Kind]

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.RESTRICT, null=True, blank=True, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.RESTRICT, null=True, blank=True, related_name="+"
    )
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.USER)
    task = models.CharField(max_length=64, null=True, blank=True)
    text = models.TextField()
    content_hash = models.CharField(max_length=64)
    embedding = models.BinaryField(null=True, editable=False)
    embedding_model = models.CharField(max_length=80, blank=True, default="")
    token_ids = models.BinaryField(null=True, editable=False)
    version = models.PositiveBigIntegerField(default=1)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.ACTIVE)
    sensitivity: models.JSONField[dict[str, str]] = models.JSONField(default=dict, blank=True)
    metadata: models.JSONField[dict[str, Any]] = models.JSONField(default=dict, blank=True)
    app = models.CharField(max_length=MAX_APP_CHARACTERS, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        abstract = True

    @property
    def owner(self) -> Owner:
        """The owner of this memory."""
        return Owner(self.tenant_id, self.user_id)

    @property
    def is_indexed(self) -> bool:
        """Whether the search plane holds this row."""
        return self.status != Status.EVICTED

    @property
    def searchable_text(self) -> str:
        """The whole text, as it is shown, hashed and erased."""
        return self.text

    @property
    def indexed_text(self) -> str:
        """The text that is indexed and encoded, after a label and a colon if the memory has one."""
        return self.searchable_text


def scope_constraint(table: str) -> models.CheckConstraint:
    """The check constraint that scope decides which of tenant, user and task are set."""
    tenant, user, task = (Q(**{f"{column}__isnull": False}) for column in ("tenant", "user", "task"))
    return models.CheckConstraint(
        name=f"{table}_scope_matches_owner",
        condition=(
            (Q(scope=Scope.GLOBAL) & ~tenant & ~user & ~task)
            | (Q(scope=Scope.TENANT) & tenant & ~user & ~task)
            | (Q(scope=Scope.USER) & tenant & user & ~task)
            | (Q(scope=Scope.TASK) & tenant & user & task)
        ),
    )


# NULLs are distinct in a unique index, so each scope needs an index over its own owner columns.
_OWNER_COLUMNS: dict[Scope, tuple[str, ...]] = {
    Scope.GLOBAL: (),
    Scope.TENANT: ("tenant",),
    Scope.USER: ("tenant", "user"),
    Scope.TASK: ("tenant", "user", "task"),
}


def unique_while_current(
    table: str, column: str, scopes: Iterable[Scope] = tuple(Scope)
) -> list[models.UniqueConstraint]:
    """Make a non-empty `column` unique among the current rows of one owner, scope, task and app."""
    return [
        models.UniqueConstraint(
            name=f"{table}_{column}_per_{scope.value}",
            fields=[*_OWNER_COLUMNS[scope], "app", column],
            condition=Q(scope=scope, status__in=[s.value for s in CURRENT]) & ~Q(**{column: ""}),
        )
        for scope in scopes
    ]
