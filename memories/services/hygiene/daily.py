"""The daily scan: by Celery, or on a thread of a web process without it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone

from memories.models import HygieneRun, HygieneState
from memories.services.hygiene.run import hygiene_scan
from memoryhub import background
from memoryhub.background import Repeated
from memoryhub.exclusive import Busy

log = logging.getLogger(__name__)

PAUSE_SECONDS = 24 * 3600.0
# A process that starts anew does not scan anew.
RESTS = timedelta(hours=20)


def scan_daily(*, seconds: float | None = None) -> bool:
    """Do it now, or go on with what was interrupted, unless another process is at it; after `seconds` pause.

    Returns whether nothing is left to go on with.
    """
    since = timezone.now() - RESTS
    if HygieneRun.objects.filter(tenant=None, state=HygieneState.DONE, finished_at__gt=since).exists():
        return True
    ends = None if seconds is None else time.monotonic() + seconds
    try:
        scanned = hygiene_scan(apply=True, trigger="daily", stop=lambda: ends is not None and time.monotonic() >= ends)
    except Busy:
        log.info("Another process is scanning.")
        return True
    told = ", ".join(f"{count} {name}" for name, count in scanned.counts.items() if count)
    log.info("Hygiene scan %s: %s.", scanned.state.value, told or "nothing to look at")
    return scanned.state is not HygieneState.INTERRUPTED


def serve() -> Callable[[], None]:
    """Start the thread of a serving process that has no Celery; return what stops it again."""
    return background.serve(Repeated("hygiene", scan_daily, pause=PAUSE_SECONDS))
