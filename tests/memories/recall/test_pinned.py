"""Pinned facts in the order in which they go into the prompt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memories.models import Fact
from memories.recall.pipeline import foremost

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def pinned(pk: str, **fields: Any) -> Fact:
    return Fact(pk=pk, **{"learned_at": MARCH} | fields)


def order(*facts: Fact) -> list[str]:
    return [str(fact.pk) for fact in foremost(facts)]


def test_what_must_hold_and_who_it_is_come_before_what_is_used_most() -> None:
    assert order(
        pinned("used", use_count=900),
        pinned("diet", key="diet"),
        pinned("pronouns", key="pronouns"),
        pinned("name", key="name"),
        pinned("rule", category="constraint"),
        pinned("nuts", key="allergy_peanuts"),
    ) == ["rule", "name", "pronouns", "nuts", "diet", "used"]


def test_the_rest_is_by_use_then_the_newest_first() -> None:
    later = MARCH + timedelta(days=1)
    facts = (pinned("b"), pinned("a"), pinned("new", learned_at=later), pinned("used", use_count=2))
    assert order(*facts) == order(*facts[::-1]) == ["used", "new", "a", "b"]


def test_only_a_part_of_a_key_is_no_identity() -> None:
    facts = (pinned("a", key="programming_language"), pinned("b", use_count=1), pinned("c", key="company_name"))
    assert order(*facts) == ["b", "a", "c"]


def test_a_category_places_what_its_key_does_not() -> None:
    facts = (pinned("used", use_count=5), pinned("pressure", key="blood_pressure", category="Health"))
    assert order(*facts) == ["pressure", "used"]
