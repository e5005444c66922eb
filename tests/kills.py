"""Work that is killed at one statement after the other: it has to leave all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


def killed_anywhere(work: Callable[[], object], state: Callable[[], object], *, every: int = 1) -> int:
    """Kill `work` at each statement (or at one of `every`) until it runs through; return how many it takes.

    `state` has to be after each kill what it was before.
    """
    before, last = state(), 1
    while True:
        seen = 0

        def kill(execute: Any, sql: str, params: Any, many: bool, context: Any, last: int = last) -> Any:
            nonlocal seen
            if "SAVEPOINT" not in sql:  # a kill undoes the whole transaction; here its savepoint stands for it
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
