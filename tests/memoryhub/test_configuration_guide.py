"""The guide of settings says exactly what the environment reads."""

from __future__ import annotations

from pathlib import Path

from memoryhub.env import Env

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


def test_each_variable_stands_in_the_guide_in_the_words_of_the_source() -> None:
    rows = [line for line in GUIDE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{field.alias}` | {field.description} |" for field in Env.model_fields.values()]
