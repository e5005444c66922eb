"""Procedures of several requests, written once for both clients.

A procedure is a generator: it yields a request, and is sent its answer or thrown its MemoryhubError. `run` and `arun`
carry it out. Requests come from resources without a client: `items.get(namespace, key)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any, TypeVar

from memoryhub_client.calls import Call
from memoryhub_client.client import AsyncClient, Client
from memoryhub_client.errors import MemoryhubError
from memoryhub_client.resources import Items, Root

T = TypeVar("T")
Request = tuple[Call[Any], Any]
Procedure = Generator[Request, Any, T]

# The most that one answer of a list has.
PAGE = 100


class _Unsent:
    """Stands for a client, and gives the request back."""

    def _send(self, call: Call[Any], shape: Any) -> Request:
        return call, shape


_UNSENT: Any = _Unsent()
# Their methods return requests, whatever their annotations say.
items: Any = Items(_UNSENT)
root: Any = Root(_UNSENT)


def run(client: Client, procedure: Procedure[T]) -> T:
    """Carry out a procedure. Raises MemoryhubError."""
    try:
        request = next(procedure)
        while True:
            try:
                answer = client._send(*request)
            except MemoryhubError as error:  # noqa: PERF203 - each answer may be one
                request = procedure.throw(error)
            else:
                request = procedure.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


async def arun(client: Client | AsyncClient, procedure: Procedure[T]) -> T:
    """Carry out a procedure; with the synchronous client in a thread. Raises MemoryhubError."""
    if isinstance(client, Client):
        return await asyncio.to_thread(run, client, procedure)
    try:
        request = next(procedure)
        while True:
            try:
                answer = await client._send(*request)
            except MemoryhubError as error:  # noqa: PERF203 - each answer may be one
                request = procedure.throw(error)
            else:
                request = procedure.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result
