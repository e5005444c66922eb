"""The history of a memory, in sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memories.chat.history import event_sentence, states_of
from memories.models import Fact
from memories.presenting.lines import believed
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.facts.undo import undo
from memories.services.sessions.replacing import TAKEN_BACK, undo_saved
from memories.types import Kind
from tenants.principal import ActorKind, Principal
from tests.memories.chat.lives import live

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("action", "actor", "reason", "words"),
    [
        ("fact.superseded", ActorKind.MEMBER, "corrected", "You replaced it: corrected"),
        ("fact.created", ActorKind.AGENT, "", "Your agent added it"),
        ("playbook.retired", ActorKind.SYSTEM, "", "The system marked it as outdated"),
        ("fact.retired", ActorKind.MEMBER, TAKEN_BACK, "You took it back"),
        ("fact.created", ActorKind.AGENT, "said in chat", "Learned from your chat"),
        ("fact.turned_blue", "robot", "", "Somebody turned blue"),
    ],
)
def test_an_event_reads_as_a_sentence(action: str, actor: str, reason: str, words: str) -> None:
    assert event_sentence(action, actor, reason) == words


def test_the_newest_state_comes_first_and_says_how_the_older_ended(principal: Principal) -> None:
    life = live(principal)
    new, old = states_of(principal, Kind.SEMANTIC, life.bristol)
    assert (new.memory.text, new.memory.current, new.here, new.ending) == ("Lives in Edinburgh", True, False, "")
    assert (old.memory.text, old.memory.current, old.here) == ("Lives in Bristol", False, True)
    assert old.ending.startswith("Changed on ")
    assert [sentence for sentence, _ in old.events] == ["You added it", "You replaced it"]


@pytest.mark.parametrize("known", [True, False])
def test_what_the_member_undid_in_the_chat_is_called_undone(principal: Principal, *, known: bool) -> None:
    life = live(principal)
    if not known:
        forget(principal, kind=Kind.SEMANTIC, memory_id=life.bristol)
    undo_saved(principal, session_id=life.session, turn=1)
    states = states_of(principal, Kind.SEMANTIC, life.edinburgh)
    state = next(each for each in states if each.here)
    assert state.ending.startswith("Undone on ")
    assert [sentence for sentence, _ in state.events][-1] == "You took it back"


def test_a_forgotten_state_leaves_the_history(principal: Principal) -> None:
    life = live(principal)
    forget(principal, kind=Kind.SEMANTIC, memory_id=life.bristol)
    (state,) = states_of(principal, Kind.SEMANTIC, life.edinburgh)
    assert state.memory.text == "Lives in Edinburgh"


def test_what_an_undo_brought_back_is_told_once(principal: Principal) -> None:
    bus = remember_fact(principal, text="Takes the bus to work").memory_id
    supersede(principal, old_ids=[bus], text="Cycles to work")
    undo(principal, kind=Kind.SEMANTIC, memory_id=bus)
    newest, *_ = states_of(principal, Kind.SEMANTIC, bus)
    assert [sentence for sentence, _ in newest.events] == ["You restored it: undone"]


def test_what_replaced_several_is_undone_as_a_whole(principal: Principal) -> None:
    flat = remember_fact(principal, text="Lives in Bath", key="home_city").memory_id
    rent = remember_fact(principal, text="Pays 700 pounds of rent").memory_id
    moved = supersede(principal, old_ids=[flat, rent], text="Lives in York").memory_id
    new, *old = states_of(principal, Kind.SEMANTIC, moved)
    assert new.undo_url and sorted(new.brings_back) == ["You live in Bath", "You pay 700 pounds of rent"]
    assert [state.undo_url for state in old] == ["", ""]
    undo(principal, kind=Kind.SEMANTIC, memory_id=moved)
    back = [state for state in states_of(principal, Kind.SEMANTIC, moved) if state.memory.current]
    assert [(bool(state.undo_url), state.brings_back) for state in back] == [(True, ()), (True, ())]


NOON = datetime(2025, 3, 3, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("until", "words"),
    [
        (None, "since 3 Mar 2025"),
        (NOON + timedelta(days=2), "3 Mar 2025 to 5 Mar 2025"),
        (NOON + timedelta(minutes=95), "3 Mar 2025, 12:00 to 13:35"),
        (NOON, "never current: it corrects the past"),
    ],
)
def test_how_long_it_was_believed_is_told_as_exactly_as_it_needs(until: datetime | None, words: str) -> None:
    assert believed(Fact(learned_at=NOON, superseded_at=until)) == words
