"""The pool: who is a candidate, what stands around whom, whatever the order of loading."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memories.recall.pool import CandidateRow, Pool, Turn, assemble
from memories.types import Kind


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
