"""What a conversation changed at once is not changed again, or back, by the consolidation that reads it later."""

from __future__ import annotations

import pytest

from memories.agent.loop import run_turn
from memories.english.extractor import RuleExtractor
from memories.english.responder import Responder
from memories.models import Fact
from memories.selectors.history.chains import verify_chains
from memories.services.consolidation import consolidate
from tenants.principal import Principal
from tests.memories.agent.conftest import dispose, started_of

pytestmark = pytest.mark.django_db

# What is said, then what is believed afterwards, and what is known to have been wrong.
CONVERSATIONS: dict[str, tuple[list[str], set[str], set[str]]] = {
    "a move": (
        ["I live in Bristol", "My landlord is Mr Hale", "we left Bristol, in Edinburgh now"],
        {"Lives in Edinburgh"}, set(),
    ),
    "what never was": (["I live in Bristol", "I moved to Bath", "I never lived there"], set(), {"Lives in Bath"}),
    "a correction": (
        ["I just bought a Canyon Endurace with a 105 groupset", "No, it's an Ultegra, not a 105"],
        {"Has a Canyon Endurace with an Ultegra groupset"}, {"Has a Canyon Endurace with a 105 groupset"},
    ),
    "another name": (["My boss is Dana", "my boss is Kim, not Dana"], {"Boss is Kim"}, {"Boss is Dana"}),
    "two brothers": (
        ["My brother is called Tom", "My brother is called Alex"],
        {"Brother is called Tom", "Brother is called Alex"}, set(),
    ),
    "another day": (
        ["I go climbing on Tuesdays", "climbing is on Thursdays now"], {"Goes climbing on Thursdays"}, set(),
    ),
    "what was sold": (["I just bought a Brompton", "I sold the Brompton"], set(), set()),
    "a job that ended": (["I work at Acme", "I no longer work at Acme"], {"No longer works at Acme"}, set()),
    "what was forgotten": (["I live in Bath", "My boss is Kim", "forget that"], {"Lives in Bath"}, set()),
}  # fmt: skip


def states(principal: Principal) -> tuple[set[str], set[str]]:
    """What is believed, and what is known to have been wrong."""
    facts = Fact.objects.of(principal)
    wrong = facts.filter(retracted=True)
    return set(facts.current().values_list("text", flat=True)), set(wrong.values_list("text", flat=True))


@pytest.mark.english
@pytest.mark.parametrize(("said", "believed", "wrong"), CONVERSATIONS.values(), ids=CONVERSATIONS)
@pytest.mark.parametrize("each_turn", [True, False], ids=["after each turn", "at the end"])
def test_the_consolidation_agrees_with_the_conversation(
    principal: Principal, said: list[str], believed: set[str], wrong: set[str], each_turn: bool
) -> None:
    session = None
    for text in said:
        events = list(run_turn(principal, text=text, session_id=session, model=Responder()))
        session = started_of(events).session_id
        dispose(principal)
        if each_turn:
            consolidate(principal, extractor=RuleExtractor())
    assert states(principal) == (believed, wrong)
    before = Fact.objects.count()
    consolidate(principal, extractor=RuleExtractor())
    assert states(principal) == (believed, wrong)
    assert Fact.objects.count() == before
    assert verify_chains().ok
