"""A change that the index never takes: the others are delivered, it is set aside, seen, and mended by a rebuild."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from memories.embedding import pack_pieces, token_vectors
from memories.errors import SearchUnavailable
from memories.models import OutboxEntry
from memories.recall import candidates
from memories.recall.pipeline import recall
from memories.search import documents, outbox, search_plane
from memories.search.checking import IndexProblem, check
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import retire
from memories.types import Kind, Owner
from memoryhub.leases import EQUAL_FAILURES
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

POISON = "Drinks hemlock"


class Choke:
    """An encoder that raises `error` for the poison, while it is set."""

    error: Exception | None = ValueError(POISON)

    def __call__(self, rows: Any) -> int:
        if self.error is not None and any(row.searchable_text == POISON for row in rows):
            raise self.error
        return _encode(rows)


_encode = documents.encode_missing
_pack = pack_pieces


@pytest.fixture
def choke(monkeypatch: pytest.MonkeyPatch) -> Iterator[Choke]:
    choke = Choke()
    monkeypatch.setattr(documents, "encode_missing", choke)
    return choke  # type: ignore[return-value]


def owner(principal: Principal) -> Owner:
    return Owner(principal.tenant_id, principal.user_id)


def indexed(principal: Principal) -> set[UUID]:
    return {state.id for state in search_plane().stored(owner(principal))}


def told(principal: Principal, place: int) -> tuple[UUID, set[UUID]]:
    """The poison among five facts, and the four others."""
    search_plane().rebuild(owner(principal), [])
    said = [f"Owns map {number}" for number in range(4)]
    ids = [remember_fact(principal, text=text).memory_id for text in [*said[:place], POISON, *said[place:]]]
    return ids[place], {*ids} - {ids[place]}


def drained(times: int) -> None:
    for _ in range(times):
        OutboxEntry.objects.update(available_at=timezone.now())
        outbox.drain()


@pytest.mark.parametrize("place", [0, 2], ids=["first", "in the middle"])
def test_a_change_that_fails_in_the_same_way_is_set_aside(principal: Principal, choke: Choke, place: int) -> None:
    bad, others = told(principal, place)
    report = outbox.drain()
    assert (report.delivered, report.failed, indexed(principal)) == (4, 1, others)
    drained(EQUAL_FAILURES - 1)
    entry = OutboxEntry.objects.get()
    assert (entry.memory_id, entry.attempts) == (bad, EQUAL_FAILURES) and entry.set_aside_at is not None
    assert "ValueError" in entry.last_error and POISON not in entry.last_error
    drained(1)
    assert OutboxEntry.objects.get().attempts == EQUAL_FAILURES, "nobody tries it again"
    assert (outbox.backlog(), outbox.set_aside()) == (0, 1)
    (difference,) = check(owner(principal)).differences
    assert (difference.problem, difference.id) == (IndexProblem.NOT_INDEXED, bad)


def test_a_rebuild_leaves_it_out_until_it_can_be_encoded(principal: Principal, choke: Choke) -> None:
    bad, others = told(principal, 2)
    drained(EQUAL_FAILURES)
    assert outbox.rebuild_owner(owner(principal)) == 4
    assert outbox.rebuild_all([owner(principal)]) == 4
    assert (indexed(principal), outbox.set_aside()) == (others, 1)
    choke.error = None
    outbox.rebuild_owner(owner(principal))
    assert (indexed(principal), OutboxEntry.objects.count()) == (others | {bad}, 0)


def test_a_later_change_that_is_delivered_covers_it(principal: Principal, choke: Choke) -> None:
    bad, _ = told(principal, 2)
    drained(EQUAL_FAILURES)
    choke.error = None
    retire(principal, kind=Kind.SEMANTIC, memory_id=bad)
    outbox.drain()
    assert not OutboxEntry.objects.exists()


def test_an_outage_sets_nothing_aside(principal: Principal, choke: Choke) -> None:
    told(principal, 2)
    choke.error = SearchUnavailable("away")
    drained(2 * EQUAL_FAILURES)
    assert set(OutboxEntry.objects.values_list("last_error", "set_aside_at")) == {("SearchUnavailable", None)}


def test_failures_in_different_ways_are_not_equal(principal: Principal, choke: Choke) -> None:
    told(principal, 2)
    for error in (ValueError(), KeyError()) * EQUAL_FAILURES:
        choke.error = error
        drained(1)
    assert (outbox.set_aside(), OutboxEntry.objects.get().attempts) == (0, 1)


def test_a_removal_is_never_set_aside(principal: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, _ = told(principal, 2)
    outbox.drain()
    forget(principal, kind=Kind.SEMANTIC, memory_id=bad)

    def refuse(*_: object) -> None:
        raise ValueError(POISON)

    with monkeypatch.context() as patch:
        patch.setattr(type(search_plane()), "delete", refuse)
        drained(EQUAL_FAILURES + 1)
    assert (outbox.set_aside(), outbox.backlog()) == (0, 1)
    drained(1)
    assert bad not in indexed(principal)


def test_a_recall_answers_although_a_text_of_its_tail_cannot_be_encoded(
    principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(principal, 2)

    def choking(text: str) -> Any:
        raise RecursionError(text)

    vectors = token_vectors()
    monkeypatch.setattr(
        candidates,
        "pack_pieces",
        lambda pieces: choking(POISON) if list(pieces) == list(vectors.piece_ids(POISON)) else _pack(pieces),
    )
    texts = {item.text for item in recall(principal, "Which maps do I own?").items}
    assert texts >= {f"Owns map {number}" for number in range(4)}
