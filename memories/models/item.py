"""Item: what a program puts under a namespace and a key. It is no memory: nothing judges, merges or learns from it.

The audit log keeps what an item was before (docs/adr/0031-items.md).
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Left
from django.db.models.lookups import Exact

from memories.attributes.items import MAX_ITEM_KEY_CHARACTERS, MAX_NAMESPACE_CHARACTERS, labels_of, prefixes_of
from memories.models.base import MemoryRow, scope_constraint
from memories.types import Kind, Scope


def there(now: datetime) -> Q:
    """The condition that an item was neither deleted nor has expired by `now`."""
    return ~Q(value="") & (Q(expires_at__isnull=True) | Q(expires_at__gt=now))


def begins_with(namespace: str) -> Exact[Any]:
    """The condition that a namespace begins with another. SQLite's LIKE would take upper and lower case for equal."""
    return Exact(Left("namespace", len(namespace)), Value(namespace))


class Item(MemoryRow):
    """The present value under a namespace and key, which a put replaces in place.

    `value` is JSON as text, because a JSON column may rewrite numbers; it is empty once the item was deleted. The row
    then stays, so that its version grows if the item comes back. `text` is what a search reads of the value, `metadata`
    what filters compare of it. `status`: active if a search may find it, evicted if it was deleted or has no text.
    `content_hash` is the digest of namespace and key. Reading may put off `expires_at`, by `ttl_minutes`. `searched` is
    the `index` of the last put; null before items kept it.
    """

    kind = Kind.ITEM

    namespace = models.CharField(max_length=MAX_NAMESPACE_CHARACTERS)
    key = models.CharField(max_length=MAX_ITEM_KEY_CHARACTERS)
    value = models.TextField()
    searched: models.JSONField[Any] = models.JSONField(null=True, blank=True)
    ttl_minutes = models.FloatField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta(MemoryRow.Meta):
        abstract = False
        ordering = ["-updated_at", "id"]
        constraints = [
            scope_constraint("item"),
            models.CheckConstraint(name="item_belongs_to_a_user", condition=models.Q(scope=Scope.USER)),
            models.UniqueConstraint(fields=["tenant", "user", "app", "content_hash"], name="item_of_namespace_and_key"),
        ]
        indexes = [
            models.Index(fields=["tenant", "user", "-updated_at"], name="item_recent"),
            models.Index(fields=["expires_at"], name="item_to_expire", condition=models.Q(expires_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"Item {self.id}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the namespace."""
        return labels_of(self.namespace)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The texts of the namespaces that hold the item, by which a search plane finds it."""
        return prefixes_of(self.namespace)

    @property
    def index(self) -> bool | tuple[str, ...]:
        """Which texts of the value a search reads: all, none, or those at the paths."""
        if self.searched is None:
            return bool(self.text)
        return self.searched if isinstance(self.searched, bool) else tuple(self.searched)

    @property
    def content(self) -> Any:
        """The value; None if the item was deleted."""
        return json.loads(self.value) if self.value else None
