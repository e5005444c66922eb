"""An account export of ChatGPT: the visible path of each tree, its words and its times."""

from __future__ import annotations

from typing import Any

import pytest

from memories.errors import InvalidInput
from memories.importing import parse_chatgpt


def node(parent: str | None, role: str = "user", text: str = "", **message: Any) -> dict[str, Any]:
    """One node of the tree, said at 1,700,000,000 seconds unless told otherwise."""
    spoken = {
        "author": {"role": role},
        "create_time": 1_700_000_000.5,
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
    }
    return {"parent": parent, "message": spoken | message}


def export_of(current: object = "d", **nodes: Any) -> list[dict[str, Any]]:
    """An export of one conversation: a question, an abandoned answer, and the answer that stands."""
    mapping: dict[str, Any] = {
        "root": {"parent": None, "message": None},
        "a": node("root", "system", "You are helpful."),
        "b": node("a", "user", "How do I true a wheel?"),
        "c": node("b", "assistant", "Abandoned."),
        "d": node("b", "assistant", "Turn the nipples by quarters.", create_time=1_700_000_060),
    }
    conversation = {"id": "conv", "title": "Wheels", "create_time": 1_690_000_000, "current_node": current}
    return [conversation | {"mapping": mapping | nodes}]


def test_the_path_to_the_current_message_is_what_was_said() -> None:
    (session,) = parse_chatgpt(export_of())
    assert (session.key, session.title) == ("conv", "Wheels")
    assert [(turn.key, turn.text, turn.remembered) for turn in session.turns] == [
        ("b", "How do I true a wheel?", True),
        ("d", "Turn the nipples by quarters.", False),
    ]
    assert [turn.happened_at.timestamp() for turn in session.turns] == [1_700_000_000.5, 1_700_000_060]


@pytest.mark.parametrize(
    "unspoken",
    [
        pytest.param(node("b", "assistant", "print(1)", recipient="python"), id="a tool call"),
        pytest.param(node("b", "tool", "1"), id="a tool result"),
        pytest.param(node("b", "user", " "), id="blank"),
        pytest.param(node("b", content={"content_type": "code", "text": "x"}), id="code"),
        pytest.param(node("b", content={"content_type": "text", "parts": None}), id="no parts"),
        pytest.param(node("b", "user", "me", metadata={"is_visually_hidden_from_conversation": True}), id="hidden"),
        pytest.param(node("b", author=None), id="nobody"),
    ],
)
def test_what_nobody_said_is_left_out(unspoken: dict[str, Any]) -> None:
    (session,) = parse_chatgpt(export_of(d=unspoken))
    assert [turn.key for turn in session.turns] == ["b"]


def test_of_a_message_with_pictures_the_words_are_kept() -> None:
    parts = ["What is this?", {"content_type": "image_asset_pointer"}, "A cassette?"]
    (session,) = parse_chatgpt(export_of("d", d=node("b", content={"content_type": "multimodal_text", "parts": parts})))
    assert session.turns[-1].text == "What is this?\nA cassette?"


def test_a_message_without_a_time_has_that_of_the_one_before_or_of_the_conversation() -> None:
    (session,) = parse_chatgpt(export_of(b=node("a", text="first", create_time=None), d=node("b", "assistant", "x")))
    assert [turn.happened_at.timestamp() for turn in session.turns] == [1_690_000_000, 1_700_000_000.5]


def test_a_paste_too_long_for_a_memory_stays_in_the_transcript() -> None:
    (session,) = parse_chatgpt(export_of("b", b=node("a", text="x" * 32_001)))
    assert (session.turns[0].from_assistant, session.turns[0].remembered) == (False, False)


def test_conversations_without_words_are_none_and_one_can_be_chosen() -> None:
    empty = {"id": "e", "title": "", "create_time": 1, "current_node": "root", "mapping": {}}
    for chosen in ((), (1,)):
        assert [session.key for session in parse_chatgpt([empty, *export_of()], *chosen)] == ["conv"]
    with pytest.raises(InvalidInput, match="no number 2; this file has 2, from 0"):
        parse_chatgpt([empty, *export_of()], 2)


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        pytest.param([{"turns": []}], "file", "no conversations.json", id="another form"),
        pytest.param(export_of("gone"), "conversation 0", "names no message", id="no current message"),
        pytest.param(export_of(b=node("d")), "conversation 0", "no tree", id="a circle"),
        pytest.param(export_of(d=5), "conversation 0", "no tree", id="a number as node"),
        pytest.param(export_of(d=node("b", text="x", create_time="x")), "message d", "not a time", id="a bad time"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(data: Any, field: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_chatgpt(data)
    assert field in raised.value.field
    assert reason in raised.value.reason
