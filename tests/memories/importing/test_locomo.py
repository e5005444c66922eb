"""Two people's dated sessions: every turn is remembered with its speaker, its time and what was shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memories.errors import InvalidInput
from memories.importing import parse_locomo


def file_of(**conversation: Any) -> list[dict[str, Any]]:
    """A file of one conversation with two sessions, in the wrong order, and some changes."""
    sessions: dict[str, Any] = {
        "speaker_a": "Ines",
        "speaker_b": "Olaf",
        "session_10_date_time": "12:05 am on 2 March, 2024",
        "session_10": [{"speaker": "Olaf", "dia_id": "D10:1", "text": "Back from the fjord!"}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ines", "dia_id": "D2:1", "text": "Look", "blip_caption": "a red kayak", "query": "kayak"},
            {"speaker": "Olaf", "dia_id": "D2:2", "text": "Nice", "query": "asked without a picture"},
        ],
    }
    return [{"sample_id": "conv-1", "conversation": sessions | conversation}]


def test_sessions_come_by_number_with_their_times() -> None:
    second, tenth = parse_locomo(file_of(), 0)
    assert (second.key, tenth.key) == ("conv-1/session_2", "conv-1/session_10")
    assert second.title == "Ines and Olaf, 8 May 2023"
    times = [datetime(2023, 5, 8, 13, minute, tzinfo=UTC) for minute in (56, 57)]
    assert [turn.happened_at for turn in second.turns] == times
    assert tenth.turns[0].happened_at == datetime(2024, 3, 2, 0, 5, tzinfo=UTC)


def test_both_people_are_remembered_and_a_picture_is_context() -> None:
    look, nice = parse_locomo(file_of(), 0)[0].turns
    assert (look.key, look.speaker, look.remembered, look.context) == ("D2:1", "Ines", True, "a red kayak kayak")
    assert (nice.key, nice.speaker, nice.remembered, nice.context) == ("D2:2", "Olaf", True, "")


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        pytest.param({"a": 1}, "file", "is not in LoCoMo's form", id="another form"),
        pytest.param([], "file", "is not in LoCoMo's form", id="empty"),
        pytest.param(file_of(session_3=[]), "session_3_date_time", "must be a time", id="no date"),
        pytest.param(file_of(session_2_date_time="31 June"), "session_2_date_time", "must be a time", id="no day"),
        pytest.param(file_of(session_2="x"), "session_2", "must be a list", id="no list"),
        pytest.param(file_of(session_2=["x"]), "session_2, turn 1", "must be an object", id="no turn"),
        pytest.param(file_of(session_2=[{"text": "x"}]), "session_2, turn 1", 'needs "speaker"', id="nobody"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(data: Any, field: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_locomo(data, 0)
    assert raised.value.field == field
    assert reason in raised.value.reason


@pytest.mark.parametrize("number", [1, -1])
def test_a_conversation_that_is_not_there_is_refused(number: int) -> None:
    with pytest.raises(InvalidInput, match=f"no number {number}; this file has 1, from 0"):
        parse_locomo(file_of(), number)
