"""The tabs over what is remembered: the kinds with how much is in each, and what is to be settled."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from memories.presenting.sections import SECTIONS, Section
from memories.selectors.memories import count_memories
from memories.selectors.reviews import open_reviews
from tenants.principal import Principal


@dataclass(frozen=True, slots=True)
class Tab:
    """A section with how much is in it."""

    section: Section
    count: int


@dataclass(frozen=True, slots=True)
class Tabs:
    """All of them; `to_settle` is how many questions wait."""

    kinds: tuple[Tab, ...]
    to_settle: int
    settle_url: str


def tabs_of(principal: Principal) -> Tabs:
    """Those of a member, counted."""
    counts = count_memories(principal)
    kinds = tuple(Tab(section, counts[section.kind]) for section in SECTIONS.values())
    return Tabs(kinds, open_reviews(principal).count(), reverse("remember:reviews"))
