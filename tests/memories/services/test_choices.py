"""What a member decided about their memory holds on each way in: chat, API, MCP, drop-in, import, consolidation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memories.agent.events import TextDelta
from memories.agent.loop import run_turn
from memories.consolidation.material import Extraction, Material, ProposedFact
from memories.english.responder import Responder
from memories.errors import Conflict, InvalidInput, NotFound
from memories.llm.base import ChatMessage, Finished, Output, StopReason, TextPiece, ToolCall, ToolSchema
from memories.models import (
    Episode,
    Fact,
    Item,
    LearningOperation,
    MemberChoices,
    Message,
    MessageRole,
    Playbook,
    RecallTrace,
    Session,
    SessionEntry,
)
from memories.recall.pipeline import recall
from memories.selectors.memories import pinned_facts
from memories.selectors.policies import policy_for
from memories.selectors.sessions import get_session, list_sessions
from memories.services.choices import MAX_TOPICS, choose
from memories.services.consolidation.operations import cancel, learn_due, retry
from memories.services.consolidation.running import consolidate, due
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import retire
from memories.services.items import put
from memories.services.playbooks import remember_playbook
from memories.services.policies import set_policy
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.exchanges import record_exchange
from memories.services.sessions.messages import MessageDraft, record_messages, remember_said
from memories.services.sessions.sessions import end_session, expire_sessions, start_session
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.services.sessions.working_memory import note, set_task
from memories.services.write import PAUSED
from memories.types import Kind
from tenants.errors import Forbidden
from tenants.models import AuditEvent, Membership
from tenants.principal import SYSTEM, ActorKind, Principal
from tenants.principals import system_principal

pytestmark = pytest.mark.django_db

SAID = "I live in Leeds."


def program(principal: Principal) -> Principal:
    """A program of the member's, with a token."""
    return replace(principal, actor_kind=ActorKind.TOKEN)


def stored(principal: Principal) -> int:
    """The number of memories and items of a member."""
    return sum(model.objects.of(principal).count() for model in (Episode, Fact, Playbook, Item))


def answer_of(principal: Principal, text: str, **options: Any) -> str:
    events = run_turn(principal, text=text, model=Responder(), **options)
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def wrote_fact(acting: Principal) -> object:
    return remember_fact(acting, text=SAID)


def wrote_playbook(acting: Principal) -> object:
    return remember_playbook(acting, title="Brew tea", steps=["Boil water", "Wait"])


def put_item(acting: Principal) -> object:
    return put(acting, namespace=["notes"], key="home", value={"city": "Leeds"})


def recorded(acting: Principal) -> object:
    return record_messages(acting, [MessageDraft(MessageRole.USER, SAID)], session="s")


def said(acting: Principal) -> object:
    return remember_said(acting, session_id=start_session(acting).pk, text=SAID)


WRITES: Sequence[Callable[[Principal], object]] = (wrote_fact, wrote_playbook, put_item, recorded, said)


@pytest.mark.parametrize("kind", [ActorKind.AGENT, ActorKind.TOKEN, ActorKind.KEY, ActorKind.SYSTEM])
@pytest.mark.parametrize("write", WRITES, ids=lambda each: each.__name__)
def test_while_paused_no_program_stores_anything(
    principal: Principal, write: Callable[[Principal], object], kind: ActorKind
) -> None:
    choose(principal, learns=False)
    with pytest.raises(Conflict, match="Memory is paused"):
        write(replace(principal, actor_kind=kind))
    assert stored(principal) == 0
    choose(principal, learns=True)
    write(replace(principal, actor_kind=kind))
    assert stored(principal) == 1


def test_while_paused_a_chat_goes_on_and_stores_no_memory(principal: Principal) -> None:
    choose(principal, learns=False)
    answer = answer_of(principal, "I live in Leeds and I work at Acme")
    assert "I learned nothing from that: it stays in this conversation alone" in answer
    assert stored(principal) == 0 and list_sessions(principal).count() == 1


def test_while_paused_a_drop_in_stores_nothing_at_all(principal: Principal) -> None:
    choose(principal, learns=False)
    assert record_exchange(program(principal), session="s", conversation="c", said=SAID, answer="Noted.") is None
    assert not Message.objects.of(principal).exists()


@pytest.mark.parametrize("kind", [ActorKind.AGENT, ActorKind.TOKEN, ActorKind.KEY])
def test_while_paused_no_program_notes_anything_of_a_session(principal: Principal, kind: ActorKind) -> None:
    session, acting = start_session(principal).pk, replace(principal, actor_kind=kind)
    choose(principal, learns=False)
    writes: Sequence[Callable[[], object]] = (
        lambda: set_task(acting, session_id=session, goal="Move to Leeds"),
        lambda: note(acting, session_id=session, text=SAID),
        lambda: end_session(acting, session_id=session, learned=[SAID]),
    )
    for write in writes:
        with pytest.raises(Conflict, match="Memory is paused"):
            write()
    assert not SessionEntry.objects.of(principal).exists()
    assert end_session(acting, session_id=session).proposed == ()
    choose(principal, learns=True)
    assert note(acting, session_id=session, text=SAID).scratchpad


def test_while_paused_no_episode_is_stored(principal: Principal) -> None:
    session = start_session(principal).pk
    choose(principal, learns=False)
    remember_episode(program(principal), session_id=session, text=SAID)
    assert stored(principal) == 0


def test_a_member_corrects_by_hand_while_paused(principal: Principal) -> None:
    choose(principal, learns=False)
    remember_fact(principal, text=SAID)
    assert Fact.objects.of(principal).count() == 1


def test_what_was_said_before_a_pause_waits_until_it_ends(principal: Principal, membership: Membership) -> None:
    turn = begin_turn(principal, text=SAID)
    finish_turn(principal, session_id=turn.session_id, turn=1, text="Noted.")
    choose(principal, learns=False)
    later = timezone.now() + timedelta(days=2)
    assert not list(due(later))
    with pytest.raises(Conflict, match="paused"):
        consolidate(system_principal(membership))
    choose(principal, learns=True)
    assert [each.user_id for each in due(later)] == [principal.user_id]
    assert consolidate(system_principal(membership)).episodes == 1


def test_recall_that_is_off_brings_nothing_to_agents_and_programs(principal: Principal) -> None:
    outcome = remember_fact(principal, text=SAID, key="home_city")
    pin_fact(principal, fact_id=outcome.memory_id, pinned=True)
    choose(principal, recalls=False)
    for acting in (principal.as_agent(), program(principal), replace(principal, actor_kind=ActorKind.KEY)):
        assert recall(acting, "Where do I live?").items == ()
        assert pinned_facts(acting) == []
    assert not RecallTrace.objects.of(principal).exists()
    assert "Leeds" not in answer_of(principal, "Where do I live?")
    assert [item.id for item in recall(principal, "Where do I live?").items] == [outcome.memory_id]
    choose(principal, recalls=True)
    assert "Leeds" in answer_of(principal, "Where do I live?")


TOPIC = "Health: doctor, back pain"


@pytest.mark.parametrize("write", [wrote_fact, recorded, said], ids=lambda each: each.__name__)
def test_a_members_topic_is_kept_out_on_each_way_in(
    principal: Principal, write: Callable[[Principal], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(principal, never_topics=[TOPIC])
    monkeypatch.setitem(globals(), "SAID", "My doctor is called Ana.")
    with nullcontext() if write is recorded else pytest.raises(InvalidInput, match="“Health”"):
        write(program(principal))
    assert stored(principal) == 0


def test_a_members_topic_is_kept_out_of_the_chat_and_of_items(principal: Principal) -> None:
    choose(principal, never_topics=[TOPIC])
    answer_of(principal, "I have back pain")
    with pytest.raises(InvalidInput, match="Health"):
        put(principal, namespace=["notes"], key="note", value="saw the doctor")
    assert stored(principal) == 0


def test_a_members_topics_join_those_of_the_tenant(principal: Principal, other_member: Principal) -> None:
    set_policy(SYSTEM, tenant_id=principal.tenant_id, never_topics="Money")
    choose(principal, never_topics=[TOPIC, TOPIC, " "])
    assert policy_for(principal).never_topics == ("Money", TOPIC)
    assert policy_for(other_member).never_topics == ("Money",)


def test_choices_of_one_member_touch_nobody_else(
    principal: Principal, other_member: Principal, other_tenant_member: Principal
) -> None:
    choose(principal, learns=False, recalls=False)
    for other in (other_member, other_tenant_member):
        remember_fact(other.as_agent(), text=SAID)
        assert len(recall(other.as_agent(), "Leeds").items) == 1
    assert MemberChoices.objects.count() == 1


@pytest.mark.parametrize(
    "asked", ["What do you know about me?", "Where do I live?", "Forget my address", "What did I say today?"]
)
def test_an_answer_without_recall_says_so_and_where_memory_is_used(principal: Principal, asked: str) -> None:
    remember_fact(principal, text="Lives in York", key="home_city")
    assert answer_of(principal, asked, temporary=True).startswith(
        "This chat is temporary and does not use your memory."
    )
    choose(principal, recalls=False)
    assert answer_of(principal, asked).startswith(
        "“Recall” is off, so I can't look into your memory. To switch it on, open “Account”"
    )


def test_what_a_statement_replaces_does_not_come_up_while_recall_is_off(principal: Principal) -> None:
    remember_fact(principal, text="Lives in York", key="home_city")
    choose(principal, recalls=False)
    assert answer_of(principal, "I live in Leeds.") == "Got it: you live in Leeds."
    assert not Fact.objects.of(principal).current().filter(text="Lives in York").exists()


def test_what_is_saved_while_recall_is_off_is_not_called_found_again(principal: Principal) -> None:
    choose(principal, recalls=False)
    assert answer_of(principal, "The kiln was warm all morning").startswith(
        "Saved. I found no single fact in that, and"
    )


def test_a_language_that_is_not_read_is_not_called_kept_where_nothing_is(principal: Principal) -> None:
    assert (
        answer_of(principal, "Ich wohne jetzt in Hamburg", temporary=True) == "Ohne Sprachmodell lese ich nur Englisch."
    )


@pytest.mark.parametrize("kind", [ActorKind.AGENT, ActorKind.STAFF, ActorKind.SYSTEM])
def test_only_the_member_decides(principal: Principal, kind: ActorKind) -> None:
    with pytest.raises(Forbidden):
        choose(replace(principal, actor_kind=kind), learns=False)


def test_a_change_is_audited_without_its_words(principal: Principal) -> None:
    choose(principal, never_topics=[TOPIC])
    choose(principal, never_topics=[TOPIC])
    (event,) = AuditEvent.objects.filter(action="member.memory_switched")
    assert "back pain" not in event.payload.document and '"topics":1' in event.payload.document.replace(" ", "")


@pytest.mark.parametrize(
    "topics", [["x" * 900], ["4111 1111 1111 1111"], [f"topic {n}" for n in range(MAX_TOPICS + 1)]]
)
def test_topics_that_cannot_be_kept_are_refused(principal: Principal, topics: list[str]) -> None:
    with pytest.raises(InvalidInput):
        choose(principal, never_topics=topics)
    assert not MemberChoices.objects.exists()


def test_a_retry_of_learning_waits_until_memory_is_resumed(principal: Principal) -> None:
    operation = record_messages(program(principal), [MessageDraft(MessageRole.USER, SAID)], session="s").operation
    assert operation is not None
    cancel(principal, operation.pk)
    retry(principal, operation.pk)
    LearningOperation.objects.of(principal).update(retry_at=timezone.now(), repeats=[str(operation.pk)])
    choose(principal, learns=False)
    learn_due()
    assert LearningOperation.objects.of(principal).get().repeats == [str(operation.pk)]


# Temporary chats


def test_a_temporary_chat_recalls_and_stores_nothing(principal: Principal) -> None:
    remember_fact(principal, text="Lives in York", key="home_city")
    answers = [answer_of(principal, "Where do I live?", temporary=True)]
    session = Session.objects.of(principal).get()
    answers.append(answer_of(principal, "I moved to Leeds. My dog is called Rex.", session_id=session.pk))
    assert "York" not in "".join(answers) and "stored nothing" in answers[1]
    assert stored(principal) == 1 and not RecallTrace.objects.of(principal).exists()
    assert not list_sessions(principal).exists() and session.title == ""


def test_a_model_that_writes_in_a_temporary_chat_is_refused(principal: Principal) -> None:
    class Writer:
        name, offline = "writer", False

        def stream(
            self,
            messages: Sequence[ChatMessage],
            tools: Sequence[ToolSchema],  # noqa: ARG002 - the protocol
            *,
            may_call_tools: bool,  # noqa: ARG002 - the protocol
        ) -> Generator[Output]:
            if not any(message["role"] == "tool" for message in messages):
                yield ToolCall("write_memory", '{"text": "Lives in Leeds"}')
                yield ToolCall("set_task", '{"goal": "Move"}')
                yield Finished(StopReason.TOOL_CALLS)
                return
            yield TextPiece("Done.")
            yield Finished(StopReason.DONE)

        def close(self) -> None: ...

    list(run_turn(principal, text="I live in Leeds. Remember that.", temporary=True, model=Writer()))
    assert stored(principal) == 0 and Session.objects.of(principal).get().working_memory == {}


@pytest.mark.parametrize("write", [wrote_fact, wrote_playbook, put_item], ids=lambda each: each.__name__)
def test_services_refuse_what_belongs_to_a_temporary_chat(
    principal: Principal, write: Callable[[Principal], object]
) -> None:
    with pytest.raises(Conflict, match="temporary chat"):
        write(replace(principal, off_record=True))
    assert stored(principal) == 0


def test_messages_recorded_into_a_temporary_chat_are_no_memory(principal: Principal) -> None:
    session = begin_turn(principal, text="Hello", temporary=True).session_id
    record_messages(program(principal), [MessageDraft(MessageRole.USER, SAID)], session=session)
    set_task(principal, session_id=session, goal="Move to Leeds")
    assert end_session(principal, session_id=session, outcome="Moved to Leeds").proposed == ()
    assert stored(principal) == 0


def test_a_temporary_chat_goes_with_its_end(principal: Principal) -> None:
    turn = begin_turn(principal, text="Hello", temporary=True)
    assert expire_sessions(timezone.now() + timedelta(minutes=30)).expired == 0
    assert expire_sessions(timezone.now() + timedelta(minutes=61)).expired == 1
    assert not Message.objects.of(principal).exists()
    with pytest.raises(NotFound):
        begin_turn(principal, text="Still there?", session_id=turn.session_id)


def test_an_overdue_temporary_chat_is_not_continued(principal: Principal) -> None:
    turn = begin_turn(principal, text="Hello", temporary=True, at=timezone.now() - timedelta(hours=2))
    with pytest.raises(NotFound):
        begin_turn(principal, text="Still there?", session_id=turn.session_id)


def test_staff_do_not_see_a_temporary_chat(principal: Principal) -> None:
    session = begin_turn(principal, text="Hello", temporary=True).session_id
    with pytest.raises(NotFound):
        get_session(replace(principal, actor_kind=ActorKind.STAFF), session)
    assert get_session(principal, session).temporary


# A pause while a turn runs


def test_a_pause_while_a_consolidation_reads_leaves_its_words_waiting(
    principal: Principal, membership: Membership
) -> None:
    class Pausing:
        name = "pausing"

        def extract(self, material: Material) -> Extraction:
            choose(principal, learns=False)
            (episode,) = material.episodes
            return Extraction((ProposedFact(SAID, (episode.id,)),), {})

    turn = begin_turn(principal, text=SAID)
    finish_turn(principal, session_id=turn.session_id, turn=1, text="Noted.")
    report = consolidate(system_principal(membership), extractor=Pausing())
    assert report.error == PAUSED and report.waiting == 1 and not Fact.objects.of(principal).exists()


def test_a_pause_while_a_turn_runs_holds_for_its_next_write(principal: Principal) -> None:
    class Pausing(Responder):
        def stream(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool) -> Any:
            choose(principal, learns=False)  # the member, in another tab, after the turn began
            yield from super().stream(messages, tools, may_call_tools=may_call_tools)

        def bound(self, principal: Principal, session_id: Any) -> Responder:
            return Pausing(principal, session_id)

    list(run_turn(principal, text=SAID, model=Pausing()))
    assert Episode.objects.of(principal).count() == 1  # said before the pause
    assert not Fact.objects.of(principal).exists()


@pytest.mark.django_db(transaction=True)
def test_a_pause_waits_for_a_write_and_stops_the_next(principal: Principal) -> None:
    done: list[str] = []
    begun = threading.Event()

    def pause() -> None:
        begun.set()
        choose(principal, learns=False)
        done.append("paused")
        connection.close()

    written: list[int] = []
    other = threading.Thread(target=pause)
    for number in range(40):
        if number == 5:
            other.start()
            begun.wait(5)
        with suppress(Conflict):
            remember_fact(program(principal), text=f"Lives at {number} Elm Road", key=f"home_{number}")
            written.append(number)
    other.join(10)
    assert done == ["paused"] and written == list(range(len(written))), "nothing was written after the pause"
    assert Fact.objects.of(principal).count() == len(written)
    with pytest.raises(Conflict, match="paused"):
        wrote_fact(program(principal))


def test_ending_a_fact_by_hand_is_no_learning(principal: Principal) -> None:
    fact = remember_fact(principal, text=SAID).memory_id
    choose(principal, learns=False)
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact, reason="moved")
    assert not Fact.objects.of(principal).current().exists()
