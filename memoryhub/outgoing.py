"""Requests to addresses that others name: they reach the public internet and nothing inside this network.

A host is resolved here, every address that it has is checked, and the connection goes to one of the checked addresses,
so no second lookup can lead elsewhere. TLS is verified for the host's name. No redirect is followed, no proxy of the
environment is used, `post` reads no body of an answer, `get` and `send` little, and a deadline ends everything.

MEMORYHUB_WEBHOOK_NETWORKS lists private networks that may be reached all the same, and then without TLS, too.

`post` sends a webhook; `CheckedTransport` lets an asynchronous client of httpx connect in the same way.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx
from django.conf import settings
from django.utils.translation import gettext as _

from memoryhub.env.values import LAST_PORT

_TLS_PORT, _PLAIN_PORT, _FIRST_USERS_PORT = 443, 80, 1024
# Ranges that Python's `is_global` counts as public, in one of its versions or in all: protocol assignments, relays of
# 6to4, a metadata service, documentation. Of IPv6 only 2000::/3 is public.
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
_PUBLIC_IPV6, _NAT64 = ip_network("2000::/3"), ip_network("64:ff9b::/96")
# A lookup cannot be broken off, so those of others' names have threads of their own.
_lookups = ThreadPoolExecutor(max_workers=16, thread_name_prefix="lookup")


class Unreachable(Exception):
    """There was no answer; the message is a word for the reason."""


def address_fault(url: str) -> str:
    """Why requests to `url` are never sent, as the end of a sentence; empty if they are, as far as it tells."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return _("is not a web address.")
    plain = bool(settings.MEMORYHUB_WEBHOOK_NETWORKS) and parts.scheme == "http"
    if parts.scheme != "https" and not plain:
        return _("must begin with https://.")
    if not host or not url.isascii() or any(each.isspace() or not each.isprintable() for each in url):
        return _("is not a web address in ASCII letters.")
    if "@" in parts.netloc or parts.fragment:
        return _("must not hold a name, a password or a fragment.")
    allowed = port in (None, _TLS_PORT) or (plain and port == _PLAIN_PORT)
    if not allowed and not _FIRST_USERS_PORT <= (port or 0) <= LAST_PORT:
        ports = {"port": _TLS_PORT, "first": _FIRST_USERS_PORT}
        return _("must name port %(port)s, or one from %(first)s on.") % ports
    try:
        literal = ip_address(host)
    except ValueError:
        return ""
    return "" if may_reach(literal, plain=plain) else _("names an address that is not public.")


def may_reach(address: IPv4Address | IPv6Address, *, plain: bool = False) -> bool:
    """Whether requests may go to this address. `plain`, without TLS, only to the networks of the setting."""
    inner = _ipv4_in(address)
    if any(inner in network for network in settings.MEMORYHUB_WEBHOOK_NETWORKS if network.version == inner.version):
        return True
    return not plain and _is_public(inner)


def _ipv4_in(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address inside a mapped or NAT64 one, which the network would reach; else the address."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _PUBLIC_IPV6:
        return False
    if any(address in network for network in _NOT_PUBLIC if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:
    """Send a body; the status of the answer. Raises Unreachable."""
    with _asked("POST", url, headers, body, seconds=seconds) as answer:
        return answer.status


def get(url: str, headers: Mapping[str, str], *, seconds: float, most: int) -> bytes:
    """The body of a successful answer, at most so many bytes. Raises Unreachable."""
    return _body("GET", url, headers, None, seconds=seconds, most=most)


def send(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float, most: int) -> bytes:
    """Send a body; that of a successful answer, as `get`. Raises Unreachable."""
    return _body("POST", url, headers, body, seconds=seconds, most=most)


def _body(method: str, url: str, headers: Mapping[str, str], sent: bytes | None, *, seconds: float, most: int) -> bytes:
    with _asked(method, url, headers, sent, seconds=seconds) as answer:
        if answer.status != HTTPStatus.OK:
            raise Unreachable(f"status-{answer.status}")
        body = bytearray()
        for part in answer.iter_stream():
            body += part
            if len(body) > most:
                raise Unreachable("too-large")
        return bytes(body)


@contextmanager
def _asked(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None, *, seconds: float
) -> Iterator[httpcore.Response]:
    """The answer to a request, whose body may be read within the block. Raises Unreachable."""
    if address_fault(url):
        raise Unreachable("refused-address")
    deadline = time.monotonic() + seconds
    target = urlsplit(url)
    backend = _CheckedBackend(deadline, plain=target.scheme == "http")
    timeout = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)}
    try:
        with (
            httpcore.ConnectionPool(ssl_context=_tls(), network_backend=backend, max_connections=1) as pool,
            pool.stream(method, url, headers=[*headers.items()], content=body, extensions=timeout) as answer,
        ):
            yield answer
    except Unreachable:
        raise
    except httpcore.TimeoutException:
        raise Unreachable("timeout") from None
    except httpcore.ConnectError as error:
        raise Unreachable("tls" if isinstance(error.__cause__, ssl.SSLError) else "no-connection") from None
    except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError):
        raise Unreachable("connection-lost") from None


@functools.cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context()


class _CheckedBackend(httpcore.NetworkBackend):
    """Connects to addresses that were checked, until a deadline."""

    def __init__(self, deadline: float, *, plain: bool) -> None:
        self._deadline, self._plain = deadline, plain
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to one of the host's addresses. Raises Unreachable unless all of them may be reached."""
        lookup = _looked_up(host, port, plain=self._plain)
        try:
            addresses = lookup.result(_left(self._deadline, timeout))
        except TimeoutError:
            lookup.cancel()
            raise httpcore.ConnectTimeout from None
        for last, address in enumerate(addresses, start=1 - len(addresses)):
            try:
                left = _left(self._deadline, timeout)
                stream = self._sockets.connect_tcp(address, port, left, local_address, socket_options)
                return _TimedStream(stream, self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not last:
                    raise
        raise Unreachable("unknown-host")


class CheckedTransport(httpx.AsyncHTTPTransport):
    """Connects to addresses that were checked. Raises Unreachable for others. `plain`: without TLS.

    httpx ignores the `limits` of a client that has a transport, so they are given here.
    """

    def __init__(self, *, plain: bool, limits: httpx.Limits) -> None:
        super().__init__(verify=_tls())
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls(),
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_AsyncCheckedBackend(plain=plain),
        )


class _AsyncCheckedBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, *, plain: bool) -> None:
        self._plain = plain
        self._sockets = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to one of the host's addresses. Raises Unreachable unless all of them may be reached."""
        try:
            lookup = asyncio.wrap_future(_looked_up(host, port, plain=self._plain))
            addresses = await asyncio.wait_for(lookup, timeout)
        except TimeoutError:
            raise httpcore.ConnectTimeout from None
        for last, address in enumerate(addresses, start=1 - len(addresses)):
            try:
                return await self._sockets.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not last:
                    raise
        raise Unreachable("unknown-host")


def _looked_up(host: str, port: int, *, plain: bool) -> Future[list[str]]:
    return _lookups.submit(_checked, host, port, plain=plain)


def _checked(host: str, port: int, *, plain: bool) -> list[str]:
    """The addresses of a host. Raises Unreachable unless all of them may be reached."""
    addresses = _resolved(host, port)
    if not all(may_reach(ip_address(each.partition("%")[0]), plain=plain) for each in addresses):
        raise Unreachable("refused-address")
    return addresses


def _resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, without duplicates. Raises Unreachable."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable("unknown-host") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _left(deadline: float, timeout: float | None) -> float:
    """The time that a step may take. Raises ReadTimeout once there is none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout
    return left if timeout is None else min(left, timeout)


class _TimedStream(httpcore.NetworkStream):
    """A connection whose deadline no receiver postpones by sending a little at a time."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, _left(self._deadline, timeout))
        return _TimedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
