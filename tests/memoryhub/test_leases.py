"""Which faults pass, what is kept of one, and how the item at fault is found among many."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest
from django.db import DataError, InterfaceError, OperationalError

from memoryhub.jobs import Unavailable
from memoryhub.leases import backoff, fault_of, halved, passes

SECRET = "Plays the cello"


def of_sqlite(name: str) -> OperationalError:
    """Django's error with SQLite's as its cause."""
    cause = sqlite3.OperationalError()
    cause.sqlite_errorname = name
    error = OperationalError(SECRET)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "may_pass"),
    [
        (of_sqlite("SQLITE_BUSY"), True),
        (of_sqlite("SQLITE_ERROR"), False),
        (OperationalError("deadlock detected"), True),
        (InterfaceError("connection already closed"), True),
        (ConnectionRefusedError(), True),
        (Unavailable("The broker is away."), True),
        (DataError("too long"), False),
        (RecursionError(), False),
        (KeyError(SECRET), False),
    ],
    ids=repr,
)
def test_what_is_of_the_machine_passes_and_what_is_of_the_item_does_not(error: Exception, may_pass: bool) -> None:
    assert passes(error) is may_pass


def test_a_fault_is_its_type_and_place_without_its_words() -> None:
    with pytest.raises(TypeError) as raised:
        backoff(SECRET, 1.0)  # type: ignore[arg-type]
    assert fault_of(raised.value) == "TypeError in memoryhub.leases.backoff"
    assert fault_of(ValueError(SECRET)) == "ValueError"


@pytest.mark.parametrize("bad", [{0}, {4}, {9}, {0, 9}, {3, 4, 5}, set(range(10))])
def test_whoever_fails_is_set_aside_alone_and_the_others_are_done_in_order(bad: set[int]) -> None:
    done: list[int] = []
    aside: list[int] = []

    def work(items: Sequence[int]) -> None:
        if bad & {*items}:
            raise ValueError
        done.extend(items)

    halved(range(10), work, lambda item, _: aside.append(item))
    assert (done, aside) == ([each for each in range(10) if each not in bad], sorted(bad))


def test_what_passes_is_not_halved() -> None:
    calls: list[Sequence[int]] = []

    def work(items: Sequence[int]) -> None:
        calls.append(items)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        halved(range(10), work, lambda *_: None)
    assert calls == [range(10)]
