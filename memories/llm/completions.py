"""One model at an OpenAI-compatible endpoint, streaming, by the `openai` package.

`outputs` ends with one Finished or raises one ModelFault whose message holds neither the key nor the address. A cut
answer, or one with cut tool calls, never counts as whole: text is yielded as it arrives, tool calls at the end. An
answer in one piece is read like a stream of one chunk.

A request is changed (`Dialect`) only after the endpoint refused it and named what it refused. Each change is made
once, so the retries end. An endpoint without JSON schemas gets the schema in the instructions.
"""

from __future__ import annotations

import functools
import json
import logging
import re
import ssl
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx
import openai
from openai import OpenAI, Stream
from openai.types.chat import ChatCompletionChunk

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
)
from memories.llm.streaming import StreamedText, heard, storable
from memoryhub.observability import tracing

if TYPE_CHECKING:
    from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

_STOPS = {
    "stop": StopReason.DONE,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
}


@dataclass(slots=True)
class _StreamedCall:
    """An unfinished tool call. `place` and `id` are the endpoint's names for it; either may be missing."""

    place: int | None
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembly:
    """One answer. `stop` is None until the model said why it stopped."""

    def __init__(self) -> None:
        self.stop: StopReason | None = None
        self.usage = Usage()
        self._calls: list[_StreamedCall] = []
        self._text = StreamedText()
        self._characters = 0
        self._refused = False

    def texts(self, chunk: ChatCompletionChunk) -> Iterator[TextPiece]:
        """Take in the next chunk and yield its text. Raises ModelFault if the answer outgrows its bound."""
        if chunk.usage is not None:
            self.usage = Usage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        for choice in chunk.choices[:1]:
            if choice.delta is not None:
                yield from self._delta(choice.delta)
            if choice.finish_reason:
                self.stop = _STOPS.get(choice.finish_reason, StopReason.DONE)

    def stopped(self) -> StopReason:
        """The stop reason. Raises ModelFault if the model gave none, because the answer was cut off then."""
        if self.stop is None:
            raise ModelFault(tokens.BROKEN_OFF if self._characters else tokens.UNREADABLE, retryable=True)
        if self._refused:
            raise ModelFault(tokens.REFUSED, retryable=False, cause=FaultCause.REFUSAL)
        return self.stop

    def tool_calls(self) -> Iterator[ToolCall]:
        """The calls, whole."""
        for call in self._calls:
            yield ToolCall(storable(call.name), storable("".join(call.arguments)))

    def _delta(self, delta: ChoiceDelta) -> Iterator[TextPiece]:
        if delta.content:
            self._count(delta.content)
            if text := self._text.feed(delta.content):
                yield TextPiece(text)
        self._refused = self._refused or bool(delta.refusal)
        for piece in delta.tool_calls or ():
            self._add(piece)

    def _add(self, piece: ChoiceDeltaToolCall) -> None:
        call = self._call_of(piece)
        if piece.function is not None:
            call.name = call.name or _text(piece.function.name)
            call.arguments.append(_text(piece.function.arguments))
            self._count(call.arguments[-1])

    def _call_of(self, piece: ChoiceDeltaToolCall) -> _StreamedCall:
        """The call that a piece belongs to. Some endpoints number all calls 0, some give no number: ids decide then."""
        place: int | None = piece.index
        for call in reversed(self._calls):
            if call.place == place and (not piece.id or not call.id or piece.id == call.id):
                return call
        call = _StreamedCall(place, piece.id or "")
        self._calls.append(call)
        return call

    def _count(self, piece: str) -> None:
        self._characters += len(piece)
        if self._characters > MAX_ANSWER_CHARACTERS:
            raise ModelFault(tokens.TOO_LONG, retryable=True)


def _text(value: object) -> str:
    """`value` if it is text, empty if it is missing. Raises TypeError."""
    if not isinstance(value, str | None):
        raise TypeError(f"A {type(value).__name__} where a tool call has text.")
    return value or ""


_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_LIMIT, _NEW_LIMIT = "max_tokens", "max_completion_tokens"
_SCHEMA, _OBJECT = "json_schema", "json_object"
_FORMAT = re.compile(r"response.?format|json.?(schema|object|mode)|structured.?output", re.IGNORECASE)
# By what words an endpoint names something that may have been sent.
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
    """What one endpoint refused so far. Safe to share between threads: it only ever learns."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def fitted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """`request` in the form that the endpoint accepts."""
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
        """True if the endpoint refused an optional part of `sent`, so that a changed request may succeed."""
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
    """The messages, with the schema at the end of the first: the instructions."""
    instructions, *others = messages
    told = instructions["content"] + _FOLLOWS.format(json.dumps(schema, ensure_ascii=False))
    return [{**instructions, "content": told}, *others]


# An answer of the greatest length, each character escaped, and as much again around it.
_MAX_BYTES = 2 * 6 * MAX_ANSWER_CHARACTERS


def chunks_of(stream: Stream[ChatCompletionChunk]) -> Iterator[ChatCompletionChunk]:
    """The chunks. Raises the errors of a broken stream, and ModelFault for an answer that is too long."""
    if "application/json" in stream.response.headers.get("content-type", ""):
        yield _as_chunk(_body(stream))
    else:
        yield from stream


def _body(stream: Stream[ChatCompletionChunk]) -> Any:
    body = bytearray()
    for piece in stream.response.iter_bytes():
        body += piece
        if len(body) > _MAX_BYTES:
            raise ModelFault(tokens.TOO_LONG, retryable=True)
    return json.loads(body)


def _as_chunk(answer: Any) -> ChatCompletionChunk:
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
        raise TypeError("An answer without choices.")
    choices = [{**choice, "delta": _numbered(choice.get("message") or {})} for choice in answer["choices"]]
    chunk: ChatCompletionChunk = ChatCompletionChunk.construct(None, **{**answer, "choices": choices})
    return chunk


def _numbered(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its tool calls numbered, as those of a stream are."""
    calls = enumerate(message.get("tool_calls") or ())
    return {**message, "tool_calls": [{**call, "index": index} for index, call in calls]}


logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
# What a broken stream raises: the client's own errors, those of its transport, and those of reading its JSON.
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

    `stall_seconds` bounds each silence, `answer_seconds` a whole answer. A request that fails before its answer is
    tried `retries` more times, after `retry_seconds`, then twice that.
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
    ) -> None:
        self.name = name
        self._answer_seconds = answer_seconds
        self._retry_seconds = retry_seconds
        self._retries = retries
        self._dialect = Dialect()
        self._client = OpenAI(
            base_url=base_url or None,
            api_key=api_key or "none",  # endpoints on one's own machine want no key, the client wants one
            timeout=httpx.Timeout(stall_seconds, connect=min(stall_seconds, CONNECT_SECONDS)),
            max_retries=0,  # the client would wait up to two minutes on a server's word; `_open` retries instead
            http_client=openai.DefaultHttpxClient(verify=_trusted(), event_hooks={"response": [self._set_deadline]}),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def outputs(self, request: Mapping[str, Any]) -> Generator[TextPiece | ToolCall | Finished]:
        """The answer to `request`, which has everything but the model's name. Raises ModelFault, also in the middle."""
        with tracing.span("model", model=self.name) as span:
            finished = yield from self._answer(request)
            usage = finished.usage
            span.note(stop=finished.reason.value, tokens_in=usage.prompt_tokens, tokens_out=usage.completion_tokens)
        yield finished

    def _answer(self, request: Mapping[str, Any]) -> Generator[TextPiece | ToolCall, None, Finished]:
        started = time.monotonic()
        assembly = Assembly()
        with closing(self._open(request)) as stream:
            try:
                for chunk in chunks_of(stream):
                    yield from assembly.texts(chunk)
            except _BROKEN as error:
                # The answer is whole once the model said why it stopped; what breaks after that takes nothing away.
                if assembly.stop is None:
                    self._log_fault(error)
                    raise faults.in_the_middle(error) from None
        stop = assembly.stopped()
        if stop is not StopReason.LENGTH:
            yield from assembly.tool_calls()
        usage = assembly.usage
        logger.info(
            "model %s: %s after %.1f s, %s tokens in, %s out",
            self.name,
            stop.value,
            time.monotonic() - started,
            usage.prompt_tokens,
            usage.completion_tokens,
        )
        return Finished(stop, usage)

    def _open(self, request: Mapping[str, Any]) -> Stream[ChatCompletionChunk]:
        """Send the request; retry passing faults a bounded number of times."""
        retries = 0
        whole = {**request, "model": self.name, "stream": True, "stream_options": {"include_usage": True}}
        while True:
            sent = self._dialect.fitted(whole)
            try:
                stream: Stream[ChatCompletionChunk] = self._client.chat.completions.create(
                    **sent, extra_headers=tracing.headers()
                )
            except _BROKEN as error:
                self._log_fault(error)
                if self._dialect.learns(error, sent):
                    continue
                fault = faults.before_the_answer(error)
                pause = max(self._retry_seconds * 2**retries, faults.retry_after(error))
                if retries >= self._retries or pause > MAX_RETRY_AFTER_SECONDS or not faults.may_pass(error):
                    raise fault from None
            else:
                return stream
            retries += 1
            time.sleep(pause)

    def _set_deadline(self, response: httpx.Response) -> None:
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _Deadline(response.stream, self._answer_seconds)

    def _log_fault(self, error: Exception) -> None:
        """Log the class of the fault only: messages may quote keys, and bodies the conversation."""
        status = getattr(error, "status_code", None)
        logger.warning("model %s: %s%s", self.name, type(error).__name__, f" {status}" if status else "")


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The certificates that all clients trust; reading them takes as long as a short answer."""
    return httpx.create_ssl_context()


class _Deadline(httpx.SyncByteStream):
    """A response body that ends in time: one that drips or only says that it is alive would else never stall."""

    def __init__(self, body: httpx.SyncByteStream, seconds: float) -> None:
        self._body = body
        self._ends = time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._body:
            if time.monotonic() > self._ends:
                raise httpx.ReadTimeout("The answer takes too long.")
            yield piece

    def close(self) -> None:
        self._body.close()


class OpenAIChat(Completions):
    """A ChatModel. Safe to share between threads."""

    offline = False

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema], *, may_call_tools: bool
    ) -> Generator[Output]:
        """Answer `messages`; see ChatModel."""
        request: dict[str, Any] = {"messages": list(messages)}
        if tools:
            request |= {"tools": list(tools), "tool_choice": "auto" if may_call_tools else "none"}
        return heard(self.outputs(request), silence_seconds=MODEL_SILENCE_SECONDS)
