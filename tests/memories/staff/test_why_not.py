"""Why a memory was not recalled: its place, the signal it lacked, what would have lifted it, then and now."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.test import Client

from memories.models import Fact, RecallTrace, Session
from memories.recall.selection import Cut
from memories.services.facts.remember import remember_fact
from memories.staff.candidates import CandidateLine
from memories.staff.why_not import place
from memories.types import Kind
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.memories.staff.looking import page_of, talk, words
from tests.stored import lives

lived, life = lives(talk)


@pytest.fixture
def talked(life: Session) -> Session:
    return life


def line(rank: int, cut: Cut, *, meaning: float, words: float, factor: float = 1.0) -> CandidateLine:
    added, fused = {"meaning": meaning, "words": words}, meaning + words
    return CandidateLine(rank, Kind.SEMANTIC, uuid4(), None, added, added, fused * factor, fused, factor, cut)


LINES = [
    line(1, Cut.NO, meaning=0.5, words=0.5),
    line(2, Cut.NO, meaning=0.4, words=0.3),
    line(3, Cut.RANK, meaning=0.35, words=0.2),
    line(4, Cut.RANK, meaning=0.38, words=0.0),
    line(5, Cut.RANK, meaning=0.1, words=0.1),
]


def test_the_signal_that_is_furthest_behind_is_lacked() -> None:
    found = place(LINES, LINES[3].id)
    assert (found.rank, found.of, found.lacked, found.had, found.needed) == (4, 5, "words", 0.0, 0.3)
    assert (found.lifted_to, found.given) == (3, 2) and found.last_given == pytest.approx(0.7)


def test_more_of_one_signal_lifts_over_the_last_one_given_out() -> None:
    weak = line(6, Cut.RANK, meaning=0.45, words=0.0)
    assert place([*LINES, weak], weak.id).lifted_to == 2


def test_what_was_given_out_lacks_nothing_and_a_stranger_has_no_place() -> None:
    assert (place(LINES, LINES[0].id).lacked, place(LINES, LINES[0].id).lifted_to) == ("", None)
    assert (place(LINES, uuid4(), of=285).rank, place(LINES, uuid4(), of=285).of) == (None, 285)


@pytest.mark.django_db
def test_a_turn_explains_from_the_recorded_recall(support: Client, membership: Membership, talked: Session) -> None:
    fact = Fact.objects.get(text="Lives in Bristol")
    found = support.get(page_of("turn", membership, talked.pk, 1), {"why": "bristol"})
    assert fact.pk in [each.id for each in found.context["matches"]]
    told = support.get(page_of("turn", membership, talked.pk, 1), {"why": str(fact.pk)})
    assert told.context["why_not"].recorded and "number 1 of" in words(told)
    assert "From the recall recorded with this answer." in words(told)


@pytest.mark.django_db
def test_a_turn_without_a_recorded_recall_asks_again_and_says_so(
    support: Client, membership: Membership, talked: Session
) -> None:
    RecallTrace.objects.update(candidates=[])
    fact = Fact.objects.get(text="Lives in Bristol")
    told = support.get(page_of("turn", membership, talked.pk, 1), {"why": str(fact.pk)})
    assert not told.context["why_not"].recorded and told.context["why_not"].placing.rank == 1
    assert "the recall ran again now" in words(told)
    assert AuditEvent.objects.filter(action="memory.asked").count() == 1


@pytest.mark.django_db
def test_a_memory_learned_after_the_answer_could_not_be_recalled(
    support: Client, membership: Membership, principal: Principal, talked: Session
) -> None:
    later = remember_fact(principal, text="Keeps bees").memory_id
    told = support.get(page_of("turn", membership, talked.pk, 1), {"why": str(later)})
    assert "It was learned after this answer." in words(told)


@pytest.mark.django_db
def test_somebody_elses_memory_is_found_by_nobody(
    support: Client, membership: Membership, stranger: Principal, talked: Session
) -> None:
    foreign = remember_fact(stranger, text="Plays the kazoo").memory_id
    for asked in (str(foreign), "kazoo", str(UUID(int=7))):
        told = support.get(page_of("turn", membership, talked.pk, 1), {"why": asked})
        assert told.status_code == 200 and "No memory of this member matches." in words(told)


@pytest.mark.django_db
def test_ask_explains_the_memory_that_one_chooses(support: Client, membership: Membership, talked: Session) -> None:
    fact = Fact.objects.get(text="Lives in Bristol")
    asked = {"question": "Where do I live?", "kinds": ["semantic", "episodic"], "limit": "1", "why": "bristol"}
    found = support.post(page_of("ask", membership), asked)
    assert fact.pk in [each.id for each in found.context["matches"]]
    told = support.post(page_of("ask", membership), {**asked, "why": str(fact.pk)})
    assert told.context["why_not"].placing.of == len(told.context["explained"].considered)
