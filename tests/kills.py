"""Kills work at each SQL statement in turn, to prove that it is atomic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection


class Killed(BaseException):
    """Simulates the end of the process: a BaseException that no code catches."""


def killed_anywhere(work: Callable[[], object], state: Callable[[], object], *, every: int = 1) -> int:
    """Kill `work` at its first, second … SQL statement (in steps of `every`) until it completes; returns their number.

    `state` must be the same before and after each kill.
    """
    before, last = state(), 1
    while True:
        seen = 0

        def kill(execute: Any, sql: str, params: Any, many: bool, context: Any, last: int = last) -> Any:
            nonlocal seen
            if "SAVEPOINT" not in sql:  # a kill rolls back the transaction; in a test, its savepoint
                seen += 1
                if seen == last:
                    raise Killed
            return execute(sql, params, many, context)

        try:
            with connection.execute_wrapper(kill):
                work()
        except Killed:
            assert state() == before
            last += every
        else:
            return seen
