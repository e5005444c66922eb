"""One model at any endpoint that speaks the OpenAI chat-completions protocol, streaming, by the `openai` package.

Invariant: whatever the endpoint does, `outputs` ends with one Finished or raises one ModelFault whose message holds
neither the key nor the address. An answer that was cut, or whose tool calls were, is never taken for a whole one.
"""

from __future__ import annotations

import functools
import logging
import ssl
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

import httpx
import openai
from openai import OpenAI, Stream
from openai.types.chat import ChatCompletionChunk

from memories.constants import (
    MAX_RETRY_AFTER_SECONDS,
    MODEL_ANSWER_SECONDS,
    MODEL_RETRIES,
    MODEL_RETRY_SECONDS,
    MODEL_TIMEOUT_SECONDS,
)
from memories.llm import faults
from memories.llm.assembly import Assembly
from memories.llm.base import Finished, StopReason, Text, ToolCall
from memories.llm.dialect import Dialect
from memories.llm.whole_answer import chunks_of
from memoryhub.observability import tracing

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
    """Sends requests and reads what comes. Safe to share between threads.

    `stall_seconds` bounds each silence, `answer_seconds` a whole answer; a request that fails before its answer is
    tried `retries` more times, `retry_seconds` later, then twice that.
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

    def outputs(self, request: Mapping[str, Any]) -> Generator[Text | ToolCall | Finished]:
        """The answer to `request`, which has everything but the model's name. Raises ModelFault, also in the middle."""
        with tracing.span("model", model=self.name) as span:
            finished = yield from self._answer(request)
            usage = finished.usage
            span.note(stop=finished.reason.value, tokens_in=usage.prompt_tokens, tokens_out=usage.completion_tokens)
        yield finished

    def _answer(self, request: Mapping[str, Any]) -> Generator[Text | ToolCall, None, Finished]:
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
        """Send the request; try again, a bounded number of times, what may pass."""
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
        """Log the kind of fault alone: messages of the client may quote keys, and bodies may quote the conversation."""
        status = getattr(error, "status_code", None)
        logger.warning("model %s: %s%s", self.name, type(error).__name__, f" {status}" if status else "")


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Whom all clients trust; to read the certificates takes as long as a short answer."""
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
