"""Between the requests of mem0 and the services: a narrowing that is named and empty."""

from __future__ import annotations

from typing import Any

import pytest

from memories.api.mem0.translation import filter_asked, require_no_empty
from memories.errors import InvalidInput


@pytest.mark.parametrize(
    "given",
    [
        {"agent_id": None},
        {"agent_id": " "},
        {"run_id": ""},
        {"categories": []},
        {"metadata": {}},
        {"start_date": ""},
        {"filters": None},
        {"filters": {}},
        {"filters": {"AND": []}},
        {"filters": {"AND": [{}]}},
        {"filters": {"AND": [{"user_id": "ann"}, {}]}},
        {"filters": {"AND": [{"AND": {}}]}},
    ],
    ids=str,
)
def test_an_empty_narrowing_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="leave it out"):
        require_no_empty({"run_id": "trip", **given})


@pytest.mark.parametrize(
    "given", [{}, {"org_id": None}, {"run_id": "trip"}, {"filters": {"AND": [{"user_id": "ann"}]}}], ids=str
)
def test_another_is_not(given: dict[str, Any]) -> None:
    require_no_empty(given)


@pytest.mark.parametrize("metadata", [0, False, 0.0, "trip", ["trip"]], ids=repr)
def test_metadata_that_is_no_object_selects_nothing_rather_than_everything(metadata: object) -> None:
    with pytest.raises(InvalidInput):
        filter_asked({"metadata": metadata})
