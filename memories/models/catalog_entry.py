"""CatalogEntry: shared knowledge (L3), global or of a tenant. Members read it but cannot write it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from memories.models.base import MemoryRow, scope_constraint, unique_while_current
from memories.types import Kind, Scope


class CatalogEntry(MemoryRow):
    """One article or product record."""

    kind = Kind.CATALOG

    title = models.CharField(max_length=200)
    source_url = models.URLField(max_length=500, blank=True, default="")

    class Meta(MemoryRow.Meta):
        abstract = False
        ordering = ["title", "id"]
        verbose_name_plural = "catalog entries"
        constraints = [
            scope_constraint("catalog"),
            models.CheckConstraint(name="catalog_is_shared", condition=Q(scope__in=[Scope.TENANT, Scope.GLOBAL])),
            *unique_while_current("catalog", "content_hash", (Scope.TENANT, Scope.GLOBAL)),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def indexed_text(self) -> str:
        """The text that is indexed and encoded: the title as a label, then the text."""
        return f"{self.title}: {self.text}"

    @property
    def searchable_text(self) -> str:
        """Title and text."""
        return f"{self.title}. {self.text}"
