"""Many clients that recall at once from several processes, as web processes answer them: the rate, and their memory."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenants.principal import Principal

WARM_UP = 10


@dataclass(frozen=True, slots=True)
class Crowd:
    """Recalls a second of all processes, and the resident memory of the largest, in MB."""

    per_second: float
    resident: float


def crowd(owner: Principal, questions: Sequence[str], *, clients: int, processes: int) -> Crowd:
    """Let so many processes answer the questions, each those of its share of the clients."""
    context = multiprocessing.get_context("spawn")  # threads and models do not outlive a fork
    start = context.Barrier(processes + 1)
    answered = context.SimpleQueue()
    of_each = [
        context.Process(
            target=_answer,
            args=(owner, questions[number::processes], len(range(number, clients, processes)), start, answered),
        )
        for number in range(processes)
    ]
    for process in of_each:
        process.start()
    start.wait()
    begin = perf_counter()
    resident = max(answered.get() for _ in of_each)
    seconds = perf_counter() - begin
    for process in of_each:
        process.join()
    return Crowd(len(questions) / seconds, resident)


def _answer(owner: Principal, questions: Sequence[str], clients: int, start: Any, answered: Any) -> None:
    """Answer the questions on so many threads; say the resident memory afterwards."""
    import django  # noqa: PLC0415 - a new process

    django.setup()
    from benchmarks.measures import resident_megabytes  # noqa: PLC0415
    from memories.recall import recording  # noqa: PLC0415
    from memories.recall.pipeline import recall  # noqa: PLC0415

    ask = partial(recall, owner)
    for question in questions[:WARM_UP]:
        ask(question)
    start.wait()
    with ThreadPoolExecutor(max(clients, 1)) as pool:
        list(pool.map(ask, questions))
    answered.put(resident_megabytes()[0])
    recording.flush()
