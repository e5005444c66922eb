"""Calling the application as a browser or a program does: through every middleware and view, without a network."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from django.conf import settings
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.test import Client

SERVER_ERROR: Final = 500
_clients = threading.local()


class Failed(Exception):
    """The application failed (5xx), so that the attempt shows nothing; the message is the status."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: everything that can be read in it."""

    status: int
    text: str


def call(
    method: str,
    path: str,
    *,
    token: str = "",
    cookie: str = "",
    body: object = None,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send a request, as a program with `token` or a browser with `cookie`, and read the answer to its end."""
    client = _client()
    client.cookies.clear()
    if cookie:
        client.cookies[settings.SESSION_COOKIE_NAME] = cookie
    sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **_forwarded(), **(headers or {})}
    response: Any
    if form is not None:
        response = client.post(path, form, secure=_secure(), headers=sent)
    else:
        content = b"" if body is None else json.dumps(body).encode()
        response = client.generic(
            method, path, content, content_type="application/json", secure=_secure(), headers=sent
        )
    return _read(cast("HttpResponseBase", response))


def _forwarded() -> dict[str, str]:
    """What a proxy that ends TLS adds, where the application is told to stand behind one."""
    return {"X-Forwarded-Proto": "https"} if _secure() else {}


def _secure() -> bool:
    return bool(settings.SECURE_SSL_REDIRECT)


def _client() -> Client:
    client: Client | None = getattr(_clients, "client", None)
    if client is None:
        host = next((name for name in settings.ALLOWED_HOSTS if not name.startswith((".", "*"))), "localhost")
        client = _clients.client = Client(raise_request_exception=False, SERVER_NAME=host)
    return client


def _read(response: HttpResponseBase) -> Reply:
    if response.status_code >= SERVER_ERROR:
        raise Failed(str(response.status_code))
    if isinstance(response, StreamingHttpResponse):
        content = b"".join(cast("Iterable[bytes]", response))
    else:
        content = bytes(response.content)  # type: ignore[attr-defined]  # it is no stream, so it has content
    headers = " ".join(f"{name}: {value}" for name, value in response.items() if name != "X-Request-ID")
    cookies = " ".join(f"{name}: {morsel.value}" for name, morsel in response.cookies.items())
    return Reply(response.status_code, f"{headers}\n{cookies}\n{content.decode(errors='replace')}")
