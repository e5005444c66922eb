"""The order of belief: what is replaced comes first, and since when each was believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memories.errors import InvalidInput
from memories.importing import MemoryRecord
from memories.importing.records import in_order_of_belief
from memories.types import Kind, Status

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MARCH, APRIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)


def fact(name: str, since: datetime | None = None, *supersedes: str, kind: Kind = Kind.SEMANTIC) -> MemoryRecord:
    """A record that is true since `since`."""
    return MemoryRecord(kind=kind, id=name, text=name, valid_from=since, supersedes=supersedes, place=f"line of {name}")


def order(*records: MemoryRecord) -> list[tuple[str, datetime]]:
    """Ids with the time since when they are believed."""
    return [(belief.record.id, belief.learned_at) for belief in in_order_of_belief(records, now=NOW)]


def test_earlier_beliefs_come_first() -> None:
    assert order(fact("b", APRIL), fact("a", MARCH)) == [("a", MARCH), ("b", APRIL)]


def test_what_is_replaced_comes_first_even_if_the_file_dates_it_later() -> None:
    assert order(fact("new", MARCH, "old"), fact("old", APRIL)) == [("old", APRIL), ("new", MARCH)]


def test_a_record_without_a_time_was_believed_when_its_successor_was_learned_at_the_latest() -> None:
    records = [fact("c", APRIL, "b"), fact("b", None, "a"), fact("a"), fact("z")]
    assert order(*records) == [("a", APRIL), ("b", APRIL), ("c", APRIL), ("z", NOW)]


def test_nothing_is_believed_since_a_time_to_come() -> None:
    assert order(fact("a", NOW + timedelta(days=9))) == [("a", NOW)]


def test_a_belief_ends_by_itself_only_if_nothing_replaces_it() -> None:
    retired = MemoryRecord(Kind.SEMANTIC, id="r", valid_from=MARCH, valid_to=APRIL, status=Status.SUPERSEDED)
    replaced = MemoryRecord(Kind.SEMANTIC, id="o", valid_from=MARCH, status=Status.SUPERSEDED)
    beliefs = in_order_of_belief([retired, replaced, fact("n", APRIL, "o")], now=NOW)
    assert {belief.record.id: belief.ended_at for belief in beliefs} == {"r": APRIL, "o": None, "n": None}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        pytest.param([fact("a", None, "ghost")], "line of a: .*neither in the file", id="unknown"),
        pytest.param([fact("a", None, "4111" + "1111" * 3)], r"names '\[payment card removed\]'", id="a card"),
        pytest.param([fact("a", None, "a")], "line of a: .*circle", id="itself"),
        pytest.param([fact("a", None, "b"), fact("b", None, "a")], "line of a: .*circle", id="a circle"),
        pytest.param([fact("a", None, "p"), fact("p", kind=Kind.PROCEDURAL)], "which is procedural", id="another kind"),
        pytest.param([fact("e", None, "e", kind=Kind.EPISODIC)], "for semantic and procedural", id="an episode"),
    ],
)
def test_links_that_cannot_be_are_refused(records: list[MemoryRecord], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        in_order_of_belief(records, now=NOW)


def test_a_memory_that_is_stored_already_may_be_replaced() -> None:
    (belief,) = in_order_of_belief([fact("a", MARCH, "stored")], now=NOW, stored={"stored"})
    assert belief.record.id == "a"
