"""Turns as arrays of the search plane: the same answers as from rows, whatever changed since they were delivered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from memories.models import Episode
from memories.models.guard import raw_writes
from memories.recall import candidates
from memories.recall.pipeline import Run, run
from memories.recall.request import checked
from memories.search import search_plane
from memories.search.outbox import drain
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.types import Kind
from tenants.principal import Principal
from tests.memories.recall.conftest import Say
from tests.parts import about_the_embedded_plane

pytestmark = [pytest.mark.django_db, about_the_embedded_plane]

QUESTION = "When did the kiln crack?"
Scored = dict[str, tuple[Any, Any]]
BothWays = Callable[..., tuple[Scored, Scored]]


def scored(ran: Run) -> Scored:
    """Cosine and score of each candidate."""
    signals = zip(ran.scores.signals["cosine"], ran.scores.final, strict=True)
    return {
        row.id: (pytest.approx(cosine, abs=1e-5), pytest.approx(final, abs=1e-4))
        for row, (cosine, final) in zip(ran.pool.rows, signals, strict=True)
    }


@pytest.fixture
def both_ways(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> BothWays:
    """`both_ways(**options)` recalls from arrays, then from rows; the scores of both."""

    def asked(**options: object) -> tuple[Scored, Scored]:
        request = checked(principal, QUESTION, **options)  # type: ignore[arg-type]  # options of recall
        by_arrays = run(principal, request)
        assert by_arrays.found.turns is not None
        with monkeypatch.context() as patched:
            patched.setattr(candidates, "_turns_wanted", lambda *_: None)
            by_rows = run(principal, request)
        assert by_rows.found.turns is None
        assert [item.id for item in by_arrays.answer.items] == [item.id for item in by_rows.answer.items]
        return scored(by_arrays), scored(by_rows)

    return asked


@pytest.fixture
def talk(principal: Principal, say: Say) -> list[UUID]:
    """A delivered conversation, another one and a fact."""
    said = say("We fired the kiln", "It cracked in May", "What a pity", "When did it crack?", speaker="Ada")
    say("The bus was late", "A kiln needs bricks", "I bake bread", speaker="Bo")
    remember_fact(principal, text="Owns a kiln", key="tool")
    drain()
    return said


def test_arrays_score_like_rows(talk: list[UUID], both_ways: BothWays) -> None:
    by_arrays, by_rows = both_ways()
    assert talk[1].hex in by_arrays
    assert by_arrays == by_rows


def test_what_was_just_said_stands_beside_what_was_delivered(talk: list[UUID], say: Say, both_ways: BothWays) -> None:
    say("The new kiln is electric", "It cracked, too")
    by_arrays, by_rows = both_ways()
    assert len(by_arrays) > len(talk)
    assert by_arrays == by_rows


@pytest.mark.parametrize("delivered", [False, True])
def test_a_forgotten_turn_is_neither_found_nor_scored_beside_others(
    principal: Principal, talk: list[UUID], both_ways: BothWays, *, delivered: bool
) -> None:
    both_ways()
    forget(principal, kind=Kind.EPISODIC, memory_id=talk[1])
    if delivered:
        drain()
    by_arrays, by_rows = both_ways()
    assert talk[1].hex not in by_arrays
    assert by_arrays == by_rows


def test_an_excluded_turn_is_neither_found_nor_scored_beside_others(talk: list[UUID], both_ways: BothWays) -> None:
    by_arrays, by_rows = both_ways(exclude_episode_ids=talk[1:2])
    assert talk[1].hex not in by_arrays
    assert by_arrays == by_rows


def test_a_turn_whose_row_is_gone_is_never_given_out(principal: Principal, talk: list[UUID]) -> None:
    """The database decides, whatever the arrays hold."""
    with raw_writes("test"):
        Episode.objects.of(principal).filter(pk=talk[1]).delete()
    ran = run(principal, checked(principal, QUESTION))
    assert talk[1].hex in {row.id for row in ran.pool.rows}
    assert talk[1] not in {item.id for item in ran.answer.items}
    assert ran.answer.items


def test_the_turns_of_other_members_are_in_no_array(
    principal: Principal, other_member: Principal, talk: list[UUID], say: Say
) -> None:
    others = say("My kiln cracked in June", by=other_member)
    drain()
    run(other_member, checked(other_member, QUESTION))
    ran = run(principal, checked(principal, QUESTION))
    assert ran.found.turns is not None
    held = set(ran.found.turns.ids)
    assert {id_.hex for id_ in talk} <= held
    assert not {id_.hex for id_ in others} & held


def test_an_agent_apart_and_a_question_about_the_past_read_rows(principal: Principal, talk: list[UUID]) -> None:
    assert search_plane().name == "embedded"
    past = run(principal, checked(principal, QUESTION, include_superseded=True))
    assert past.found.turns is None
    assert past.answer.items
