"""Junk by REST: 400 with the field and a reason, and nothing stored."""

from __future__ import annotations

import pytest

from memories.models import Fact
from tests.memories.api.caller import Caller


@pytest.mark.parametrize(
    ("confidence", "reason"),
    [(-5, "at least 0.0."), (-(10**400), "at least 0.0."), (1.5, "at most 1.0."), (10**400, "at most 1.0.")],
)
def test_a_share_out_of_range_is_told_the_bound_it_exceeds(ada: Caller, confidence: float, reason: str) -> None:
    answer = ada.post("memories/", {"text": "Likes tea", "confidence": confidence})
    assert answer.status == 400 and answer.faults == {"confidence": f"must be {reason}"}


@pytest.mark.english
def test_junk_is_a_problem_of_its_field(ada: Caller) -> None:
    answer = ada.post("memories/", {"text": "As an AI language model, I cannot sail.", "source": "agent_inferred"})
    assert (answer.status, list(answer.faults)) == (400, ["text"])
    assert not Fact.objects.exists()


@pytest.mark.parametrize(("limit", "status"), [(5.0, 200), (5.5, 400), ("5", 400), (True, 400), (1e308, 400)])
def test_a_whole_number_may_be_written_with_a_point(ada: Caller, limit: object, status: int) -> None:
    assert ada.post("recall/", {"query": "tea", "limit": limit}).status == status
