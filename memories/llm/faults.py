"""What can go wrong at an endpoint, as sentences for the user.

Invariant: no sentence quotes the error: its text may hold the key, the address or the conversation.
"""

from __future__ import annotations

import math
from http import HTTPStatus

import httpx
import openai

from memories.llm import sentences
from memories.llm.base import ModelFault

_FINAL: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: sentences.CREDENTIALS,
    HTTPStatus.FORBIDDEN: sentences.CREDENTIALS,
    HTTPStatus.NOT_FOUND: sentences.UNKNOWN,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: sentences.TOO_MUCH,
}
_BY_CODE = {"context_length_exceeded": sentences.TOO_MUCH, "content_filter": sentences.FILTERED}
_PASSING = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)


def before_the_answer(error: Exception) -> ModelFault:
    """The fault of a request that brought no answer at all."""
    if isinstance(error, openai.APITimeoutError):
        return ModelFault("The model did not answer in time. Try again.", retryable=True)
    if isinstance(error, openai.APIConnectionError):
        return ModelFault("The model cannot be reached at the moment. Try again.", retryable=True)
    if isinstance(error, openai.APIStatusError):
        return _of_status(error)
    return ModelFault(sentences.UNREADABLE, retryable=True)


def in_the_middle(error: Exception) -> ModelFault:
    """The fault of an answer that had begun."""
    if isinstance(error, httpx.TimeoutException):
        return ModelFault(sentences.STALLED, retryable=True)
    if isinstance(error, httpx.HTTPError | httpx.StreamError | openai.APIError):
        return ModelFault(sentences.BROKEN_OFF, retryable=True)
    return ModelFault(sentences.UNREADABLE, retryable=True)


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code in _PASSING or error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)


def retry_after(error: Exception) -> float:
    """Seconds that the server asks to wait; 0 if it does not say."""
    if not isinstance(error, openai.APIStatusError):
        return 0.0
    try:
        seconds = float(error.response.headers.get("retry-after", "0"))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def dislikes_usage(error: Exception) -> bool:
    """Whether the endpoint refused the request for asking how many tokens it took, which not all know."""
    return (
        isinstance(error, openai.APIStatusError) and error.status_code in (400, 422) and "stream_options" in str(error)
    )


def _of_status(error: openai.APIStatusError) -> ModelFault:
    status = error.status_code
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        wait = retry_after(error)
        when = f"in {math.ceil(wait)} seconds" if wait else "in a moment"
        return ModelFault(f"The model is busy. Try again {when}.", retryable=True)
    if may_pass(error):
        return ModelFault(f"The model endpoint has a fault ({status}). Try again.", retryable=True)
    refusal = f"The model endpoint refused the request ({status})."
    return ModelFault(_BY_CODE.get(error.code or "") or _FINAL.get(status) or refusal, retryable=False)
