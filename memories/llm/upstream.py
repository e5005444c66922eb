"""Requests that are passed on to a model's own API; their answers are read on the loop of the models."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from memories.llm.streaming import model_loop, paced
from memoryhub.outgoing import CheckedTransport, Unreachable, address_fault

# A reasoning model is silent for minutes before a whole answer; the clients of the providers wait as long.
SILENCE_SECONDS, WHOLE_SECONDS, CONNECT_SECONDS = 600.0, 3_600.0, 10.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """An endpoint and the key for it. `checked`: only public addresses are reached; `own`: the key is the caller's.

    `shared`: what it keeps belongs to all whose requests go there.
    """

    url: str
    key: str = field(repr=False)
    checked: bool = True
    own: bool = False
    shared: bool = True


@dataclass(frozen=True, slots=True)
class PassedRequest:
    """A request as it is sent; `path` follows the address of the upstream."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer."""

    status: int
    headers: Mapping[str, str]


async def exchange(upstream: Upstream, request: PassedRequest) -> AsyncGenerator[Head | bytes]:
    """Send a request; yield the head of its answer, then the body as it arrives.

    Closing it closes the connection. Raises httpx.HTTPError, httpx.InvalidURL, Unreachable.
    """
    url, ends = upstream.url + request.path, time.monotonic() + WHOLE_SECONDS
    if upstream.checked and address_fault(url):
        raise Unreachable("refused-address")
    client = _client(model_loop(), checked=upstream.checked, plain=url.startswith("http:"))
    async with client.stream(request.method, url, headers=request.headers, content=request.body or None) as answer:
        yield Head(answer.status_code, answer.headers)
        with paced(answer):
            async for piece in answer.aiter_raw():
                if time.monotonic() > ends:
                    raise httpx.ReadTimeout("The answer takes too long.")
                yield piece


@functools.lru_cache(maxsize=4)
def _client(loop: asyncio.AbstractEventLoop, *, checked: bool, plain: bool) -> httpx.AsyncClient:  # noqa: ARG001 - its connections belong to it
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=5.0)
    transport = CheckedTransport(plain=plain, limits=limits) if checked else None
    timeout = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    # All tenants share the client: a cookie that an endpoint of one sets would go to those of others in its domain.
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx.AsyncClient(
        transport=transport, trust_env=not checked, limits=limits, timeout=timeout, cookies=cookies
    )
