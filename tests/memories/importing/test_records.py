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
    kind=Kind.SEMANTIC,
    text="Lives in Bristol – “near” the docks",
    id="f1",
    key="home_city",
    category="home",
    confidence=0.6,
    source=Source.AGENT_INFERRED,
    pinned=True,
    valid_from=MARCH,
    valid_to=MARCH,
    learned_at=MARCH,
    supersedes=("f0",),
    supported_by=("e1", "e2"),
    status=Status.SUPERSEDED,
    superseded_at=MARCH,
    contradiction=Contradiction.HARSH,
    task="moving",
)
PLAYBOOK = MemoryRecord(
    kind=Kind.PROCEDURAL,
    title="Bleed the brakes",
    trigger="the lever feels soft",
    steps=("Open the port", "Push fluid"),
    success_count=3,
    failure_count=1,
    last_success_at=MARCH,
)


@pytest.mark.parametrize("record", [pytest.param(FULL, id="fact"), pytest.param(PLAYBOOK, id="playbook")])
def test_a_record_comes_back_as_it_was_written(record: MemoryRecord) -> None:
    line = record_line(record)
    assert "\n" not in line
    assert replace(parse_memories([line])[0], place="") == record


def test_what_is_empty_is_not_written() -> None:
    assert json.loads(record_line(MemoryRecord(kind=Kind.EPISODIC, text="hello"))) == {
        "kind": "episodic",
        "text": "hello",
    }


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
    ("line", "reason"),
    [
        pytest.param({}, 'needs "kind", one of episodic, semantic, procedural, catalog', id="no kind"),
        pytest.param({"kind": "fact"}, '"kind" must be one of episodic', id="unknown kind"),
        pytest.param({"text": 5}, '"text" must be text', id="a number as text"),
        pytest.param({"id": ["x"]}, '"id" must be text', id="a list as id"),
        pytest.param({"id": True}, '"id" must be text', id="true as id"),
        pytest.param({"steps": "one"}, '"steps" must be a list of texts', id="text as steps"),
        pytest.param({"steps": [1]}, '"steps" must be a list of texts', id="numbers as steps"),
        pytest.param({"supersedes": [""]}, '"supersedes" must be a list of ids', id="an empty id"),
        pytest.param({"supersedes": [None]}, '"supersedes" must be a list of ids', id="null as id"),
        pytest.param({"supersedes": {"a": 1}}, '"supersedes" must be', id="an object as ids"),
        pytest.param({"confidence": "high"}, '"confidence" must be a number from 0 to 1', id="a word as confidence"),
        pytest.param({"confidence": 1.5}, '"confidence" must be a number from 0 to 1', id="too confident"),
        pytest.param({"confidence": True}, '"confidence" must be a number from 0 to 1', id="true as confidence"),
        pytest.param({"success_count": -1}, '"success_count" must be a whole number', id="a negative count"),
        pytest.param({"success_count": 2**40}, '"success_count" must be a whole number', id="a huge count"),
        pytest.param({"pinned": 1}, '"pinned" must be true or false', id="a number as flag"),
        pytest.param({"status": "gone"}, '"status" must be one of active', id="unknown status"),
        pytest.param({"source": "rumour"}, '"source" must be one of user_stated', id="unknown source"),
        pytest.param({"valid_from": "2026-13-01"}, '"valid_from" is not a time', id="no such month"),
    ],
)
def test_a_bad_line_is_named_with_its_number(line: dict[str, object], reason: str) -> None:
    kind: dict[str, object] = {"kind": "semantic"} if line else {}
    with pytest.raises(InvalidInput) as raised:
        parse_memories(["", json.dumps(kind | line)])
    assert raised.value.field == "line 2"
    assert reason in raised.value.reason


def test_an_id_stands_for_one_memory_of_a_file() -> None:
    line = '{"kind": "semantic", "id": "a", "text": "x"}'
    with pytest.raises(InvalidInput, match='line 2: has the same "id" as line 1'):
        parse_memories([line, line])
