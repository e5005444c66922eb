"""The thread of a web process that sees to the outbox: it drains it, or asks Celery's workers to.

Invariant: whatever happens in a drain, the thread goes on; what was not delivered stays in the outbox. A request never
waits for the search plane or the broker: it wakes this thread when it commits.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings

from memories.search import outbox
from memoryhub.background import Repeated

# How often to look for entries that other processes wrote; our own wake the thread at once.
POLL_SECONDS = 1.0
# One message asks for all changes of this long: a drain takes everything that waits.
ANNOUNCE_SECONDS = 0.25


class Drainer(Repeated):
    """Drains after each commit in this process and every `poll` seconds."""

    def __init__(self, poll: float = POLL_SECONDS) -> None:
        super().__init__("outbox-drainer", drain, pause=poll, wake=outbox.waiting)


def drain() -> None:
    """Deliver what is due."""
    outbox.drain()


class Announcer(Repeated):
    """Asks the workers for a drain after commits in this process.

    What is lost while the broker is away, and what other processes wrote, is found by the scheduled drain.
    """

    def __init__(self, rest: float = ANNOUNCE_SECONDS) -> None:
        super().__init__("outbox-announcer", announce, pause=None, wake=outbox.waiting, rest=rest)


def announce() -> None:
    """Ask the workers for a drain. Raises BrokerAway."""
    # Without workers there is no broker, and nothing of Celery's to set up.
    from memoryhub.celery import DRAIN_OUTBOX, send  # noqa: PLC0415

    send(DRAIN_OUTBOX)


def serve() -> Callable[[], None]:
    """Start the thread that `MEMORYHUB_DRAIN` asks for; return what stops it again."""
    threads: dict[str, type[Drainer | Announcer]] = {"thread": Drainer, "celery": Announcer}
    if settings.MEMORYHUB_DRAIN not in threads:
        return lambda: None
    thread = threads[settings.MEMORYHUB_DRAIN]()
    thread.start()
    return thread.stop
