"""What answers of the Python client say beside their fields."""

from __future__ import annotations

from typing import Any

import pytest

from memoryhub_client.types import Context


@pytest.mark.parametrize("found", ["items", "profile", "external", ""])
def test_a_context_is_a_prompt_if_anything_was_found(found: str) -> None:
    lists: dict[str, Any] = {name: [object()] if name == found else [] for name in ("items", "profile", "external")}
    context = Context(text="<memory>", tokens=1, instructions="Answer.", degraded=False, trace_id="", **lists)
    assert context.prompt == ("Answer.\n\n<memory>" if found else "")
