"""Junk by REST: 400 with the field and a reason, and nothing stored."""

from __future__ import annotations

import pytest

from memories.models import Fact
from tests.memories.api.caller import Caller


@pytest.mark.english
def test_junk_is_a_problem_of_its_field(ada: Caller) -> None:
    answer = ada.post("memories/", {"text": "As an AI language model, I cannot sail.", "source": "agent_inferred"})
    assert (answer.status, list(answer.faults)) == (400, ["text"])
    assert not Fact.objects.exists()
