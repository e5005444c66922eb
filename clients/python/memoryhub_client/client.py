"""`Client` and `AsyncClient`: where requests are sent. Their methods are in `memoryhub_client.resources`."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import is_dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

import httpx

from memoryhub_client.calls import AsyncPages, C, Call, Pages
from memoryhub_client.decoding import decode
from memoryhub_client.errors import TimedOut, UnexpectedAnswer, failed
from memoryhub_client.resources import (
    Audit,
    Consolidation,
    Erasures,
    Events,
    ForgetProposals,
    Holds,
    Items,
    Members,
    Memories,
    Operations,
    OwnErasure,
    Policies,
    Reviews,
    Root,
    Sessions,
    TenantAudit,
    Tokens,
    Turns,
    Webhooks,
    WorkingMemories,
)
from memoryhub_client.retries import Outcome, Retries, attempts, pauses
from memoryhub_client.streaming import event_of
from memoryhub_client.version import __version__

_PATH = "/api/v1"
_EVENTS = "text/event-stream"
_ETAG = "_etag"
# A consolidation or an answer of a model may take a minute.
_TIMEOUT = httpx.Timeout(90.0, connect=5.0)
# What fits a header of the server; other ids go into the query.
_FITS_HEADER = re.compile(r"[!-+\--~]+")
_TOKEN = re.compile(r"[!-~]+")
_APP = re.compile(r"[ -~]*")
# States of an operation that goes on.
_UNENDED = ("waiting", "running")
_STILL = "{call.path} has not ended within {call.within} s."

H = TypeVar("H", httpx.Client, httpx.AsyncClient)


class _Connected(Root[C], Generic[C, H]):
    """What both clients share: addresses, headers, and the resources."""

    _http: H

    def _set_up(
        self,
        http: H,
        *,
        user_id: str | None,
        app: str | None,
        retries: Retries,
        owns: bool = False,
        of_changes: Mapping[str, str] | None = None,
    ) -> None:
        self._http = http
        self._owns = owns
        self._retries = retries
        self._of_changes = of_changes or {}
        self._settings: dict[str, Any] = {"user_id": user_id, "app": app, "retries": retries, "of_changes": of_changes}
        if app and not _APP.fullmatch(app):
            raise ValueError(f"The app is sent in a header, so it may hold ASCII characters only, not {app!r}.")
        self._headers = {"X-Memoryhub-App": app} if app else {}
        self._query: dict[str, str] = {}
        if user_id is not None:
            if _FITS_HEADER.fullmatch(user_id):
                self._headers["X-Memoryhub-User"] = user_id
            else:
                self._query["user_id"] = user_id
        client: C = self  # type: ignore[assignment]  # each subclass names itself
        super().__init__(client)
        self.memories = Memories(client)
        self.forget_proposals = ForgetProposals(client)
        self.items = Items(client)
        self.sessions = Sessions(client)
        self.working_memory = WorkingMemories(client)
        self.turns = Turns(client)
        self.consolidation = Consolidation(client)
        self.reviews = Reviews(client)
        self.operations = Operations(client)
        self.members = Members(client)
        self.tokens = Tokens(client)
        self.own_erasure = OwnErasure(client)
        self.events = Events(client)
        self.webhooks = Webhooks(client)
        self.audit = Audit(client)
        self.tenant_audit = TenantAudit(client)
        self.policy = Policies(client)
        self.erasures = Erasures(client)
        self.holds = Holds(client)

    def _copied_to(self, client: C, **changes: Any) -> C:
        copy: Any = client  # the caller says which of the two it is
        copy._set_up(self._http, **{**self._settings, **changes})
        return client

    def _request(self, call: Call[Any], *, accept: str = "application/json") -> httpx.Request:
        headers = {**self._headers, "Accept": accept}
        if not call.safe:
            headers |= {"Idempotency-Key": str(uuid.uuid4()), **self._of_changes}
        query = {name: _in_query(value) for name, value in {**self._query, **call.query}.items()}
        return self._http.build_request(
            call.method, call.path, params=query, json=call.body, content=call.content, headers=headers
        )


def _in_query(value: Any) -> Any:
    return ",".join(value) if isinstance(value, list) else value


def _options(base_url: str, token: str, timeout: float | httpx.Timeout) -> dict[str, Any]:
    if not base_url.startswith(("http://", "https://")):
        raise ValueError("The address begins with http:// or https://, as in http://127.0.0.1:8000.")
    if not _TOKEN.fullmatch(token):
        raise ValueError("The token is empty or no token: give a backend key (mhb_…) or a member's token (mh_…).")
    root = base_url.rstrip("/").removesuffix(_PATH)
    headers = {"Authorization": f"Bearer {token}", "User-Agent": f"memoryhub-client/{__version__}"}
    return {"base_url": root + _PATH, "headers": headers, "timeout": timeout}


def _conditions(if_match: str | None, idempotency_key: str | None) -> dict[str, str]:
    given = {"If-Match": if_match, "Idempotency-Key": idempotency_key}
    return {name: value for name, value in given.items() if value is not None}


def etag_of(answer: object) -> str:
    """The version of one thing as it was read by its id, for `with_options(if_match=…)`; else raises ValueError."""
    tag: str | None = getattr(answer, _ETAG, None)
    if tag is None:
        raise ValueError("This answer has no ETag: read the thing by its id.")
    return tag


def _decoded(response: httpx.Response, shape: Any) -> Any:
    if shape is bytes:
        return response.content
    try:
        data = response.json()
    except ValueError as error:
        raise UnexpectedAnswer(f"{response.request.url} did not answer in JSON; is it a memoryhub?") from error
    answer = decode(shape, data)
    if is_dataclass(answer) and (tag := response.headers.get("ETag")):
        object.__setattr__(answer, _ETAG, tag)  # beside the fields, for answers are frozen
    return answer


class Client(_Connected["Client", httpx.Client]):
    """A client for one token: `with Client("https://memory.example.org", token="mh_…") as memory:`."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str,
        user_id: str | None = None,
        app: str | None = None,
        timeout: float | httpx.Timeout = _TIMEOUT,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        http = httpx.Client(**_options(base_url, token, timeout), transport=transport)
        self._set_up(http, user_id=user_id, app=app, retries=retries, owns=True)

    def for_user(self, user_id: str) -> Client:
        """The same client acting for a user of yours (with a backend key). It shares this one's connections."""
        return self._copied_to(Client.__new__(Client), user_id=user_id)

    def with_options(self, *, if_match: str | None = None, idempotency_key: str | None = None) -> Client:
        """The same client for one change: made only if the thing still has this ETag, or once for this key."""
        return self._copied_to(Client.__new__(Client), of_changes=_conditions(if_match, idempotency_key))

    def close(self) -> None:
        """Close the connections, unless they are another client's."""
        if self._owns:
            self._http.close()

    def __enter__(self) -> Client:  # noqa: PYI034 - Python 3.10 has no Self
        """Use as a context manager, to close the connections at its end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def _send(self, call: Call[Any], shape: Any) -> Any:
        return _decoded(self._answer(self._request(call), stream=False), shape)

    def _wait(self, call: Call[Any], shape: Any) -> Any:
        for pause in pauses(call.within):
            if (found := self._send(call, shape)).state not in _UNENDED:
                return found
            time.sleep(pause)
        raise TimedOut(_STILL.format(call=call))

    def _list(self, call: Call[Any], shape: Any) -> Pages[Any]:
        return Pages(self, call, shape)

    @contextmanager
    def _stream(self, call: Call[Any], shape: Any) -> Iterator[Iterator[Any]]:
        response = self._answer(self._request(call, accept=_EVENTS), stream=True)
        try:
            yield self._events(response, shape)
        finally:
            response.close()

    def _events(self, response: httpx.Response, shape: Any) -> Iterator[Any]:
        try:
            for line in response.iter_lines():
                if (event := event_of(line, shape)) is not None:
                    yield event
        except httpx.TransportError as error:
            raise failed(error, response.request) from error

    def _answer(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        steps = attempts(request, self._retries)
        outcome: Outcome = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = None
                if isinstance(step, float):
                    time.sleep(step)
                    continue
                try:
                    outcome = self._http.send(step, stream=stream)
                    if outcome.is_error:
                        outcome.read()
                except httpx.TransportError as error:
                    outcome = error
        except StopIteration as done:
            response: httpx.Response = done.value
            return response


class AsyncClient(_Connected["AsyncClient", httpx.AsyncClient]):
    """`Client` for asyncio: the same methods, awaited."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str,
        user_id: str | None = None,
        app: str | None = None,
        timeout: float | httpx.Timeout = _TIMEOUT,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        http = httpx.AsyncClient(**_options(base_url, token, timeout), transport=transport)
        self._set_up(http, user_id=user_id, app=app, retries=retries, owns=True)

    def for_user(self, user_id: str) -> AsyncClient:
        """The same client acting for a user of yours (with a backend key). It shares this one's connections."""
        return self._copied_to(AsyncClient.__new__(AsyncClient), user_id=user_id)

    def with_options(self, *, if_match: str | None = None, idempotency_key: str | None = None) -> AsyncClient:
        """The same client for one change: made only if the thing still has this ETag, or once for this key."""
        return self._copied_to(AsyncClient.__new__(AsyncClient), of_changes=_conditions(if_match, idempotency_key))

    async def aclose(self) -> None:
        """Close the connections, unless they are another client's."""
        if self._owns:
            await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:  # noqa: PYI034 - likewise
        """Use as a context manager, to close the connections at its end."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self.aclose()

    async def _send(self, call: Call[Any], shape: Any) -> Any:
        return _decoded(await self._answer(self._request(call), stream=False), shape)

    async def _wait(self, call: Call[Any], shape: Any) -> Any:
        for pause in pauses(call.within):
            if (found := await self._send(call, shape)).state not in _UNENDED:
                return found
            await asyncio.sleep(pause)
        raise TimedOut(_STILL.format(call=call))

    def _list(self, call: Call[Any], shape: Any) -> AsyncPages[Any]:
        return AsyncPages(self, call, shape)

    @asynccontextmanager
    async def _stream(self, call: Call[Any], shape: Any) -> AsyncIterator[AsyncIterator[Any]]:
        response = await self._answer(self._request(call, accept=_EVENTS), stream=True)
        try:
            yield self._events(response, shape)
        finally:
            await response.aclose()

    async def _events(self, response: httpx.Response, shape: Any) -> AsyncIterator[Any]:
        try:
            async for line in response.aiter_lines():
                if (event := event_of(line, shape)) is not None:
                    yield event
        except httpx.TransportError as error:
            raise failed(error, response.request) from error

    async def _answer(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        steps = attempts(request, self._retries)
        outcome: Outcome = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = None
                if isinstance(step, float):
                    await asyncio.sleep(step)
                    continue
                try:
                    outcome = await self._http.send(step, stream=stream)
                    if outcome.is_error:
                        await outcome.aread()
                except httpx.TransportError as error:
                    outcome = error
        except StopIteration as done:
            response: httpx.Response = done.value
            return response
