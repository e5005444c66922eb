"""The job that takes removed memories off the cluster's disk. Nobody finds them from the moment of their removal."""

from __future__ import annotations

from memories.errors import SearchUnavailable
from memories.search import search_plane
from memoryhub.jobs import Unavailable


def expunge() -> None:
    """Have the plane drop the bytes of what was removed. Raises SearchUnavailable."""
    search_plane().expunge()


def expunge_index() -> None:
    """Run `expunge` as a job. Raises Unavailable."""
    try:
        expunge()
    except SearchUnavailable as error:
        raise Unavailable(str(error)) from error
