"""Transactions that write to SQLite wait in the order of their arrival."""

from __future__ import annotations

import gc
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.db.backends.sqlite3.base import SQLiteCursorWrapper

from memoryhub.db.sqlite import PrivateConnection

BEGIN = "BEGIN IMMEDIATE"


def opened(path: Path, timeout: float = 5.0) -> PrivateConnection:
    return sqlite3.connect(
        path, timeout=timeout, isolation_level=None, factory=PrivateConnection, check_same_thread=False
    )


def begin(one: PrivateConnection) -> None:
    """Begin a transaction, as Django does."""
    one.cursor(factory=SQLiteCursorWrapper).execute(BEGIN)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(opened(tmp_path / "one.sqlite3")) as one:
        one.execute("CREATE TABLE word (word)")
    return tmp_path / "one.sqlite3"


def test_transactions_write_in_the_order_of_their_arrival(path: Path) -> None:
    written: list[int] = []

    def write(number: int) -> None:
        with closing(opened(path)) as one:
            begin(one)
            written.append(number)
            one.commit()

    with closing(opened(path)) as first:
        begin(first)
        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
            time.sleep(0.05)
        first.rollback()
        for thread in threads:
            thread.join()
    assert written == list(range(8))


def test_who_waits_for_too_long_is_told_and_holds_up_nobody(path: Path) -> None:
    with closing(opened(path)) as first, closing(opened(path, 0.01)) as second:
        begin(first)
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            begin(second)
        first.commit()
        begin(second)


@pytest.mark.parametrize(
    "end", [PrivateConnection.commit, PrivateConnection.rollback, PrivateConnection.close, lambda _: None]
)
def test_the_end_of_a_transaction_or_its_connection_lets_the_next_one_begin(
    path: Path, end: Callable[[PrivateConnection], None]
) -> None:
    first = opened(path)
    begin(first)
    end(first)
    del first
    gc.collect()  # the connection and its statements know each other
    with closing(opened(path, 0.01)) as second:
        begin(second)
        second.rollback()
        begin(second)


def test_a_file_that_another_process_writes_to_lets_the_next_one_wait_again(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other, closing(opened(path, 0.01)) as one:
        other.execute(BEGIN)
        with pytest.raises(sqlite3.OperationalError):
            begin(one)
        other.rollback()
        begin(one)
