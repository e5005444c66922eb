"""Conversations as JSON lines: who said what when, and which line is at fault."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from memories.errors import InvalidInput
from memories.importing import parse_jsonl

GOOD = {"session": "s1", "role": "user", "content": "I moved to Leeds", "timestamp": "2026-03-01T10:00:00Z"}


def line(**changes: object) -> str:
    """A good line with some keys changed; None leaves a key out."""
    return json.dumps({key: value for key, value in (GOOD | changes).items() if value is not None})


def test_sessions_keep_their_order_and_turns_go_by_time() -> None:
    lines = [
        line(content="second", timestamp="2026-03-01T10:00:00+00:00"),
        line(session="s0", content="other"),
        line(content="first", timestamp="2026-03-01T10:30:00+01:00"),
    ]
    first, other = parse_jsonl(lines)
    assert [turn.text for turn in first.turns] == ["first", "second"]
    assert (first.key, other.key) == ("s1", "s0")


def test_the_assistant_is_not_remembered_and_a_third_person_is() -> None:
    lines = [line(), line(role="assistant"), line(role="Melanie"), line(role="system"), line(role="tool")]
    (session,) = parse_jsonl(lines)
    assert [(turn.speaker, turn.from_assistant, turn.remembered) for turn in session.turns] == [
        ("", False, True),
        ("", True, False),
        ("Melanie", False, True),
    ]


@pytest.mark.parametrize(
    "timestamp",
    [
        pytest.param("2026-03-01T10:00:00Z", id="utc"),
        pytest.param("2026-03-01T12:00:00+02:00", id="with an offset"),
        pytest.param("2026-03-01 10:00", id="without an offset it is UTC"),
        pytest.param(1772359200, id="seconds since 1970"),
    ],
)
def test_a_time_may_be_written_in_these_ways(timestamp: object) -> None:
    ((turn,),) = [session.turns for session in parse_jsonl([line(timestamp=timestamp)])]
    assert turn.happened_at == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_a_turn_keeps_its_key_when_the_file_grows_and_a_repeated_one_has_its_own() -> None:
    (before,) = parse_jsonl([line(), line()])
    (after,) = parse_jsonl([line(content="earlier", timestamp="2026-02-01T10:00:00Z"), line(), line(), line()])
    assert {turn.key for turn in before.turns} < {turn.key for turn in after.turns}
    assert len({turn.key for turn in after.turns}) == 4


def test_blank_lines_and_a_byte_order_mark_are_no_lines() -> None:
    (session,) = parse_jsonl([b"\xef\xbb\xbf" + line().encode(), b"", b"  \t"])
    assert len(session.turns) == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        pytest.param("{", "is not valid JSON", id="not JSON"),
        pytest.param('{"session": NaN}', "no number of JSON", id="NaN"),
        pytest.param("[" * 100_000, "nested too deeply", id="nested too deeply"),
        pytest.param('{"session": ' + "9" * 5000 + "}", "is not readable JSON", id="a number of 5,000 digits"),
        pytest.param(b'{"session": "\xff"}', "is not valid UTF-8 (at byte 14)", id="not UTF-8"),
        pytest.param(line(session=None), 'needs "session"', id="no session"),
        pytest.param(line(role=None), 'needs "role"', id="no role"),
        pytest.param(line(content=None), '"content" is empty', id="no content"),
        pytest.param(line(content="\u200f \u202e"), '"content" is empty', id="nothing visible"),
        pytest.param(line(content="x" * 32_001), '"content" is too long: 32,001', id="content too long"),
        pytest.param(line(timestamp=None), 'needs "timestamp"', id="no time"),
        pytest.param(line(timestamp=True), '"timestamp" must be a time', id="true as time"),
        pytest.param(line(timestamp=1772359200000), '"timestamp" is not a time', id="milliseconds"),
        pytest.param(line(timestamp="1066-10-14T09:00:00Z"), "outside the years 1800 to 2200", id="too long ago"),
    ],
)
def test_a_bad_line_is_named_with_its_number(bad: str | bytes, reason: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_jsonl([line(), "", bad, line()])
    assert raised.value.field == "line 3"
    assert reason in raised.value.reason
