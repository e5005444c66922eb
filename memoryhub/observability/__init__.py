"""The log context: ids of request, tenant and member in every log line and span. It never holds names or texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_NOBODY: Mapping[str, str] = MappingProxyType({})
_ids: ContextVar[Mapping[str, str]] = ContextVar("memoryhub_at_work", default=_NOBODY)


def ids() -> Mapping[str, str]:
    """The bound ids, by name."""
    return _ids.get()


def bind(**known: object) -> None:
    """Bind more ids, until `clear`."""
    _ids.set({**_ids.get(), **{name: str(value) for name, value in known.items()}})


def clear() -> None:
    """Unbind all ids."""
    _ids.set(_NOBODY)


@contextmanager
def bound(**known: object) -> Iterator[None]:
    """Bind exactly these ids during the block."""
    token = _ids.set({name: str(value) for name, value in known.items()})
    try:
        yield
    finally:
        _ids.reset(token)
