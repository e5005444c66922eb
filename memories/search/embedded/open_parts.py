"""The parts that this process holds open, bounded by memory and number, the least recently used closed first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from memories.search.embedded.part import Part, PartClosed, Searched

MAX_OPEN_PARTS = 128


class OpenParts:
    """Open parts by path. Safe to use from several threads; a part that is closed while in use ends its search."""

    def __init__(self, encoder: str, max_bytes: int) -> None:
        self._encoder = encoder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._parts: OrderedDict[Path, Part] = OrderedDict()

    def search(self, path: Path, terms: Sequence[str], *, with_archive: bool = False) -> list[Searched]:
        """Search the part at `path`; see Part.search. Raises FileNotFoundError, sqlite3.Error."""
        while True:
            try:
                return self._part(path).search(terms, with_archive=with_archive)
            except PartClosed:
                continue  # another thread needed the room between the two calls

    def _part(self, path: Path) -> Part:
        with self._lock:
            part = self._parts.get(path)
            if part is not None and not part.is_current():
                del self._parts[path]
                part.close()
                part = None
            if part is None:
                self._parts[path] = part = Part(path, self._encoder)
            self._parts.move_to_end(path)
            self._shrink()
            return part

    def forget(self, path: Path) -> None:
        """Close the part at `path` if it is open."""
        with self._lock:
            part = self._parts.pop(path, None)
        if part is not None:
            part.close()

    def close(self) -> None:
        """Close all parts."""
        with self._lock:
            parts, self._parts = list(self._parts.values()), OrderedDict()
        for part in parts:
            part.close()

    def _shrink(self) -> None:
        """Close the least recently used parts, but for the one just asked for."""
        total = sum(part.nbytes for part in self._parts.values())
        while len(self._parts) > 1 and (total > self._max_bytes or len(self._parts) > MAX_OPEN_PARTS):
            _, part = self._parts.popitem(last=False)
            total -= part.nbytes
            part.close()
