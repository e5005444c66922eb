"""The memories of the chat's pages: views of rows with the chat's own addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.urls import reverse

from memories.presenting.memory import OWN_NAME, Detail, MemoryView, details_of, memory_views, speaker_name
from memories.selectors.memories import Memory
from memories.types import Kind
from tenants.principal import Principal

__all__ = ["OWN_NAME", "Detail", "address", "cards_of", "details_of", "speaker_name", "undo_address"]


def cards_of(
    principal: Principal,
    rows: Sequence[Memory],
    *,
    reasons: Mapping[UUID, tuple[str, ...]] | None = None,
    quotes: bool = False,
) -> tuple[MemoryView, ...]:
    """The views of these rows, linked to the member's own pages."""
    return memory_views(principal, rows, address=address, reasons=reasons, quotes=quotes)


def address(kind: Kind, memory_id: UUID) -> str:
    """The page of one memory."""
    return reverse("remember:memory", kwargs={"kind": kind, "memory_id": memory_id})


def undo_address(kind: Kind, memory_id: UUID) -> str:
    """Where to post that the ending of a memory was a mistake."""
    return reverse("remember:undo", kwargs={"kind": kind, "memory_id": memory_id})
