"""The search plane: a copy of the memories that finds candidates. The database is the record; this can be rebuilt.

Invariant: a process has one plane, the one that `MEMORYHUB_SEARCH` names.
"""

from __future__ import annotations

import threading
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memories.embedding import encoder_name
from memories.search.base import SearchPlane
from memories.search.embedded.plane import EmbeddedPlane

_choosing = threading.Lock()
_plane: EmbeddedPlane | None = None


def search_plane() -> SearchPlane:
    """The plane of this process. Raises ImproperlyConfigured for an unknown one."""
    global _plane  # noqa: PLW0603 - one plane for each process
    if EmbeddedPlane.name != settings.MEMORYHUB_SEARCH:
        raise ImproperlyConfigured("MEMORYHUB_SEARCH names no search plane; the one there is: embedded.")
    root = Path(settings.MEMORYHUB_INDEX_DIR)
    plane = _plane
    if plane is not None and plane.root == root:
        return plane
    with _choosing:
        if _plane is None or _plane.root != root:
            if _plane is not None:
                _plane.close()
            cache_bytes = settings.MEMORYHUB_INDEX_CACHE_MB * 2**20
            _plane = EmbeddedPlane(root, encoder_name(), cache_bytes=cache_bytes)
        return _plane


__all__ = ["SearchPlane", "search_plane"]
