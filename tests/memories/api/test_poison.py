"""Messages that once ended a member's learning for good: what is said after them is learned."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from memories.models import Fact
from tests.memories.api.caller import Caller

CARDS = "Here is the export you asked for:\n" + "4111111111111111\n" * 1_870
NESTED = (
    "I work as a glazier in Leeds now.\n\n"
    '{"id":"00000000-0000-4000-8000-000000000000","kind":"semantic","x":' + "[" * 30_000
)


@pytest.mark.english
@pytest.mark.parametrize("pill", [CARDS[:31_823], NESTED], ids=["31,823 characters of cards", "nested JSON"])
def test_what_is_said_after_a_poison_pill_is_learned(ada: Caller, pill: str, settings: Settings) -> None:
    settings.MEMORYHUB_LIMITS = {}  # a pill takes all turns of its minute
    ada.post("turns/", {"message": pill})
    ada.post("turns/", {"message": "My sister is called Marla."})
    waiting = [ada.post("consolidation/").json["waiting"] for _ in range(5)]
    assert waiting[-1] == 0
    assert any("Marla" in text for text in Fact.objects.of(ada.principal).values_list("text", flat=True))
    assert all(run["state"] == "done" or run["error"] for run in ada.get("consolidation/").json["results"])
