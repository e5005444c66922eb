"""Conversations, turns and the answers of a memory: everything behind an answer, for staff of the tenant alone."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memories.models import Episode, Fact, Mention, Message, MessageState, RecallTrace, Session
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import add_tool_result, add_tool_step, begin_turn, finish_turn
from memories.staff import conversations
from memories.types import Kind
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.memories.staff.looking import INLINE, inside, own_queries, page_of, talk, words
from tests.stored import lives

pytestmark = pytest.mark.django_db

# Session and user, the event with its chain (6); session twice, messages, mentions, memories of two kinds, neighbours,
# traces, memories of their candidates.
QUERIES_OF_A_TURN = 18
QUERIES_OF_A_LIST = 11


lived, life = lives(talk)


@pytest.fixture
def talked(life: Session) -> Session:
    return life


@pytest.mark.english
def test_a_turn_shows_what_was_said_recalled_injected_and_answered(
    support: Client, membership: Membership, talked: Session
) -> None:
    answer = support.get(page_of("turn", membership, talked.pk, 1))
    told = words(answer)
    fact = Fact.objects.get(text="Lives in Bristol")
    stored = Message.objects.filter(session=talked, turn=1).order_by("step").last()
    assert answer.status_code == 200 and stored is not None and stored.text in told
    assert "Where do I live?" in told and "Lives in Bristol" in told
    assert "Automatic recall, added to the prompt" in told and "recall_memory" in told
    (call, *_) = answer.context["calls"]
    (given,) = [each for each in call["recalled"] if each["mention"].memory_id == fact.pk]
    mention = Mention.objects.get(memory_id=fact.pk, message__turn=1, relation="recalled")
    trace = RecallTrace.objects.get(messages=mention.message_id)
    scores = {line["id"]: line["score"] for line in trace.candidates}
    assert (given["mention"].reasons, given["mention"].used) == (tuple(mention.reasons), mention.used)
    assert given["score"] == scores[str(fact.pk)]
    rows = call["recall"]["table"].rows
    assert [(str(row.id), row.score.value, row.given) for row in rows] == [
        (line["id"], line["score"], line["selected"]) for line in trace.candidates
    ]
    assert f"{stored.memory_tokens}" in told and answer.context["view"].memory_tokens == stored.memory_tokens


@pytest.mark.english
def test_a_turn_shows_what_it_wrote_and_replaced_with_the_arguments(
    support: Client, membership: Membership, talked: Session
) -> None:
    answer = support.get(page_of("turn", membership, talked.pk, 2))
    changed = {
        title: [row["memory"].statement for row in rows if row["memory"]] for title, rows in answer.context["changed"]
    }
    assert changed == {"Wrote": ["Lives in Edinburgh"], "Replaced or ended": ["Lives in Bristol"]}
    assert any(not call["automatic"] and "Edinburgh" in call["arguments"] for call in answer.context["calls"])
    assert answer.context["record"].previous == 1 and answer.context["record"].following == 3
    for beside in (1, 3):
        assert page_of("turn", membership, talked.pk, beside) in inside(answer)


@pytest.mark.english
def test_texts_are_escaped_and_nothing_is_inline(support: Client, membership: Membership, talked: Session) -> None:
    fact = Fact.objects.get(text="Lives in Edinburgh")
    for name, *ids in (("turn", talked.pk, 3), ("conversation", talked.pk), ("conversations",), ("uses", fact.pk)):
        answer = support.get(page_of(name, membership, *ids))
        assert answer.status_code == 200 and "<b>that" not in inside(answer) and not INLINE.search(inside(answer))
    assert "&lt;b&gt;that" in inside(support.get(page_of("turn", membership, talked.pk, 3)))


def test_that_staff_looked_is_in_the_audit_log(support: Client, membership: Membership, talked: Session) -> None:
    bristol = Fact.objects.get(text="Lives in Bristol")
    for name, *ids in (("conversations",), ("conversation", talked.pk), ("turn", talked.pk, 1), ("uses", bristol.pk)):
        support.get(page_of(name, membership, *ids))
    events = AuditEvent.objects.filter(action="memory.read", owner_id=membership.user_id).order_by("sequence")
    pages = [event.payload.data["after"]["page"] for event in events]
    assert pages == ["conversations", "conversation", "turn", "uses"]


@pytest.mark.english
def test_a_memory_leads_to_every_answer_that_it_came_up_in(
    support: Client, membership: Membership, talked: Session
) -> None:
    bristol = Fact.objects.get(text="Lives in Bristol")
    answer = support.get(page_of("uses", membership, bristol.pk))
    turns = {each["message"].turn: each for each in answer.context["answers"]}
    assert turns[1]["question"] == "Where do I live?" and turns[1]["did"] == ["recalled"]
    assert "replaced or ended" in turns[2]["did"]
    assert page_of("turn", membership, talked.pk, 1) in inside(answer)


@pytest.mark.english
def test_what_was_forgotten_is_a_line_without_words(
    support: Client, membership: Membership, principal: Principal, talked: Session
) -> None:
    edinburgh = Fact.objects.get(text="Lives in Edinburgh")
    said = Episode.objects.get(text__startswith="I moved")
    forget(principal, kind=Kind.EPISODIC, memory_id=said.pk, cascade=True)
    told = words(support.get(page_of("turn", membership, talked.pk, 2)))
    assert "This message was permanently deleted" in told and "moved" not in told and "Edinburgh" not in told
    assert "Deleted, or no longer there" in told
    assert not Fact.objects.filter(pk=edinburgh.pk).exists()
    uses = support.get(page_of("uses", membership, edinburgh.pk))
    assert uses.status_code == 200 and "was deleted for good" in words(uses)


def test_what_went_wrong_is_told(support: Client, membership: Membership, principal: Principal) -> None:
    number = "4111 1111 " + "1111 1111"
    turn = begin_turn(principal, text=f"My card is {number}")
    place: dict[str, Any] = {"session_id": turn.session_id, "turn": turn.turn}
    calls = [{"id": "x", "name": "recall_memory", "arguments": {"query": number}}]
    add_tool_step(principal, tool_calls=calls, text="Let me look", **place)
    add_tool_result(principal, tool_call_id="x", text="Nobody may search here now.", **place)
    finish_turn(principal, text="", state=MessageState.FAILED, error="The model did not answer.", **place)
    answer = support.get(page_of("turn", membership, turn.session_id, 1))
    told = words(answer)
    assert number not in answer.content.decode() and "card masked" in told and "Let me look" in told
    assert "Nobody may search here now." in told and "The model did not answer." in told and "failed" in told
    listed = words(support.get(page_of("conversations", membership)))
    assert "1 incomplete" in listed


def test_conversations_are_searched_in_titles_questions_and_answers(
    support: Client, membership: Membership, principal: Principal, talked: Session
) -> None:
    start_session(principal, title="Plans for the garden")
    address = page_of("conversations", membership)

    def found(query: str) -> list[str]:
        return [session.title for session, _ in support.get(address, {"q": query}).context["sessions"]]

    assert found("garden plans") == ["Plans for the garden"]
    assert found("edinburgh moved") == [talked.title]
    assert found("zeppelin") == [] and "No conversation holds" in words(support.get(address, {"q": "zeppelin"}))


def test_lists_are_paged_without_gaps(
    support: Client, membership: Membership, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "PAGE_SIZE", 2)
    started = {start_session(principal, title=f"Talk {number}").pk for number in range(5)}
    address, cursor, seen = page_of("conversations", membership), "", []
    for _ in range(3):
        answer = support.get(address, {"cursor": cursor})
        seen += [session.pk for session, _ in answer.context["sessions"]]
        cursor = answer.context["next_cursor"]
    assert set(seen) == started and len(seen) == 5 and cursor == ""
    assert support.get(address, {"cursor": "made up"}).status_code == 404
    session = talk_of(principal, 5)
    latest = support.get(page_of("conversation", membership, session))
    assert [each["view"].turn for each in latest.context["turns"]] == [4, 5] and latest.context["before"] == 4
    earlier = support.get(page_of("conversation", membership, session), {"before": "4"})
    assert [each["view"].turn for each in earlier.context["turns"]] == [2, 3]


def talk_of(principal: Principal, turns: int) -> UUID:
    session = start_session(principal).pk
    for number in range(turns):
        turn = begin_turn(principal, text=f"Word {number}", session_id=session)
        finish_turn(principal, session_id=session, turn=turn.turn, text=f"Answer {number}")
    return session


def test_a_search_with_a_nul_character_is_not_found(support: Client, membership: Membership) -> None:
    assert support.get(page_of("conversations", membership), {"q": "a\0b"}).status_code == 404


@pytest.mark.parametrize("before", ["x", "²", "9" * 400, "-1"])
def test_an_invalid_or_huge_before_shows_the_latest_turns(
    support: Client, membership: Membership, talked: Session, before: str
) -> None:
    answer = support.get(page_of("conversation", membership, talked.pk), {"before": before})
    assert answer.status_code == 200 and answer.context["turns"]


def test_what_belongs_to_others_answers_like_what_does_not_exist(
    support: Client, membership: Membership, other_member: Principal, other_tenant_member: Principal, talked: Session
) -> None:
    for other in (other_member, other_tenant_member):
        theirs = talk_of(other, 1)
        remembered = remember_fact(other, text="Plays the zither").memory_id
        for name, *ids in (("turn", theirs, 1), ("conversation", theirs), ("uses", remembered)):
            assert support.get(page_of(name, membership, *ids)).status_code == 404
    for name, *ids in (("turn", uuid4(), 1), ("turn", talked.pk, 99), ("turn", talked.pk, 10**30), ("uses", uuid4())):
        assert support.get(page_of(name, membership, *ids)).status_code == 404


def test_query_counts_do_not_grow_with_the_data(
    support: Client, membership: Membership, principal: Principal, talked: Session
) -> None:
    def queries(address: str) -> int:
        support.get(address)
        with CaptureQueriesContext(connection) as looked:
            assert support.get(address).status_code == 200
        return own_queries(looked)

    assert queries(page_of("turn", membership, talked.pk, 2)) <= QUERIES_OF_A_TURN
    for _ in range(8):
        talk_of(principal, 2)
    assert queries(page_of("conversations", membership)) == QUERIES_OF_A_LIST
    few = queries(page_of("conversation", membership, talked.pk))
    assert queries(page_of("conversation", membership, talk_of(principal, 20))) <= few
    assert queries(page_of("uses", membership, Fact.objects.get(text="Lives in Bristol").pk)) <= QUERIES_OF_A_TURN


def test_an_import_that_opens_with_an_answer_is_shown(
    support: Client, membership: Membership, principal: Principal
) -> None:
    session = start_session(principal, title="From elsewhere")
    owner = {"tenant_id": principal.tenant_id, "user_id": principal.user_id}
    Message.objects.create(session=session, turn=1, role="assistant", text="Hello", **owner)
    told = words(support.get(page_of("turn", membership, session.pk, 1)))
    assert "opens with an answer" in told and "Hello" in told and "Nothing was recalled" in told
