"""The daily collection: by Celery, or on a thread of a web process without it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from memories.services.collection import collect
from memoryhub import background
from memoryhub.background import Repeated
from memoryhub.exclusive import Busy

log = logging.getLogger(__name__)

PAUSE_SECONDS = 24 * 3600.0


def collect_daily() -> None:
    """Do it now, unless another process is at it."""
    try:
        report = collect(apply=True)
    except Busy:
        log.info("Another process is collecting.")
        return
    if report.decisions:
        log.info("Collected: %s.", ", ".join(f"{count} {ending}" for (ending, _), count in report.counts.items()))


def serve() -> Callable[[], None]:
    """Start the thread of a serving process that has no Celery; return what stops it again."""
    return background.serve(Repeated("collection", collect_daily, pause=PAUSE_SECONDS))
