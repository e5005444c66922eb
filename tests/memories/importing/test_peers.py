"""What is read from exports of other products, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memories.errors import InvalidInput
from memories.importing.formats import ExportFormat, parse_export
from memories.importing.peers import PeerExport, parse_langgraph, parse_letta, parse_mem0, parse_zep
from memories.types import Status

EXPORTS = Path(__file__).parent / "exports"


def read(name: str, whose: str = "") -> tuple[ExportFormat, PeerExport]:
    return parse_export((EXPORTS / name).read_bytes(), whose=whose)


def refused(export: PeerExport) -> dict[str, str]:
    return {each.place: each.reason for each in export.refused}


def said(export: PeerExport) -> list[tuple[str, str, bool, bool]]:
    turns = [turn for session in export.sessions for turn in session.turns]
    return [(turn.text, turn.speaker, turn.from_assistant, turn.remembered) for turn in turns]


def test_mem0_gives_the_facts_of_the_user_alone() -> None:
    form, export = read("mem0.json")
    lisbon, nuts = export.records
    assert (form, lisbon.text, lisbon.category) == (ExportFormat.MEM0, "Lives in Lisbon", "personal_details")
    assert lisbon.learned_at == datetime(2025, 3, 3, 17, 15, 22, 171832, UTC)
    assert lisbon.metadata == {"source": "onboarding", "categories": ["personal_details", "travel"]}
    assert (nuts.app, nuts.metadata, nuts.id) == (
        "kitchen",
        {"run_id": "run-7"},
        "mem0:0f5e0b61-6e4b-4c58-9b3f-8a4f4f6d1c02",
    )
    assert refused(export) == {
        "results.2": "was said by an assistant.",
        "results.3": "is a memory of an agent, not of a user.",
        "results.4": "was said by somebody else (actor_id).",
    }


def test_mem0_of_several_users_is_read_for_one_who_is_named() -> None:
    file = [{"memory": f"Likes {user}.", "user_id": user} for user in ("a", "b")]
    with pytest.raises(InvalidInput, match="entries of 2 users"):
        parse_mem0(file)
    with pytest.raises(InvalidInput, match="nobody in this file"):
        parse_mem0(file, "c")
    export = parse_mem0(file, "b")
    assert [record.text for record in export.records] == ["Likes b."]
    assert refused(export) == {"results.0": "belongs to another user."}


def test_zep_gives_facts_with_their_validity_and_what_was_said() -> None:
    form, export = read("zep.json")
    lisbon, porto = export.records
    assert (form, lisbon.status, lisbon.metadata) == (ExportFormat.ZEP, None, {"relation": "LIVES_IN"})
    assert (porto.status, porto.valid_to) == (Status.SUPERSEDED, datetime(2025, 1, 1, tzinfo=UTC))
    assert said(export) == [
        ("I moved to Lisbon in January.", "", False, True),
        ("How do you like it there?", "", True, False),
    ]
    assert refused(export) == {"threads.0.messages.2": "was said neither by a user nor by an assistant."}


def test_zep_of_several_speakers_marks_the_words_of_others() -> None:
    messages = [
        {"uuid": name, "role": "user", "name": name, "content": f"I am {name}.", "created_at": "2025-03-03T09:00:00Z"}
        for name in ("Alice", "Bruno")
    ]
    with pytest.raises(InvalidInput, match="entries of 2 users"):
        parse_zep({"messages": messages})
    export = parse_zep({"messages": messages}, "Alice")
    assert [(text, speaker) for text, speaker, _, _ in said(export)] == [("I am Alice.", ""), ("I am Bruno.", "Bruno")]


def test_letta_gives_the_block_about_the_user_and_what_the_user_said() -> None:
    form, export = read("letta.af")
    assert form is ExportFormat.LETTA
    assert [record.text for record in export.records] == ["First name: Alice", "Interests: sailing, chess"]
    assert said(export) == [("I moved to Lisbon.", "", False, True), ("Welcome to Lisbon!", "", True, False)]
    assert set(refused(export)) == {"blocks.1", "agents.0.messages.5"}


def test_letta_passages_are_facts() -> None:
    passages = [{"id": "passage-1", "text": "Sails on Sundays.", "created_at": "2025-03-03T09:00:00Z", "tags": ["x"]}]
    (record,) = parse_letta(passages).records
    assert (record.text, record.metadata) == ("Sails on Sundays.", {"tags": ["x"]})


def test_langgraph_gives_the_items_with_a_text() -> None:
    form, export = read("langgraph.json")
    assert form is ExportFormat.LANGGRAPH
    assert [record.text for record in export.records] == ["Lives in Lisbon.", "Allergic to hazelnuts."]
    assert export.records[1].metadata == {
        "namespace": ["memories", "alice"],
        "key": "m-2",
        "value": {"text": "Allergic to hazelnuts.", "importance": 5},
    }
    assert set(refused(export)) == {"items.2"}


def test_langgraph_of_several_namespaces_is_read_for_one_user() -> None:
    items = [{"namespace": ["memories", name], "key": "1", "value": {"text": f"Is {name}."}} for name in ("a", "b")]
    with pytest.raises(InvalidInput, match="2 namespaces"):
        parse_langgraph(items)
    assert [record.text for record in parse_langgraph(items, "b").records] == ["Is b."]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        pytest.param({"memory": "x" * 8_001}, "its text is too long", id="a huge text"),
        pytest.param({"memory": 7}, "its text must be text", id="a number"),
        pytest.param({"memory": "a\u0000b"}, "NUL", id="NUL"),
        pytest.param({"memory": "x", "metadata": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}}, "too deep", id="deep"),
        pytest.param({"memory": "x", "created_at": "soon"}, "is not a time", id="no time"),
        pytest.param({"memory": "x", "categories": 7, "metadata": [1]}, "", id="other types are ignored"),
        pytest.param({"memory": "x", "id": "1"}, "has the same id as results.0", id="an id twice"),
    ],
)
def test_a_bad_entry_is_refused_alone(entry: dict[str, Any], reason: str) -> None:
    export = parse_mem0([{"memory": "Sound.", "id": "1"}, entry])
    assert export.records[0].text == "Sound."
    assert len(export.refused) == bool(reason)
    assert all(reason in each.reason for each in export.refused)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"", "is empty"),
        (b"{", "not valid JSON"),
        (b"[NaN]", "NaN is no number"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "not valid UTF-8"),
        (b'{"results": 7}', "results must be a list"),
        (b'{"results": [7]}', 'results.0 must be an object with "memory"'),
        (b'{"edges": {}}', "edges must be a list"),
        (b'{"threads": [{"messages": "x"}]}', "threads.0.messages must be a list"),
        (b'{"items": [{"namespace": 7, "value": {}}]}', '"namespace" must be a list'),
        (b'{"agents": [{"name": 7, "messages": []}]}', '"name" must be text'),
        (b'{"kind": "semantic"}\n{"kind": 7}', 'line 2: "kind"'),
        (b'{"unknown": []}', "is not known from this file"),
        (b"7", "is not known from this file"),
    ],
)
def test_a_file_that_cannot_be_read_names_the_place(source: bytes, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_export(source)
    assert message in str(caught.value).replace(": must", " must")


def test_lines_of_memoryhub_are_known() -> None:
    line = json.dumps({"kind": "semantic", "text": "Likes trains."}).encode()
    form, export = parse_export(line + b"\n" + line)
    assert (form, len(export.records)) == (ExportFormat.MEMORYHUB, 2)
