"""The daily scan: by Celery, or on a thread of a web process without it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from memories.services.hygiene.run import hygiene_scan
from memoryhub import background
from memoryhub.background import Repeated
from memoryhub.exclusive import Busy

log = logging.getLogger(__name__)

PAUSE_SECONDS = 24 * 3600.0


def scan_daily() -> None:
    """Do it now, or go on with what was interrupted, unless another process is at it."""
    try:
        scanned = hygiene_scan(apply=True, trigger="daily")
    except Busy:
        log.info("Another process is scanning.")
        return
    told = ", ".join(f"{count} {name}" for name, count in scanned.counts.items() if count)
    log.info("Hygiene scan %s: %s.", scanned.state.value, told or "nothing to look at")


def serve() -> Callable[[], None]:
    """Start the thread of a serving process that has no Celery; return what stops it again."""
    return background.serve(Repeated("hygiene", scan_daily, pause=PAUSE_SECONDS))
