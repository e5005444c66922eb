"""The stories are whole: each can be read, and each replacement by name names something that was written before."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memories.constants import MAX_MEMORY_CHARACTERS, MAX_TITLE_CHARACTERS
from memories.demo.story import COMPANIES, CONTENT, PEOPLE, read_story
from memories.types import Kind

STORIES = sorted(CONTENT.glob("*/*.toml"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_runs_forward_and_ends_before_today(path: Path) -> None:
    days = [session.days_ago for session in read_story(path)]
    assert days == sorted(days, reverse=True)
    assert days[-1] >= 1


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_what_is_replaced_by_name_was_written_before(path: Path) -> None:
    written: set[str] = set()
    for session in read_story(path):
        for each in (each for turn in session.turn for each in turn.written):
            assert set(each.replaces) <= written
            assert 0 < len(each.text or each.title) <= (MAX_MEMORY_CHARACTERS if each.text else MAX_TITLE_CHARACTERS)
            assert (each.kind is Kind.PROCEDURAL) == bool(each.steps)
            written.add(each.text or each.title)


def test_every_file_belongs_to_somebody_in_the_demo() -> None:
    named = {CONTENT / p.companies[0] / name for p in PEOPLE for name in (p.story, p.records) if name}
    shared = {"everybody.jsonl", "people.toml", *(f"{company.slug}/catalog.jsonl" for company in COMPANIES)}
    there = {path for path in CONTENT.rglob("*") if path.is_file()}
    assert named | {CONTENT / name for name in shared} == there


def test_a_session_begins_so_many_days_ago_at_its_time_of_day() -> None:
    first = read_story(CONTENT / "quill-lane" / "ada.toml")[-1]
    assert first.begins(datetime(2026, 3, 10, 23, 59, tzinfo=UTC)) == datetime(2026, 3, 8, 17, 20, tzinfo=UTC)
