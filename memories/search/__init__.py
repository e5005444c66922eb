"""The search plane of this process, selected by `MEMORYHUB_SEARCH`. It finds candidates in a copy of the memories.

The database is the system of record; a search plane can be rebuilt from it.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memories.embedding import encoder_name
from memories.search.base import SearchPlane
from memories.search.embedded.plane import EmbeddedPlane

EMBEDDED, ELASTICSEARCH = "embedded", "elasticsearch"

_choosing = threading.Lock()
_plane: tuple[object, SearchPlane] | None = None
# The plane, the time when this health check expires, and its result.
_seen: tuple[SearchPlane, float, bool] | None = None
SEEN_SECONDS = 2.0


def search_plane() -> SearchPlane:
    """Return the process's search plane. Raises ImproperlyConfigured for an unknown name."""
    global _plane  # noqa: PLW0603 - one plane per process
    wanted = _configuration()
    chosen = _plane
    if chosen is None or chosen[0] != wanted:
        with _choosing:
            if _plane is None or _plane[0] != wanted:
                if _plane is not None:
                    _plane[1].close()
                _plane = (wanted, _made())
            chosen = _plane
    return chosen[1]


def seems_well() -> bool:
    """Return the plane's health, cached for SEEN_SECONDS, for pages that must not query a cluster every time."""
    global _seen  # noqa: PLW0603 - one plane per process
    plane, now = search_plane(), time.monotonic()
    seen = _seen
    if seen is None or seen[0] is not plane or seen[1] <= now:
        seen = _seen = (plane, now + SEEN_SECONDS, plane.health().ok)
    return seen[2]


def _configuration() -> tuple[object, ...]:
    """Return the settings that define the plane; a new plane is created when they change."""
    if settings.MEMORYHUB_SEARCH == EMBEDDED:
        return EMBEDDED, settings.MEMORYHUB_INDEX_DIR, encoder_name()
    return settings.MEMORYHUB_SEARCH, tuple(settings.ELASTICSEARCH_URLS), encoder_name()


def _made() -> SearchPlane:
    if settings.MEMORYHUB_SEARCH == ELASTICSEARCH:
        # An installation without a cluster does not import its client.
        from memories.search.elasticsearch.plane import ElasticsearchPlane  # noqa: PLC0415

        return ElasticsearchPlane()
    if settings.MEMORYHUB_SEARCH == EMBEDDED:
        cache_bytes = settings.MEMORYHUB_INDEX_CACHE_MB * 2**20
        return EmbeddedPlane(Path(settings.MEMORYHUB_INDEX_DIR), encoder_name(), cache_bytes=cache_bytes)
    raise ImproperlyConfigured(f"MEMORYHUB_SEARCH names no search plane; there are {EMBEDDED} and {ELASTICSEARCH}.")


__all__ = ["SearchPlane", "search_plane", "seems_well"]
