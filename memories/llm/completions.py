"""Streaming client for one model at an OpenAI-compatible endpoint, based on the `openai` package.

`outputs` ends with one Finished or raises one ModelFault whose message contains neither the key nor the URL. An answer
that was cut off is never reported as complete: text is yielded as it arrives, tool calls only at the end. An answer
sent in one piece is treated as a stream of one chunk.

A request is changed (`Dialect`) only after the endpoint refused it and named the refused parameter. Each change is made
at most once, so the attempts are bounded. An endpoint without JSON schema support gets the schema in the instructions.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx
import openai
from openai import AsyncOpenAI

from memories.constants import (
    MAX_ANSWER_CHARACTERS,
    MAX_RETRY_AFTER_SECONDS,
    MODEL_ANSWER_SECONDS,
    MODEL_RETRIES,
    MODEL_RETRY_SECONDS,
    MODEL_SILENCE_SECONDS,
    MODEL_TIMEOUT_SECONDS,
)
from memories.llm import faults, tokens
from memories.llm.base import (
    ChatMessage,
    FaultCause,
    Finished,
    ModelFault,
    Output,
    StopReason,
    TextPiece,
    ToolCall,
    ToolSchema,
    Usage,
    time_left,
)
from memories.llm.streaming import StreamedText, heard, on_model_loop, paced, storable
from memoryhub.observability import tracing
from memoryhub.outgoing import CheckedTransport

_STOPS = {
    "stop": StopReason.DONE,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
}


@dataclass(slots=True)
class _StreamedCall:
    """An incomplete tool call. `place` and `id` are its index and id in the stream; either may be missing."""

    place: int | None
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembly:
    """Assembles one streamed answer. `stop` is None until the model has given a stop reason."""

    def __init__(self) -> None:
        self.stop: StopReason | None = None
        self.usage = Usage()
        self._calls: list[_StreamedCall] = []
        self._text = StreamedText()
        self._characters = 0
        self._refused = False

    def texts(self, chunk: Mapping[str, Any]) -> Iterator[TextPiece]:
        """Process the next chunk and yield its text. Raises ModelFault if the answer exceeds its size limit."""
        if usage := chunk.get("usage"):
            self.usage = Usage(usage.get("prompt_tokens"), usage.get("completion_tokens"))
        for choice in (chunk.get("choices") or [])[:1]:
            if delta := choice.get("delta"):
                yield from self._delta(delta)
            if reason := choice.get("finish_reason"):
                self.stop = _STOPS.get(reason, StopReason.DONE)

    def stopped(self) -> StopReason:
        """Return the stop reason.

        Raises ModelFault if there is none, which means the answer was cut off, or if the model refused to answer.
        """
        if self.stop is None:
            raise ModelFault(tokens.BROKEN_OFF if self._characters else tokens.UNREADABLE, retryable=True)
        if self._refused:
            raise ModelFault(tokens.REFUSED, retryable=False, cause=FaultCause.REFUSAL)
        return self.stop

    def tool_calls(self) -> Iterator[ToolCall]:
        """Yield the completed tool calls."""
        for call in self._calls:
            yield ToolCall(storable(call.name), storable("".join(call.arguments)))

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[TextPiece]:
        if content := delta.get("content"):
            self._count(content)
            if text := self._text.feed(content):
                yield TextPiece(text)
        self._refused = self._refused or bool(delta.get("refusal"))
        for piece in delta.get("tool_calls") or ():
            self._add(piece)

    def _add(self, piece: Mapping[str, Any]) -> None:
        call = self._call_of(piece.get("index"), piece.get("id") or "")
        if function := piece.get("function"):
            call.name = call.name or _text(function.get("name"))
            call.arguments.append(_text(function.get("arguments")))
            self._count(call.arguments[-1])

    def _call_of(self, place: int | None, call_id: str) -> _StreamedCall:
        """Find the call that a piece belongs to.

        Some endpoints number all calls 0 and some send no number; the ids distinguish the calls then.
        """
        for call in reversed(self._calls):
            if call.place == place and (not call_id or not call.id or call_id == call.id):
                return call
        call = _StreamedCall(place, call_id)
        self._calls.append(call)
        return call

    def _count(self, piece: str) -> None:
        self._characters += len(piece)
        if self._characters > MAX_ANSWER_CHARACTERS:
            raise ModelFault(tokens.TOO_LONG, retryable=True)


def _text(value: object) -> str:
    """Return the text, or "" if it is missing. Raises TypeError for other types."""
    if not isinstance(value, str | None):
        raise TypeError(f"A {type(value).__name__} where a tool call has text.")
    return value or ""


_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_SCHEMA, _OBJECT = "json_schema", "json_object"
_FORMAT = re.compile(r"response.?format|json.?(schema|object|mode)|structured.?output", re.IGNORECASE)
# Patterns by which an error message identifies the refused parameter.
_NAMES: Mapping[str, re.Pattern[str]] = {
    "stream_options": re.compile("stream_options"),
    "temperature": re.compile("temperature"),
    _LIMIT: re.compile(rf"\b{_LIMIT}\b"),
    _NEW_LIMIT: re.compile(rf"\b{_NEW_LIMIT}\b"),
    _SCHEMA: _FORMAT,
    _OBJECT: _FORMAT,
}
_FOLLOWS = "\n\nAnswer with one JSON object and nothing else. It has to follow this JSON schema:\n{}"


class Dialect:
    """The parameters that one endpoint has refused so far. Safe to share between threads, because it only grows."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def fitted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return `request` in a form that the endpoint accepts."""
        fitted = dict(request)
        for name in self._refused & {"stream_options", "temperature"}:
            fitted.pop(name, None)
        if _LIMIT in self._refused and _LIMIT in fitted:
            fitted[_NEW_LIMIT] = fitted.pop(_LIMIT)
            if _NEW_LIMIT in self._refused:
                del fitted[_NEW_LIMIT]
        if _SCHEMA in self._refused and "response_format" in fitted:
            schema = fitted["response_format"][_SCHEMA]["schema"]
            fitted["messages"] = _with_schema(fitted["messages"], schema)
            fitted["response_format"] = {"type": _OBJECT}
            if _OBJECT in self._refused:
                del fitted["response_format"]
        return fitted

    def learns(self, error: Exception, sent: Mapping[str, Any]) -> bool:
        """Record the optional parameter that the endpoint refused. True if a changed request may succeed."""
        if not isinstance(error, openai.APIStatusError) or error.status_code not in _REFUSALS:
            return False
        words = str(error)
        refused = next((name for name in _sent(sent) if _NAMES[name].search(words)), None)
        if refused:
            self._refused.add(refused)
        return bool(refused)


def _sent(request: Mapping[str, Any]) -> list[str]:
    form = request.get("response_format", {}).get("type", "")
    return [name for name in _NAMES if name in request or name == form]


def _with_schema(messages: list[dict[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Append the schema to the first message, which holds the instructions."""
    instructions, *others = messages
    told = instructions["content"] + _FOLLOWS.format(json.dumps(schema, ensure_ascii=False))
    return [{**instructions, "content": told}, *others]


# Bytes. Every character of the longest answer may be a 6-byte escape; as much again is allowed for the envelope.
_MAX_BYTES = 2 * 6 * MAX_ANSWER_CHARACTERS


async def chunks_of(response: httpx.Response, seconds: float) -> AsyncGenerator[Mapping[str, Any]]:
    """Yield the chunks of a streamed or single JSON answer, which may take `seconds`.

    The openai package would make an object of each chunk, which takes three times as long as all the rest. Raises the
    client's errors for a broken stream, and ModelFault for an answer that is too long.
    """
    pieces = _within(response, seconds)
    if "application/json" in response.headers.get("content-type", ""):
        yield _as_chunk(await _body(pieces))
        return
    event: list[bytes] = []
    async for line in _lines(pieces):
        if line.startswith(b"data:"):
            event.append(line[5:].removeprefix(b" "))
        elif not line and event:
            content, event = b"\n".join(event), []
            if content.startswith(b"[DONE]"):
                break
            chunk = json.loads(content)
            if chunk.get("error"):
                raise httpx.RemoteProtocolError("The endpoint reports an error in its stream.")
            yield chunk
    with suppress(TimeoutError, httpx.HTTPError):  # a connection that was read to its end is used again
        async with asyncio.timeout(_LINGER_SECONDS):
            async for _ in pieces:
                pass


async def _within(response: httpx.Response, seconds: float) -> AsyncIterator[bytes]:
    """The body, with a deadline: an endpoint that only sends keep-alives never triggers a read timeout."""
    ends = time.monotonic() + seconds
    async for piece in response.aiter_bytes():
        if time.monotonic() > ends:
            raise httpx.ReadTimeout("The answer takes too long.")
        yield piece


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a stream, without their ends."""
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > _MAX_BYTES:
            raise ModelFault(tokens.TOO_LONG, retryable=True)
        for line in lines:
            yield line.removesuffix(b"\r")


async def _body(pieces: AsyncIterator[bytes]) -> Any:
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > _MAX_BYTES:
            raise ModelFault(tokens.TOO_LONG, retryable=True)
    return json.loads(body)


def _as_chunk(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
        raise TypeError("An answer without choices.")
    choices = [{**choice, "delta": _numbered(choice.get("message") or {})} for choice in answer["choices"]]
    return {**answer, "choices": choices}


def _numbered(message: dict[str, Any]) -> dict[str, Any]:
    """Number the message's tool calls, as in a stream."""
    calls = enumerate(message.get("tool_calls") or ())
    return {**message, "tool_calls": [{**call, "index": index} for index, call in calls]}


logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
# For the rest of a stream after its end was announced.
_LINGER_SECONDS = 0.2
# A request whose caller waits no longer is still sent with a timeout, since 0 is none.
_LEAST_SECONDS = 0.1
# Exceptions of a broken stream: the client's own errors, its transport's, and those of parsing its JSON.
_BROKEN = (
    openai.OpenAIError,
    httpx.HTTPError,
    httpx.StreamError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
)


class Completions:
    """Sends requests and reads the answers. Safe to share between threads.

    `stall_seconds` limits each pause within an answer and `answer_seconds` the whole answer. A request that fails
    before its answer begins is retried up to `retries` times, first after `retry_seconds` and then after twice the
    previous delay. `checked`: only addresses that `memoryhub/outgoing.py` allows are reached, and no redirect is
    followed.
    """

    def __init__(
        self,
        *,
        name: str,
        base_url: str = "",
        api_key: str = "",
        stall_seconds: float = MODEL_TIMEOUT_SECONDS,
        answer_seconds: float = MODEL_ANSWER_SECONDS,
        retry_seconds: float = MODEL_RETRY_SECONDS,
        retries: int = MODEL_RETRIES,
        checked: bool = False,
    ) -> None:
        self.name = name
        self._stall_seconds = stall_seconds
        self._answer_seconds = answer_seconds
        self._retry_seconds = retry_seconds
        self._retries = retries
        self._dialect = Dialect()
        self._client = AsyncOpenAI(
            base_url=base_url or None,
            api_key=api_key or "none",  # the client insists on a key, local endpoints do not
            max_retries=0,  # the client would obey a server that asks for two minutes; `_open` retries instead
            http_client=_checked_client(base_url) if checked else openai.DefaultAsyncHttpxClient(verify=_trusted()),
        )
        self._create: Any = (
            self._client.chat.completions.create
        )  # imports the package's own modules now, not on the loop

    def close(self) -> None:
        """Close the connections."""
        on_model_loop(self._client.close())

    def outputs(self, request: Mapping[str, Any], *, may_suspend: bool = False) -> Generator[Output]:
        """Stream the answer to `request`, which lacks only the model name; see `heard`.

        Raises ModelFault, possibly after some output.
        """
        return heard(self._outputs(request), silence_seconds=MODEL_SILENCE_SECONDS, may_suspend=may_suspend)

    async def _outputs(self, request: Mapping[str, Any]) -> AsyncGenerator[Output]:
        started = time.monotonic()
        with tracing.span("model", model=self.name) as span:
            assembly = Assembly()
            response = await self._open(request)
            try:
                seconds = min(self._answer_seconds, time_left())
                with paced(response):
                    async with aclosing(chunks_of(response, seconds)) as chunks:
                        async for chunk in chunks:
                            for text in assembly.texts(chunk):
                                yield text
            except _BROKEN as error:
                # After a stop reason the answer is complete, and a later transport error is harmless.
                if assembly.stop is None:
                    self._log_fault(error)
                    raise faults.in_the_middle(error) from None
            finally:
                await response.aclose()
            stop, usage = assembly.stopped(), assembly.usage
            span.note(stop=stop.value, tokens_in=usage.prompt_tokens, tokens_out=usage.completion_tokens)
        if stop is not StopReason.LENGTH:
            for call in assembly.tool_calls():
                yield call
        logger.info(
            "model %s: %s after %.1f s, %s tokens in, %s out",
            self.name,
            stop.value,
            time.monotonic() - started,
            usage.prompt_tokens,
            usage.completion_tokens,
        )
        yield Finished(stop, usage)

    async def _open(self, request: Mapping[str, Any]) -> httpx.Response:
        """Send the request, retrying transient faults a bounded number of times."""
        retries = 0
        whole = {**request, "model": self.name, "stream": True, "stream_options": {"include_usage": True}}
        while True:
            sent = self._dialect.fitted(whole)
            try:
                # As `extra_body` it goes as it is: comparing each member with the package's types takes milliseconds.
                stream = await self._create(
                    model=self.name,
                    messages=(),
                    stream=True,
                    extra_body=sent,
                    extra_headers=tracing.headers(),
                    timeout=self._timeout(),
                )
            except _BROKEN as error:
                self._log_fault(error)
                if self._dialect.learns(error, sent):
                    continue
                fault = faults.before_the_answer(error)
                pause = max(self._retry_seconds * 2**retries, faults.retry_after(error))
                longest = min(MAX_RETRY_AFTER_SECONDS, time_left())
                if retries >= self._retries or pause > longest or not faults.may_pass(error):
                    raise fault from None
            else:
                response: httpx.Response = stream.response
                return response
            retries += 1
            await asyncio.sleep(pause)

    def _timeout(self) -> httpx.Timeout:
        """The timeouts of one request, no longer than its caller waits."""
        stall = max(min(self._stall_seconds, time_left()), _LEAST_SECONDS)
        return httpx.Timeout(stall, connect=min(stall, CONNECT_SECONDS))

    def _log_fault(self, error: Exception) -> None:
        """Log only the exception's class and status; its message may quote keys or the conversation."""
        status = getattr(error, "status_code", None)
        logger.warning("model %s: %s%s", self.name, type(error).__name__, f" {status}" if status else "")


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Return the TLS context shared by all clients; loading the certificates takes as long as a short answer."""
    return httpx.create_ssl_context()


def _checked_client(base_url: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=5.0)
    transport = CheckedTransport(plain=base_url.startswith("http:"), limits=limits)
    return httpx.AsyncClient(transport=transport, trust_env=False, limits=limits, follow_redirects=False)


class OpenAIChat(Completions):
    """The ChatModel of an OpenAI-compatible endpoint. Safe to share between threads."""

    offline = False

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Stream the answer to `messages`; see ChatModel."""
        request: dict[str, Any] = {"messages": list(messages)}
        if tools:
            request |= {"tools": list(tools), "tool_choice": "auto" if may_call_tools else "none"}
        return self.outputs(request, may_suspend=True)
