"""Forgetting in two steps: proposed, confirmed or kept by the member, undone within 30 seconds, then erased."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from memories.agent.loop import run_turn
from memories.errors import Conflict, NotFound
from memories.models import Episode, Fact, ForgetProposal, LegalHold, Message, ProposalState, Session
from memories.recall.pipeline import recall
from memories.selectors.memories import list_memories, pinned_facts
from memories.services.consolidation.ledger import next_episodes
from memories.services.erasure import proposals
from memories.services.erasure.forget import erase_rows
from memories.services.erasure.proposals import confirm, finish_due, forget_now, keep, plan_forget, propose, undo
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.retention.collection import restore
from memories.services.sessions.episodes import ledger_of
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.services.write import write
from memories.types import Kind, Status
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.agent.conftest import ScriptedModel, call, dispose, say

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

_CHANGING = {"version", "updated_at", "_state"}
SAID = "I'm allergic to peanuts and my sister's birthday is 12 May"


@pytest.fixture
def peanuts(principal: Principal) -> UUID:
    """The allergy, with its words."""
    turn = begin_turn(principal, text=SAID)
    finish_turn(principal, session_id=turn.session_id, turn=1, text="Noted.")
    assert turn.episode_id
    return remember_fact(
        principal, text="Allergic to peanuts", key="allergy", pinned=True, supporting_episode_ids=[turn.episode_id]
    ).memory_id


def birthday(principal: Principal) -> UUID:
    episode = Episode.objects.of(principal).get().pk
    return remember_fact(principal, text="Sister's birthday is 12 May", supporting_episode_ids=[episode]).memory_id


def proposed(principal: Principal, memory_id: UUID) -> ForgetProposal:
    return propose(principal, targets=[(Kind.SEMANTIC, memory_id)])[0]


def rows(principal: Principal) -> list[dict[str, Any]]:
    """Every column that a person could tell apart."""
    every: list[Fact | Episode] = [*Fact.objects.of(principal).order_by("pk")]
    every += Episode.objects.of(principal).order_by("pk")
    return [{name: value for name, value in vars(row).items() if name not in _CHANGING} for row in every]


def test_a_proposal_changes_nothing(principal: Principal, peanuts: UUID) -> None:
    before = rows(principal)
    proposal = proposed(principal, peanuts)
    keep(principal, proposal.pk)
    assert rows(principal) == before
    with pytest.raises(Conflict, match="kept already"):
        confirm(principal, proposal.pk)


@pytest.mark.english
def test_what_else_the_words_hold_stays_or_is_named(principal: Principal, peanuts: UUID) -> None:
    alone = plan_forget(principal, [(Kind.SEMANTIC, peanuts)])
    assert (alone.stays, alone.also) == ((), (SAID,))
    sister = birthday(principal)
    plan = plan_forget(principal, [(Kind.SEMANTIC, peanuts)])
    assert ([row.pk for row in plan.stays], plan.also) == ([sister], ())
    forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    dispose(principal)
    assert Fact.objects.get().pk == sister and not Episode.objects.exists()


@pytest.mark.parametrize("more", [True, False], ids=["with other news", "nothing else"])
def test_the_message_that_asks_is_listed_if_it_holds_more(principal: Principal, peanuts: UUID, more: bool) -> None:
    news = "My new dentist is Marla Quist on Elm Road. " if more else ""
    turn = begin_turn(principal, text=f"{news}Forget that I am allergic to peanuts.")
    _, plan = propose(principal, targets=[(Kind.SEMANTIC, peanuts)], session_id=turn.session_id, turn=turn.turn)
    assert (turn.episode_id in {row.pk for row in plan.rows}) is more
    assert any("Marla Quist" in each for each in plan.also) is more


@pytest.mark.english
@pytest.mark.parametrize("words", ["My dentist is Dr. Quist on Elm Road", "I run 3.5 km along the canal"])
def test_a_point_within_a_sentence_divides_no_words_that_are_named(principal: Principal, words: str) -> None:
    turn = begin_turn(principal, text=words)
    fact = remember_fact(principal, text="Likes jazz", supporting_episode_ids=[turn.episode_id or UUID(int=0)])
    assert plan_forget(principal, [(Kind.SEMANTIC, fact.memory_id)]).also == (words,)


def test_what_is_confirmed_is_out_of_sight_at_once(principal: Principal, peanuts: UUID) -> None:
    forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    assert recall(principal, "What am I allergic to?").items == ()
    assert recall(principal, "What am I allergic to?", include_superseded=True).items == ()
    assert not list_memories(principal, Kind.SEMANTIC).exists() and not list_memories(principal, Kind.EPISODIC).exists()
    assert pinned_facts(principal) == []
    session = Session.objects.get().pk
    model = ScriptedModel(call("search_session", query="allergic sister birthday"), say("Hm."))
    list(run_turn(principal, text="What do you know?", session_id=session, model=model))
    assert "peanut" not in str(model.sent)
    assert Fact.objects.filter(text__contains="peanut").exists(), "its bytes are still there to be undone"


def test_an_undo_brings_it_all_back_as_it_was(principal: Principal, peanuts: UUID) -> None:
    supersede(principal, old_ids=[peanuts], text="Allergic to all nuts")
    before = rows(principal)
    fact = Fact.objects.current().get().pk
    proposal = forget_now(principal, kind=Kind.SEMANTIC, memory_id=fact)
    assert not Fact.objects.current().exists()
    undo(principal, proposal.pk)
    assert rows(principal) == before
    dispose(principal)
    assert rows(principal) == before


def test_after_the_time_nothing_comes_back_and_no_word_is_left(principal: Principal, peanuts: UUID) -> None:
    proposal = forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    ForgetProposal.objects.of(principal).update(erase_at=timezone.now())
    with pytest.raises(Conflict, match="time to undo is over"):
        undo(principal, proposal.pk)
    assert finish_due() == 1 and finish_due() == 0
    assert not Fact.objects.exists() and not Episode.objects.exists()
    assert not Message.objects.filter(text__contains="peanut").exists()
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.ERASED and "peanut" not in str(vars(proposal))


@pytest.mark.parametrize("agent", [True, False])
def test_what_is_being_forgotten_comes_back_by_an_undo_only(principal: Principal, peanuts: UUID, agent: bool) -> None:
    proposal = forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    with pytest.raises(Conflict, match="is being forgotten"):
        restore(principal.as_agent() if agent else principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    undo(principal, proposal.pk)
    forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    dispose(principal)
    assert not Fact.objects.exists(), "erased is erased"


def test_a_failure_half_way_erases_nothing_and_is_tried_again(
    principal: Principal, peanuts: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    ForgetProposal.objects.of(principal).update(erase_at=timezone.now())
    before = rows(principal)
    with monkeypatch.context() as patch:

        def broken(*args: Any, **options: Any) -> None:
            erase_rows(*args, **options)
            raise Conflict("killed")

        patch.setattr(proposals, "erase_rows", broken)
        assert finish_due() == 0
    assert rows(principal) == before
    dispose(principal)
    assert not Fact.objects.exists()


def test_more_than_was_listed_is_not_erased(principal: Principal, peanuts: UUID) -> None:
    proposal = proposed(principal, peanuts)
    turn = begin_turn(principal, text="Peanuts make me ill")
    assert turn.episode_id
    remember_fact(principal, text="Allergic to peanuts", supporting_episode_ids=[turn.episode_id])
    with pytest.raises(Conflict, match="Look at the list again"):
        confirm(principal, proposal.pk)
    assert Fact.objects.current().exists()
    assert confirm(principal, proposal.pk).state == ProposalState.CONFIRMED


@pytest.mark.parametrize("decide", [confirm, keep, undo], ids=["confirm", "keep", "undo"])
def test_only_the_member_decides(
    principal: Principal, stranger: Principal, peanuts: UUID, decide: Callable[[Principal, UUID], ForgetProposal]
) -> None:
    proposal = proposed(principal, peanuts)
    if decide is undo:
        confirm(principal, proposal.pk)
    with pytest.raises(Forbidden):
        decide(principal.as_agent(), proposal.pk)
    with pytest.raises(NotFound):
        decide(stranger, proposal.pk)


def test_a_question_of_yesterday_is_closed(principal: Principal, peanuts: UUID) -> None:
    proposal = proposed(principal, peanuts)
    ForgetProposal.objects.of(principal).update(created_at=timezone.now() - proposals.OPEN_FOR)
    with pytest.raises(Conflict, match="too old"):
        confirm(principal, proposal.pk)
    finish_due()
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.EXPIRED


def test_a_consolidation_waits_while_an_undo_is_possible(principal: Principal, peanuts: UUID) -> None:
    proposal = forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    with write(principal):
        assert next_episodes(principal, ledger_of(principal), 20) == []
    undo(principal, proposal.pk)
    with write(principal):
        assert len(next_episodes(principal, ledger_of(principal), 20)) == 1


def test_a_place_taken_meanwhile_refuses_the_undo_whole(principal: Principal, peanuts: UUID) -> None:
    proposal = forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    remember_fact(principal, text="Allergic to cats", key="allergy")
    with pytest.raises(Conflict, match="taken its place"):
        undo(principal, proposal.pk)
    assert Fact.objects.get(pk=peanuts).status == Status.EVICTED
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.CONFIRMED


def test_a_legal_hold_placed_meanwhile_brings_it_back(principal: Principal, peanuts: UUID) -> None:
    before = rows(principal)
    proposal = forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    LegalHold.objects.create(tenant_id=principal.tenant_id, user_id=principal.user_id, reason="A dispute")
    dispose(principal)
    assert rows(principal) == before
    proposal.refresh_from_db()
    assert proposal.state == ProposalState.KEPT


def test_a_conversation_keeps_its_title_unless_that_held_the_words(principal: Principal, peanuts: UUID) -> None:
    other = begin_turn(principal, text="Bulbs for the kitchen")
    finish_turn(principal, session_id=other.session_id, turn=1, text="Warm white.")
    model = ScriptedModel(call("forget_memory", memory_ids=[peanuts]), say("Shall I?"))
    list(run_turn(principal, text="Forget that I am allergic to peanuts", session_id=other.session_id, model=model))
    dispose(principal)
    assert set(Session.objects.values_list("title", flat=True)) == {"", "Bulbs for the kitchen"}


@pytest.mark.english
def test_an_answer_from_a_pinned_fact_goes_with_it(principal: Principal, peanuts: UUID) -> None:
    model = ScriptedModel(say("No peanuts, please."))
    list(run_turn(principal, text="Plan my dinner", model=model))
    assert Message.objects.filter(text="No peanuts, please.").exists()
    forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    dispose(principal)
    assert not Message.objects.filter(text__contains="peanuts").exists()


def test_a_later_answer_that_repeats_the_history_goes_too(principal: Principal, peanuts: UUID) -> None:
    session = Session.objects.get().pk
    turn = begin_turn(principal, text="And now?", session_id=session)
    finish_turn(principal, session_id=session, turn=turn.turn, text="Mind the peanuts.")
    begin = Message.objects.get(text="Mind the peanuts.")
    assert not begin.mentions.exists()
    forget_now(principal, kind=Kind.SEMANTIC, memory_id=peanuts)
    dispose(principal)
    begin.refresh_from_db()
    assert begin.text == ""


def test_the_log_says_who_proposed_and_who_confirmed_without_a_word(principal: Principal, peanuts: UUID) -> None:
    model = ScriptedModel(call("forget_memory", memory_ids=[peanuts]), say("Shall I?"))
    list(run_turn(principal, text="Forget peanuts", model=model))
    dispose(principal)
    events = AuditEvent.objects.filter(action__startswith="forgetting.").order_by("sequence")
    assert list(events.values_list("action", "actor_kind")) == [
        ("forgetting.proposed", "agent"),
        ("forgetting.confirmed", "member"),
    ]
    assert "peanut" not in str([event.payload.data for event in events])
