"""Memories as JSON lines: what a line may say, and that a record comes back as it was written."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memories.errors import InvalidInput
from memories.importing import MemoryRecord, parse_memories, parse_memory
from memories.importing.records import named, record_line
from memories.types import Contradiction, Kind, Source, Status

MARCH = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)

FULL = MemoryRecord(
    kind=Kind.SEMANTIC, text="Lives in Bristol – “near” the docks", id="f1", key="home_city", category="home",
    confidence=0.6, source=Source.AGENT_INFERRED, pinned=True, valid_from=MARCH, valid_to=MARCH, learned_at=MARCH,
    supersedes=("f0",), supported_by=("e1", "e2"), status=Status.SUPERSEDED, superseded_at=MARCH,
    contradiction=Contradiction.HARSH, task="moving",
)  # fmt: skip
PLAYBOOK = MemoryRecord(
    kind=Kind.PROCEDURAL, title="Bleed the brakes", trigger="the lever feels soft",
    steps=("Open the port", "Push fluid"), success_count=3, failure_count=1, last_success_at=MARCH,
)  # fmt: skip


@pytest.mark.parametrize("record", [pytest.param(FULL, id="fact"), pytest.param(PLAYBOOK, id="playbook")])
def test_a_record_comes_back_as_it_was_written(record: MemoryRecord) -> None:
    line = record_line(record)
    assert "\n" not in line
    assert replace(parse_memories([line])[0], place="") == record


def test_what_is_empty_is_not_written() -> None:
    line = record_line(MemoryRecord(kind=Kind.EPISODIC, text="hello"))
    assert json.loads(line) == {"kind": "episodic", "text": "hello"}


def test_the_shortest_lines_are_read_and_unknown_keys_left_aside() -> None:
    lines = ['{"kind": "semantic", "text": "Likes tea"}', '{"kind": "episodic", "text": "hi", "id": 7, "mood": "fine"}']
    fact, episode = parse_memories(lines)
    assert (fact.kind, fact.text, fact.confidence, fact.place) == (Kind.SEMANTIC, "Likes tea", None, "line 1")
    assert (episode.id, episode.status) == ("7", None)


def test_a_record_without_an_id_gets_one_from_what_it_says() -> None:
    tea = parse_memory({"kind": "semantic", "text": "Likes tea"})
    first, again, other = named([tea, tea, replace(tea, text="Likes coffee")])
    assert len({first.id, again.id, other.id}) == 3
    assert named([tea])[0].id == first.id


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("kind", "fact", id="unknown kind"),
        pytest.param("text", 5, id="a number as text"),
        pytest.param("id", True, id="true as id"),
        pytest.param("steps", "one", id="text as steps"),
        pytest.param("supersedes", [""], id="an empty id"),
        pytest.param("supersedes", {"a": 1}, id="an object as ids"),
        pytest.param("confidence", "high", id="a word as confidence"),
        pytest.param("confidence", 1.5, id="too confident"),
        pytest.param("success_count", -1, id="a negative count"),
        pytest.param("success_count", 2**40, id="a huge count"),
        pytest.param("pinned", 1, id="a number as flag"),
        pytest.param("status", "gone", id="unknown status"),
        pytest.param("valid_from", "2026-13-01", id="no such month"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_its_key(name: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f'line 2: "{name}" (should|is not)'):
        parse_memories(["", json.dumps({"kind": "semantic", name: value})])


def test_a_line_needs_a_kind() -> None:
    with pytest.raises(InvalidInput, match='line 1: needs "kind"'):
        parse_memories(['{"text": "Likes tea"}'])


def test_an_id_stands_for_one_memory_of_a_file() -> None:
    line = '{"kind": "semantic", "id": "a", "text": "x"}'
    with pytest.raises(InvalidInput, match='line 2: has the same "id" as line 1'):
        parse_memories([line, line])
