"""The log context: ids of request, tenant and member, in every log line and span; never a name or a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

_NOBODY: Mapping[str, str] = MappingProxyType({})
_ids: ContextVar[Mapping[str, str]] = ContextVar("memoryhub_at_work", default=_NOBODY)


def ids() -> Mapping[str, str]:
    """What is known, by name."""
    return _ids.get()


def bind(**known: object) -> None:
    """Add ids, until `forget`."""
    _ids.set({**_ids.get(), **{name: str(value) for name, value in known.items()}})


def clear() -> None:
    """Work for nobody."""
    _ids.set(_NOBODY)


@contextmanager
def bound(**known: object) -> Iterator[None]:
    """Inside, these ids and no others."""
    token = _ids.set({name: str(value) for name, value in known.items()})
    try:
        yield
    finally:
        _ids.reset(token)
