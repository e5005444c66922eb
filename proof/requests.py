"""Requests as data, and a client that sends them through all middleware and views without a network."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar, cast

from django.conf import settings
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.test import Client

SERVER_ERROR: Final = 500
BUSY: Final = frozenset({429, 502, 503, 504})
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_clients = threading.local()
Row = TypeVar("Row")


class Failed(Exception):
    """The application failed (5xx), so the attempt proves nothing; the message is the status."""


class Overloaded(Exception):
    """A server was too busy to answer, so the attempt has to be repeated; the message is the status."""


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """A request. `{name}` in path, body or form is a placeholder (`attack.Aim.value`)."""

    method: str
    path: str
    body: Any = None
    form: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The status, and headers, cookies and content as one text."""

    status: int
    text: str


def filled(row: Row, value: Callable[[str], str]) -> Row:
    """The row with each placeholder replaced by its value, recursively."""
    part: Any = row
    match part:
        case str():
            part = _PLACEHOLDER.sub(lambda found: value(found[1]), part)
        case dict():
            part = {filled(key, value): filled(each, value) for key, each in part.items()}
        case list() | tuple():
            part = type(part)(filled(each, value) for each in part)
        case ProofRequest():
            part = ProofRequest(*(filled(getattr(part, field.name), value) for field in fields(part)))
    return cast("Row", part)


def call(
    request: ProofRequest, *, token: str = "", cookie: str = "", headers: Mapping[str, str] | None = None
) -> Reply:
    """Send a request with a program's `token` or a browser's `cookie`, and read the whole response.

    Raises Failed, Overloaded.
    """
    client = _client()
    client.cookies.clear()
    if cookie:
        client.cookies[settings.SESSION_COOKIE_NAME] = cookie
    secure = bool(settings.SECURE_SSL_REDIRECT)
    # the header of a proxy that terminates TLS
    sent = {"Authorization": f"Bearer {token}"} if token else {}
    sent |= {"X-Forwarded-Proto": "https"} if secure else {}
    sent |= headers or {}
    response: Any
    if request.form is not None:
        response = client.post(request.path, request.form, secure=secure, headers=sent)
    else:
        body = request.body
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        response = client.generic(
            request.method, request.path, content, content_type="application/json", secure=secure, headers=sent
        )
    return _read(cast("HttpResponseBase", response))


def _client() -> Client:
    client: Client | None = getattr(_clients, "client", None)
    if client is None:
        host = next((name for name in settings.ALLOWED_HOSTS if not name.startswith((".", "*"))), "localhost")
        client = _clients.client = Client(raise_request_exception=False, SERVER_NAME=host)
    return client


def _read(response: HttpResponseBase) -> Reply:
    if response.status_code in BUSY:
        raise Overloaded(str(response.status_code))
    if response.status_code >= SERVER_ERROR:
        raise Failed(str(response.status_code))
    if isinstance(response, StreamingHttpResponse):
        content = b"".join(cast("Iterable[bytes]", response))
    else:
        content = bytes(response.content)  # type: ignore[attr-defined]  # it is no stream, so it has content
    headers = " ".join(f"{name}: {value}" for name, value in response.items() if name != "X-Request-ID")
    cookies = " ".join(f"{name}: {morsel.value}" for name, morsel in response.cookies.items())
    return Reply(response.status_code, f"{headers}\n{cookies}\n{content.decode(errors='replace')}")
