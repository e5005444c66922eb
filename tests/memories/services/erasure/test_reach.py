"""What goes with a forgotten memory: its copies, the words around it, what came from nothing else; and what stays."""

from __future__ import annotations

from uuid import UUID

import pytest

from memories.models import Episode, Fact, Mention, Playbook, Relation
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.services.sessions.turns import add_tool_result, begin_turn
from memories.types import Kind
from tenants.principal import Principal

pytestmark = pytest.mark.django_db


def said(principal: Principal, text: str) -> UUID:
    """An episode of its own session."""
    return remember_episode(principal, session_id=start_session(principal).pk, text=text).memory_id


def left(model: type[Fact | Episode | Playbook]) -> set[str]:
    return set(model.objects.values_list("text", flat=True))


def forget_recalled(principal: Principal, fact: str, *asked: str) -> None:
    """Forget a fact, with its sources, that messages recalled."""
    outcome = remember_fact(principal, text=fact)
    for text in asked:
        turn = begin_turn(principal, text=text)
        add_tool_result(principal, session_id=turn.session_id, turn=1, tool_call_id="1", written=[outcome])
    Mention.objects.update(relation=Relation.RECALLED)
    forget(principal, kind=Kind.SEMANTIC, memory_id=outcome.memory_id, sources=True)


def test_the_same_wording_goes_whenever_it_was_believed_and_without_sources_nothing_said(principal: Principal) -> None:
    words = [said(principal, "I live in Bath")]
    for city in ("Bath", "Oslo", "Bath"):
        remember_fact(principal, text=f"Lives in {city}", key="home_city", supporting_episode_ids=words)
    undo(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.current().get().pk)
    undo(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.current().get().pk)
    forget(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.current().get().pk)
    assert (left(Fact), left(Episode)) == ({"Lives in Oslo"}, {"I live in Bath"})


def test_the_words_by_which_it_ended_go_too(principal: Principal) -> None:
    first = remember_fact(
        principal, text="Lives in Bath", supporting_episode_ids=[said(principal, "I live in Bath")]
    ).memory_id
    words = [said(principal, "We left Bath, in Oslo now"), said(principal, "Oslo is fun")]
    supersede(principal, old_ids=[first], text="Lives in Oslo", supporting_episode_ids=words)
    forget(principal, kind=Kind.SEMANTIC, memory_id=first, sources=True)
    assert (left(Fact), left(Episode)) == ({"Lives in Oslo"}, {"Oslo is fun"})


def test_what_was_learned_from_nothing_else_goes_if_it_repeats_it(principal: Principal) -> None:
    words = [said(principal, "I live in Bath and play the oboe")]
    texts = ("Lives in Bath", "Home is Bath", "Plays the oboe")
    first, *_ = (remember_fact(principal, text=each, supporting_episode_ids=words).memory_id for each in texts)
    remember_playbook(principal, title="Get home", steps=["Take the train to Bath"], supporting_episode_ids=words)
    remember_fact(principal, text="Is from Bath", supporting_episode_ids=[*words, said(principal, "Ah, Bath")])
    forget(principal, kind=Kind.SEMANTIC, memory_id=first, sources=True)
    assert left(Fact) == {"Plays the oboe", "Is from Bath"}
    assert not Playbook.objects.exists()


def test_a_question_about_it_goes_and_a_statement_that_merely_recalled_it_stays(principal: Principal) -> None:
    forget_recalled(principal, "Lives in Bath", "Do I live in Bath?", "The Bath rugby team won")
    assert left(Episode) == {"The Bath rugby team won"}


def test_a_question_that_shares_a_mere_adjective_with_it_stays(principal: Principal) -> None:
    forget_recalled(principal, "Drives an old blue Volvo", "How old is Emil?", "How old is my Volvo?")
    assert left(Episode) == {"How old is Emil?"}


def test_the_same_wording_of_others_stays(principal: Principal, stranger: Principal) -> None:
    fact, theirs = (remember_fact(who, text="Lives in Bath").memory_id for who in (principal, stranger))
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact, sources=True)
    assert Fact.objects.get().pk == theirs


@pytest.mark.english
@pytest.mark.parametrize(
    ("text", "goes"),
    [("I never lived in Bath", True), ("We left Bath, in Oslo now", True), ("The Bath rugby team won", False)],
)
def test_what_says_that_it_is_over_goes_though_nothing_took_its_place(
    principal: Principal, text: str, goes: bool
) -> None:
    forget_recalled(principal, "Lives in Bath", text)
    assert (left(Episode) == set()) is goes
