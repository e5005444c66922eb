"""Pinned facts in the order in which they go into the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memories.recall.pipeline import foremost

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Pinned:
    pk: str
    key: str = ""
    category: str = ""
    use_count: int = 0
    learned_at: datetime = MARCH


def order(*facts: Pinned) -> list[str]:
    return [fact.pk for fact in foremost(facts)]


def test_what_must_hold_and_who_it_is_come_before_what_is_used_most() -> None:
    assert order(
        Pinned("used", use_count=900),
        Pinned("diet", key="diet"),
        Pinned("pronouns", key="pronouns"),
        Pinned("name", key="name"),
        Pinned("rule", category="constraint"),
        Pinned("nuts", key="allergy_peanuts"),
    ) == ["rule", "name", "pronouns", "nuts", "diet", "used"]


def test_the_rest_is_by_use_then_the_newest_first() -> None:
    later = MARCH + timedelta(days=1)
    facts = (Pinned("b"), Pinned("a"), Pinned("new", learned_at=later), Pinned("used", use_count=2))
    assert order(*facts) == order(*facts[::-1]) == ["used", "new", "a", "b"]


def test_only_a_part_of_a_key_is_no_identity() -> None:
    facts = (Pinned("a", key="programming_language"), Pinned("b", use_count=1), Pinned("c", key="company_name"))
    assert order(*facts) == ["b", "a", "c"]


def test_a_category_places_what_its_key_does_not() -> None:
    facts = (Pinned("used", use_count=5), Pinned("pressure", key="blood_pressure", category="Health"))
    assert order(*facts) == ["pressure", "used"]
