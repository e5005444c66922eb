"""Threads that belong to a serving process: registered by applications, started by the process that serves.

Invariant: a command, a test or a migration starts none; a process that serves starts each once, after any fork, and
stops each before it ends.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable

_starters: dict[str, Callable[[], Callable[[], None]]] = {}
_running: set[str] = set()


def register(name: str, start: Callable[[], Callable[[], None]]) -> None:
    """Have `start` called in every serving process; it returns what stops the thread again."""
    _starters[name] = start


def start_all() -> None:
    """Start what is registered and not yet running here; each stops when the interpreter ends."""
    for name, start in _starters.items():
        if name not in _running:
            _running.add(name)
            atexit.register(start())
