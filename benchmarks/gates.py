"""`python -m benchmarks.gates`: what the third gate costs a write of an owner with many facts, in a throwaway folder.

Each write with the gate is timed beside one without it, so that both see the same machine; the gate is switched off by
putting nothing in the place of its two functions.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from rich.console import Console
from rich.progress import Progress

from benchmarks.measures import timed, times_of
from benchmarks.texts import Writer

FACTS = "memories.services.facts.remember"


def main() -> None:
    """Fill an owner, then write with and without the gate, and what merges by it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gates", description=__doc__)
    parser.add_argument("--facts", type=int, default=10_000, help="facts of the owner (default: %(default)s)")
    parser.add_argument("--writes", type=int, default=300, help="writes of each kind to time (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="memoryhub.settings",
            MEMORYHUB_ENV="development",
            MEMORYHUB_DATA_DIR=folder,
            MEMORYHUB_SEARCH="embedded",
            DATABASE_URL="",
        )
        measure(options.facts, options.writes)


def measure(facts: int, writes: int) -> None:
    """Print the times."""
    import django  # noqa: PLC0415 - it reads its settings on the way in

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    from benchmarks.population import make_owner  # noqa: PLC0415
    from memories.importing.records import MemoryRecord  # noqa: PLC0415
    from memories.services.facts.remember import remember_fact  # noqa: PLC0415
    from memories.services.portability.import_records import import_memories  # noqa: PLC0415
    from memories.types import Kind  # noqa: PLC0415

    owner, writer = make_owner(), Writer(1)
    texts = [f"{writer.fact()} ({number})" for number in range(facts)]
    import_memories(owner, [MemoryRecord(kind=Kind.SEMANTIC, text=text, id=text) for text in texts])

    def write(text: str) -> object:
        return remember_fact(owner, text=text)

    gated, bare, merged = [], [], []
    with Progress(transient=True) as progress:
        for number in progress.track(range(writes)):
            gated.append(timed(write, f"{writer.fact()} (with {number})"))
            with without_gate():
                bare.append(timed(write, f"{writer.fact()} (without {number})"))
            write(f"My dentist number {number} is Dr. Keller")
            merged.append(timed(write, f"Dr. Keller is my dentist number {number}"))
    console = Console()
    for name, times in (("without the gate", bare), ("with the gate", gated), ("merged by the gate", merged)):
        summary = times_of(times)
        console.print(f"{name:20} p50 {summary.p50:5.1f} ms, p95 {summary.p95:5.1f} ms")
    console.print(f"{'ratio of the medians':20} {times_of(gated).p50 / times_of(bare).p50:.2f}")


@contextmanager
def without_gate() -> Iterator[None]:
    """Writes as they would be with two gates."""
    with ExitStack() as stack:
        stack.enter_context(patch(f"{FACTS}.alike_fact", lambda *_, **__: None))
        stack.enter_context(patch(f"{FACTS}.likeness", lambda *_: ""))
        yield


if __name__ == "__main__":
    main()
