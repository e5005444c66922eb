"""A turn on the page: the line under the answer, the panel beside it, and what is left of what was forgotten."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from memories.chat.frame import panel_of, shown_turns
from memories.importing import ConversationSession, ConversationTurn
from memories.llm.tokens import STALLED
from memories.models import MessageState, Relation, Session
from memories.presenting.turns import LOOKED_AT, MADE_FROM, usage_of, why
from memories.selectors.sessions import find_turn, transcript
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import retire
from memories.services.portability.sessions_import import import_sessions
from memories.services.sessions.turns import add_tool_result, begin_turn, finish_turn
from memories.types import Contradiction, Kind, Recall, Recalled, Scope, Status
from tenants.principal import Principal
from tests.memories.chat.lives import live

pytestmark = pytest.mark.django_db


def test_the_line_counts_distinct_memories(principal: Principal) -> None:
    life = live(principal)
    assert usage_of(find_turn(principal, life.session, 1)) == ("saved 1", "replaced 1")


def test_a_failed_answer_says_why_in_the_language_of_the_page(principal: Principal) -> None:
    turn = begin_turn(principal, text="Where do I live?")
    finish_turn(principal, session_id=turn.session_id, turn=1, text="", state=MessageState.FAILED, error=STALLED)
    view = find_turn(principal, turn.session_id, 1)
    with translation.override("de"):
        shown = render_to_string("chat/_ended.html", {"turn": {"view": view}})
    assert "Das Modell antwortet nicht mehr." in shown


def test_what_ended_with_nothing_in_its_place_was_not_replaced(principal: Principal) -> None:
    fact = remember_fact(principal, text="Lives in Bath").memory_id
    turn = begin_turn(principal, text="I never lived there")
    outcome = retire(principal, kind=Kind.SEMANTIC, memory_id=fact, contradiction=Contradiction.HARSH)
    add_tool_result(principal, session_id=turn.session_id, turn=1, tool_call_id="c1", written=[outcome])
    view = find_turn(principal, turn.session_id, 1)
    assert usage_of(view) == ("ended 1",)
    (section,) = panel_of(principal, view).sections
    assert (section.title, section.cards[0][0].retracted) == ("Ended", True)


def test_the_sources_come_first_and_what_was_only_looked_at_is_folded_away(principal: Principal) -> None:
    life = live(principal)
    dog = remember_fact(principal, text="Dog is called Biscuit").memory_id
    items = tuple(
        Recalled(kind, pk, text, 1.0, None, Status.ACTIVE, Scope.USER, reasons=("same words",))
        for kind, pk, text in (
            (Kind.SEMANTIC, life.edinburgh, "Lives in Edinburgh"),
            (Kind.SEMANTIC, dog, "Dog is called Biscuit"),
            (Kind.PROCEDURAL, life.howto, "Reset the hub. Hold the button"),
        )
    )
    recall = Recall(uuid.uuid4(), "Who?", items, degraded=True, took_ms=1.0)
    add_tool_result(principal, session_id=life.session, turn=1, tool_call_id="c0", recall=recall)
    finish_turn(principal, session_id=life.session, turn=1, text="Biscuit is your dog.")
    view = find_turn(principal, life.session, 1)
    panel = panel_of(principal, view)
    assert [each.name for each in panel.sections] == [MADE_FROM, Relation.WROTE, Relation.REPLACED, LOOKED_AT]
    assert [each.is_folded for each in panel.sections] == [False, False, False, True]
    assert [(card.id, reason) for card, reason in panel.sections[0].cards] == [(dog, "The answer states this.")]
    ((howto, reason),) = panel.sections[3].cards
    assert (howto.id, reason) == (life.howto, why(["same words"])), "each memory is shown once"
    assert usage_of(view) == ("made from 1 memory", "saved 1", "replaced 1")
    assert usage_of(view, staff=True)[-1] == "also looked at 1"
    assert panel.degraded


@pytest.mark.parametrize("reason", ["same words", "same meaning", "said just after", "said by Ann"])
def test_a_reason_is_one_plain_sentence(reason: str) -> None:
    assert why([reason, "just written"]).endswith(".")
    assert reason not in why([reason])


def test_what_was_forgotten_leaves_a_tombstone_in_the_panel(principal: Principal) -> None:
    life = live(principal)
    forget(principal, kind=Kind.SEMANTIC, memory_id=life.bristol)
    panel = panel_of(principal, find_turn(principal, life.session, 1))
    replaced = next(section for section in panel.sections if section.name == Relation.REPLACED)
    assert (replaced.cards, replaced.gone, replaced.count) == ((), 1, 1)


def test_only_a_last_answer_that_is_not_whole_can_be_tried_again(principal: Principal) -> None:
    session = None
    for state in (MessageState.CUT_OFF, MessageState.FAILED, MessageState.COMPLETE, None):
        turn = begin_turn(principal, text="Hello", session_id=session)
        session = turn.session_id
        if state:
            finish_turn(principal, session_id=session, turn=turn.turn, text="He", state=state)
        *earlier, last = shown_turns(principal, transcript(principal, session))
        assert last.can_retry is (state is not MessageState.COMPLETE)
        assert not any(each.can_retry for each in earlier)


def test_words_of_two_people_wait_for_no_answer(principal: Principal) -> None:
    at = datetime(2025, 5, 1, tzinfo=UTC)
    said = tuple(ConversationTurn(name, name, f"I am {name}", at, name) for name in (principal.speaker, "Olaf"))
    import_sessions(principal, [ConversationSession("talk", said)], source="locomo")
    turns = shown_turns(principal, transcript(principal, Session.objects.of(principal).get().pk))
    assert [turn.speaker for turn in turns] == ["You", "Olaf"]
    assert not any(turn.has_answer or turn.can_retry for turn in turns)
