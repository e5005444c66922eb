"""What is accepted as an answer: its shape exactly, and times as exact as they were said."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from memories.consolidation.extraction import Answer, moment
from memories.llm.json_answers import strict_schema

FACT = {"text": "Lives in Edinburgh", "confidence": 1, "quote": "in Edinburgh", "episodes": ["E1"]}
EMPTY: dict[str, list[Any]] = {"facts": [], "ends": [], "playbooks": [], "outcomes": []}


def read(**parts: Any) -> Answer:
    return Answer.model_validate_json(json.dumps(EMPTY | parts), strict=True)


def test_members_that_may_be_empty_may_be_missing() -> None:
    (fact,) = read(facts=[FACT]).facts
    assert (fact.key, fact.supersedes, fact.contradiction, fact.valid_from) == ("", [], "natural", "")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"facts": [FACT | {"owner": "x"}]}, id="an unknown member"),
        pytest.param({"facts": [FACT | {"text": ""}]}, id="no text"),
        pytest.param({"facts": [FACT | {"key": "Home City"}]}, id="a key that is none"),
        pytest.param({"facts": [FACT | {"valid_from": "last spring"}]}, id="no date"),
        pytest.param({"facts": [{"text": "Lives in Edinburgh"}]}, id="no support"),
        pytest.param({"more": []}, id="an unknown list"),
    ],
)
def test_anything_else_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read(**parts)
    with pytest.raises(ValidationError, match="Field required"):
        Answer.model_validate_json("{}", strict=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-03", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2024-03-09", datetime(2024, 3, 9, tzinfo=UTC)),
        ("2024-03-09T08:30", datetime(2024, 3, 9, 8, 30, tzinfo=UTC)),
        ("2024-03-09T08:30:00+02:00", datetime(2024, 3, 9, 6, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_as_exact_as_it_was_said(text: str, expected: datetime | None) -> None:
    assert moment(text) == expected


def test_the_schema_that_is_sent_is_strict_in_all_its_parts() -> None:
    schema = strict_schema(Answer)
    for part in (schema, *schema["$defs"].values()):
        assert part["additionalProperties"] is False
        assert part["required"] == [*part["properties"]]
    sent = json.dumps(schema)
    assert not [word for word in ("maxLength", "minimum", "default", "pattern") if f'"{word}"' in sent]
