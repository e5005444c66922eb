"""Passes a request on to a model's API, and the answer back byte by byte.

It runs as a turn's stream does (memories/agent/streams.py): no thread waits for the model. What was said is stored
before the end of the answer is sent, so a client that has it all asks its next question of a memory that knows it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field

import httpx
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException

from memories.api.dropin.wires import BYTES_A_TOKEN, MAX_READ_BYTES, AnswerReader, Wire
from memories.constants import MODEL_SILENCE_SECONDS
from memories.llm.base import Waiting
from memories.llm.streaming import heard
from memories.llm.upstream import Head, PassedRequest, Upstream, exchange
from memoryhub.outgoing import Unreachable
from tenants.errors import Forbidden

log = logging.getLogger(__name__)

_FIRST_ERROR = 400
_CREDENTIALS = (401, 403)
_STORED = "X-Memoryhub-Stored"
_BACK = frozenset(
    {"content-type", "content-encoding", "retry-after", "retry-after-ms", "x-should-retry", "request-id"}
    | {"openai-processing-ms", "openai-version"}
)
# What is left of the tenant's own key is nobody else's matter.
_OF_KEY = ("x-ratelimit-", "anthropic-ratelimit-")


class UpstreamFailed(APIException):
    """The model's API gave no answer that can be passed on."""

    status_code = 502
    default_code = "upstream-failed"
    default_detail = "The model's endpoint could not be reached, or broke off. Try again."


@dataclass(slots=True)
class Relay:
    """One request. `store` gets the answer's text and says whether it could; `spend` the tokens that it took.

    `require_active` raises Forbidden once its member or token may read no more. Without `reads` the answer is passed on
    alone, up to MAX_READ_BYTES.
    """

    wire: Wire
    upstream: Upstream
    request: PassedRequest
    store: Callable[[str], bool]
    spend: Callable[[int], None]
    prompt_tokens: Callable[[], int]
    require_active: Callable[[], None]
    note: bytes = b""
    reads: bool = True
    head: Head | None = field(default=None, init=False)
    _reader: AnswerReader | None = field(default=None, init=False)
    _collects: bool = field(default=False, init=False)  # a whole answer, which is sent once it is stored
    _size: int = field(default=0, init=False)
    _is_sent: bool = field(default=False, init=False)
    _is_done: bool = field(default=False, init=False)

    def pieces(
        self, response: StreamingHttpResponse, refused: Callable[[Exception], HttpResponseBase]
    ) -> Generator[bytes | Waiting]:
        """The bytes of the answer; `response` gets its status and headers before the first of them."""
        try:
            with closing(self._passed(response)) as passed:
                for piece in passed:
                    self._is_sent = self._is_sent or isinstance(piece, bytes)
                    yield piece
        except (httpx.HTTPError, httpx.InvalidURL, Unreachable, APIException, Forbidden) as error:
            log.warning("The answer of a drop-in was broken off: %s", type(error).__name__)
            self._is_done = self.head is None
            if isinstance(error, Forbidden):  # whoever may read no more writes nothing either
                self.store = lambda _: False
            if self._is_sent:  # the client sees what it would see of the endpoint: an answer that breaks off
                raise ConnectionAbortedError from None
            answer = refused(error if isinstance(error, APIException | Forbidden) else UpstreamFailed())
            _take_over(response, answer.status_code, answer.headers)
            yield answer.content if isinstance(answer, HttpResponse) else b""
        finally:
            self._finish(response)

    def _passed(self, response: StreamingHttpResponse) -> Generator[bytes | Waiting]:
        whole = bytearray()
        answer = exchange(self.upstream, self.request)
        with closing(heard(answer, silence_seconds=MODEL_SILENCE_SECONDS, may_suspend=True)) as pieces:
            for piece in pieces:
                if isinstance(piece, Head):
                    yield from self._begin(piece, response)
                elif isinstance(piece, Waiting):
                    yield piece
                elif isinstance(piece, bytes):
                    self.require_active()
                    yield from self._take(piece, whole, response)
        if self._reader is not None and whole:
            self._reader.is_over = True
            self._reader.feed(bytes(whole))
            self._finish(response)
            yield bytes(whole)
        elif not self._is_sent:
            raise UpstreamFailed("The model's endpoint answered without a word.")

    def _take(self, piece: bytes, whole: bytearray, response: StreamingHttpResponse) -> Generator[bytes]:
        """Read the next bytes, or collect them in `whole`; yield what is to be sent now."""
        self._size += len(piece)
        if self._quotes_key(piece):
            raise UpstreamFailed("The model's endpoint answered with an error that shows the key of this server.")
        if not self._collects:
            if not self.reads and self._size > MAX_READ_BYTES:
                raise UpstreamFailed("The model's answer is too long to be passed on.")
            yield from self._streamed(piece, response)
            return
        whole += piece
        if len(whole) <= MAX_READ_BYTES:
            return
        log.warning("An answer of a drop-in has more than %d bytes: it is passed on, and not stored", MAX_READ_BYTES)
        response.headers[_STORED] = "false"
        self._collects = False
        passed = bytes(whole)
        whole.clear()
        yield passed

    def _quotes_key(self, piece: bytes) -> bool:
        """Whether an error shows a key that is not the caller's."""
        key = "" if self.upstream.own else self.upstream.key
        return bool(key) and self.head is not None and self.head.status >= _FIRST_ERROR and key.encode() in piece

    def _streamed(self, piece: bytes, response: StreamingHttpResponse) -> Generator[bytes]:
        """The piece; storing holds up the line that ends the answer and what follows it, not what came with it."""
        reader = self._reader
        if reader is not None and reader.streams and not self._is_done:
            before = 0
            for line in piece.splitlines(keepends=True):
                reader.feed(line)
                if reader.is_over:
                    break
                before += len(line)
            if reader.is_over:
                if before:
                    yield piece[:before]
                self._finish(response)
                piece = piece[before:]
        yield piece

    def _begin(self, head: Head, response: StreamingHttpResponse) -> Generator[bytes]:
        if head.status in _CREDENTIALS and not self.upstream.own:  # the endpoint's words may show a part of the key
            raise UpstreamFailed(
                f"The model's endpoint refused the key of this server or tenant ({head.status}). An administrator has"
                " to check it, and that it may use this model."
            )
        self.head = head
        names = _OF_KEY if self.upstream.own else ()
        passed = {name: value for name, value in head.headers.items() if name in _BACK or name.startswith(names)}
        _take_over(response, head.status, passed)
        if self.reads and head.status < _FIRST_ERROR:
            streams = head.headers.get("content-type", "").startswith("text/event-stream")
            self._reader = AnswerReader(self.wire, streams=streams)
            self._collects = not streams
            if streams and self.note:
                yield self.note

    def _finish(self, response: StreamingHttpResponse) -> None:
        """Store and count, once; also of an answer that broke off, or that nobody waits for any more."""
        if self._is_done:
            return
        self._is_done = True
        reader = self._reader
        if reader is None:
            if self.head is None:  # the client left before the answer began; the model has read the request
                self.spend(self.prompt_tokens())
            return
        if (reader.is_over or reader.text) and not self.store(reader.text):
            response.headers[_STORED] = "false"
        if reader.is_over and reader.tokens:
            self.spend(reader.tokens)
            return
        is_read = reader.streams or reader.is_over
        written = reader.written if is_read else self._size // BYTES_A_TOKEN
        self.spend(max(reader.tokens, self.prompt_tokens() + written))


def _take_over(response: StreamingHttpResponse, status: int, headers: Mapping[str, str]) -> None:
    response.status_code = status
    for name, value in headers.items():
        response.headers[name] = value
