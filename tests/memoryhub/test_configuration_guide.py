"""The guide of settings names every variable, and every choice that one has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args, get_origin

from memoryhub.env import Env, name_of

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


def test_the_guide_explains_each_variable_and_its_choices() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.{20,}) \|$", GUIDE.read_text(), re.MULTILINE))
    assert list(rows) == [name_of(field) for field in Env.model_fields]
    for name, field in Env.model_fields.items():
        choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
        assert all(f"`{choice}`" in rows[name_of(name)] for choice in choices), name
