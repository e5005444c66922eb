"""Calls as values, and methods that both clients have: declared once, with the call that they make.

A method is written as a function that returns a `Call`. On `Client` it returns the decoded answer, on `AsyncClient` a
coroutine of it. The `X` of its annotation `Call[X]` is what the answer is decoded to.
"""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, get_type_hints, overload
from urllib.parse import quote

from memoryhub_client.decoding import decode

if TYPE_CHECKING:
    from memoryhub_client.client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound="Client | AsyncClient")


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request. `safe`: it changes nothing, so it needs no Idempotency-Key. `within`: seconds of `waiting`."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    safe: bool = False
    within: float = 0.0


def get(path: str, **query: Any) -> Call[Any]:
    """Read."""
    return Call("GET", path, query=_given(query), safe=True)


def post(path: str, **body: Any) -> Call[Any]:
    """Change something."""
    return Call("POST", path, body=_given(body))


def ask(path: str, **body: Any) -> Call[Any]:
    """Read by POST."""
    return Call("POST", path, body=_given(body), safe=True)


def upload(path: str, content: bytes, **query: Any) -> Call[Any]:
    """Send a file."""
    return Call("POST", path, query=_given(query), content=content)


def patch(path: str, **body: Any) -> Call[Any]:
    """Change fields."""
    return Call("PATCH", path, body=_given(body))


def delete(path: str, **query: Any) -> Call[Any]:
    """Erase or revoke."""
    return Call("DELETE", path, query=_given(query))


def at(*parts: str) -> str:
    """The path of these parts, such as `/memories/0d3c…/chain/`."""
    return "".join(f"/{quote(part, safe='')}" for part in parts) + "/"


def as_json(value: Mapping[str, Any] | None) -> str | None:
    """A value for the query that is JSON."""
    return None if value is None else json.dumps(_plain(value))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was left out (None)."""
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


class Resource(Generic[C]):
    """Methods about one noun, of one client."""

    def __init__(self, client: C) -> None:
        self._client = client


class _Method(Generic[P, T]):
    def __init__(self, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @functools.cached_property
    def _shape(self) -> Any:
        """What the answer, or each item or event of it, is decoded to."""
        return get_args(get_type_hints(self._build)["return"])[0]

    def _on(self, resource: Any, send: str) -> Any:
        """The method of one client, which makes the call and sends it in this way."""

        @functools.wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return getattr(resource._client, send)(self._build(resource, *args, **kwargs), self._shape)

        return method


class endpoint(_Method[P, T]):  # noqa: N801 - used as a decorator
    """A method with one answer."""

    @overload
    def __get__(self, resource: Resource[Client], owner: object) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[AsyncClient], owner: object) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, owner: object) -> Any:
        """The method of one client."""
        return self if resource is None else self._on(resource, "_send")


class waiting(_Method[P, T]):  # noqa: N801 - used as a decorator
    """A method that asks until the answer's `state` is that of an end, or raises TimedOut after `Call.within`."""

    @overload
    def __get__(self, resource: Resource[Client], owner: object) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[AsyncClient], owner: object) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, owner: object) -> Any:
        """The method of one client."""
        return self if resource is None else self._on(resource, "_wait")


class paged(_Method[P, T]):  # noqa: N801 - used as a decorator
    """A list whose answer is decoded item by item; iterating reads the pages as they are needed."""

    @overload
    def __get__(self, resource: Resource[Client], owner: object) -> Callable[P, Pages[T]]: ...
    @overload
    def __get__(self, resource: Resource[AsyncClient], owner: object) -> Callable[P, AsyncPages[T]]: ...
    def __get__(self, resource: Any, owner: object) -> Any:
        """The method of one client."""
        return self if resource is None else self._on(resource, "_list")


class streamed(_Method[P, T]):  # noqa: N801 - used as a decorator
    """A stream of server-sent events, open inside a `with` block."""

    @overload
    def __get__(
        self, resource: Resource[Client], owner: object
    ) -> Callable[P, AbstractContextManager[Iterator[T]]]: ...
    @overload
    def __get__(
        self, resource: Resource[AsyncClient], owner: object
    ) -> Callable[P, AbstractAsyncContextManager[AsyncIterator[T]]]: ...
    def __get__(self, resource: Any, owner: object) -> Any:
        """The method of one client."""
        return self if resource is None else self._on(resource, "_stream")


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list. `next_cursor` is None on the last."""

    results: list[T]
    next_cursor: str | None


@dataclass(frozen=True)
class _Pages(Generic[C]):
    _client: C
    _call: Call[Any]
    _shape: Any

    def _page(self, answer: Mapping[str, Any]) -> Page[Any]:
        return Page(decode(list[self._shape], answer["results"]), answer.get("next_cursor"))  # type: ignore[name-defined]  # a type at run time

    def _after(self, cursor: str | None) -> Call[Any]:
        return self._call if cursor is None else replace(self._call, query={**self._call.query, "cursor": cursor})


class Pages(_Pages["Client"], Generic[T]):
    """A list: iterate over its items, or over `pages()`."""

    def __iter__(self) -> Iterator[T]:
        """All items, page by page."""
        for page in self.pages():
            yield from page.results

    def pages(self, cursor: str | None = None) -> Iterator[Page[T]]:
        """The pages, from this cursor on."""
        while True:
            page = self._page(self._client._send(self._after(cursor), dict[str, Any]))
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return


class AsyncPages(_Pages["AsyncClient"], Generic[T]):
    """A list: iterate over its items, or over `pages()`, by `async for`."""

    async def __aiter__(self) -> AsyncIterator[T]:
        """All items, page by page."""
        async for page in self.pages():
            for item in page.results:
                yield item

    async def pages(self, cursor: str | None = None) -> AsyncIterator[Page[T]]:
        """The pages, from this cursor on."""
        while True:
            page = self._page(await self._client._send(self._after(cursor), dict[str, Any]))
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
