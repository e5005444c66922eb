"""Taking what was removed off the cluster's disk, now and then: by Celery, or on a thread of a web process without it.

A removed memory is found by nobody from the moment of its removal; this is about the bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from memories.errors import SearchUnavailable
from memories.search import search_plane
from memoryhub import background
from memoryhub.background import Repeated, Unavailable
from memoryhub.elasticsearch import in_use

PAUSE_SECONDS = 3600.0


def expunge() -> None:
    """Do it now. Raises SearchUnavailable."""
    search_plane().expunge()


def serve() -> Callable[[], None]:
    """Start the thread of a serving process that has no Celery; return what stops it again."""
    return background.serve(Repeated("index-expunger", _expunge, pause=PAUSE_SECONDS), wanted=in_use())


def _expunge() -> None:
    try:
        expunge()
    except SearchUnavailable as error:
        raise Unavailable(str(error)) from error
