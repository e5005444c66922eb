"""Many threads that do the same thing at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connections

T = TypeVar("T")


def at_once(count: int, do: Callable[[int], T]) -> list[T]:
    """Run `do(0)` to `do(count - 1)`, each on its own thread and connection, released together; return the results."""
    barrier = Barrier(count)

    def run(number: int) -> T:
        barrier.wait()
        try:
            return do(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
