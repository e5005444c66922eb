"""The pool: who is a candidate, what stands around whom, whatever the order of loading."""

from __future__ import annotations

from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memories.recall.adjust import NEIGHBOURS
from memories.recall.pool import CandidateRow, Pool, Turn, assemble, surround
from memories.search.embedded.turn_columns import TurnColumns
from memories.types import Kind, Turns, TurnsRequest


def turn(session: str, sequence: int, *, candidate: bool = True) -> Turn:
    pieces = bytes([sequence, 0])
    if not candidate:
        return (session, sequence, pieces, None, None, None, None, None)
    return (session, sequence, pieces, f"{session}{sequence}", b"v", "active", "Ada", "2023-05-08 13:56:00")


def around(pool: Pool, id_: str) -> list[str]:
    """The places around a candidate, as the first byte of their pieces; "-" for none."""
    row = next(index for index, row in enumerate(pool.rows) if row.id == id_)
    return ["-" if place < 0 else f"{pool.pieces[place][0]}" for place in pool.neighbours[row]]


def test_neighbours_are_those_of_the_session_in_order() -> None:
    turns = [turn("a", n, candidate=n == 3) for n in range(1, 9)] + [turn("b", 2), turn("b", 4, candidate=False)]
    pool = assemble(turns, [])
    assert around(pool, "a3") == ["-", "-", "1", "2", "3", "4", "5", "6", "7"]
    assert around(pool, "b2") == ["-", "-", "-", "-", "2", "-", "4", "-", "-"]


def test_a_gap_left_by_a_forgotten_turn_stays_a_gap() -> None:
    assert around(assemble([turn("a", 1), turn("a", 3)], []), "a3") == ["-", "-", "1", "-", "3", "-", "-", "-", "-"]


def test_a_turn_that_came_twice_is_one_candidate() -> None:
    pool = assemble([turn("a", 1, candidate=False), turn("a", 1), turn("a", 1)], [])
    assert [row.id for row in pool.rows] == ["a1"]
    assert len(pool.pieces) == 1


def test_what_stands_alone_has_a_session_of_its_own() -> None:
    fact = CandidateRow(Kind.SEMANTIC, "f", b"\x09\x00", b"v", stale=False)
    pool = assemble([turn("a", 1), turn("a", 2)], [fact, fact._replace(id="g")])
    assert around(pool, "f") == ["-"] * 4 + ["9"] + ["-"] * 4
    assert pool.session.tolist() == [0, 0, 1, 2]


TURNS = [turn(session, n, candidate=n % 2 == 0) for session in "abc" for n in range(1, 7)]


@given(st.permutations(TURNS))
def test_the_order_of_loading_changes_nothing(turns: list[Turn]) -> None:
    pool = assemble(turns, [])
    assert {row.id: around(pool, row.id) for row in pool.rows} == {
        row.id: around(assemble(TURNS, []), row.id) for row in assemble(TURNS, []).rows
    }


def spoken(session: int, sequence: int) -> UUID:
    """The id of a turn."""
    return UUID(int=session << 8 | sequence)


def held(turns: list[tuple[int, int]], hits: set[tuple[int, int]], request: TurnsRequest) -> Turns:
    """What a search plane gives of these turns, stored in this order."""
    ids = [spoken(*turn) for turn in turns]
    rows = [
        (place, 0, bytes([sequence, session]), UUID(int=session).bytes, sequence, "Ada", "2023-05-08 13:56:00")
        for place, (session, sequence) in enumerate(turns, start=1)
    ]
    columns = TurnColumns.empty().with_rows(ids, rows)
    found = np.array([place for place, turn in enumerate(turns) if turn in hits], np.intp)
    vectors = np.array([[*turn] for turn in turns], np.float32)
    return columns.asked(request, vectors, np.ones(len(turns), np.bool_), found)


def stored(session: int, sequence: int, hits: set[tuple[int, int]]) -> Turn:
    """A turn as the database gives it beside these hits."""
    pieces, id_ = bytes([sequence, session]), spoken(session, sequence).hex
    if not {(session, sequence - offset) for offset in NEIGHBOURS} & hits:
        return (UUID(int=session).hex, sequence, pieces, None, None, None, None, None)
    return (UUID(int=session).hex, sequence, pieces, id_, b"vv", "active", "Ada", "2023-05-08 13:56:00")


SPOKEN = [(session, sequence) for session in (1, 2) for sequence in range(1, 13)]
SOME = st.sets(st.sampled_from(SPOKEN), max_size=6)


@given(order=st.permutations(SPOKEN), hits=SOME, late=SOME, gone=SOME, excluded=SOME)
def test_arrays_give_the_same_pool_as_rows(
    order: list[tuple[int, int]],
    hits: set[tuple[int, int]],
    late: set[tuple[int, int]],
    gone: set[tuple[int, int]],
    excluded: set[tuple[int, int]],
) -> None:
    late -= gone
    request = TurnsRequest({spoken(*turn) for turn in late | gone}, {spoken(*turn) for turn in excluded})
    hits = (hits | late) - gone
    arrived = [stored(*turn, hits={turn}) for turn in late]
    from_arrays = surround(held(order, hits, request), arrived, [], excluded=request.excluded)
    from_rows = assemble([stored(*turn, hits=hits) for turn in SPOKEN if turn not in gone | excluded], [])
    assert {row.id: (row.speaker, row.since) for row in from_arrays.rows} == {
        row.id: (row.speaker, row.since) for row in from_rows.rows
    }
    for row in from_rows.rows:
        assert around(from_arrays, row.id) == around(from_rows, row.id)
    for row, (session, sequence) in zip(from_arrays.rows, from_arrays.known_vectors.tolist(), strict=False):
        assert row.id == spoken(int(session), int(sequence)).hex
