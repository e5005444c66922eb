"""Maps exceptions of a model endpoint to ModelFault with a sentence for the user.

No sentence quotes the exception, whose message may contain the key or the conversation.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx
import openai

from memories.llm import tokens
from memories.llm.base import FaultCause, ModelFault

_FINAL: dict[int, tuple[str, FaultCause]] = {
    HTTPStatus.UNAUTHORIZED: (tokens.CREDENTIALS, FaultCause.CONFIGURATION),
    HTTPStatus.FORBIDDEN: (tokens.CREDENTIALS, FaultCause.CONFIGURATION),
    HTTPStatus.NOT_FOUND: (tokens.UNKNOWN, FaultCause.CONFIGURATION),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (tokens.TOO_MUCH, FaultCause.TOO_MUCH),
}
# Error codes that are more specific than the status.
_BY_CODE: dict[str, tuple[str, FaultCause]] = {
    "context_length_exceeded": (tokens.TOO_MUCH, FaultCause.TOO_MUCH),
    "string_above_max_length": (tokens.TOO_MUCH, FaultCause.TOO_MUCH),
    "content_filter": (tokens.FILTERED, FaultCause.REFUSAL),
    "content_policy_violation": (tokens.FILTERED, FaultCause.REFUSAL),
    "invalid_prompt": (tokens.FILTERED, FaultCause.REFUSAL),
    "data_inspection_failed": (tokens.FILTERED, FaultCause.REFUSAL),
    "model_not_found": (tokens.UNKNOWN, FaultCause.CONFIGURATION),
    "json_validate_failed": (tokens.UNREADABLE, FaultCause.ANSWER),
}
# With these statuses the endpoint may have rejected the text; any other refusal concerns the key, account or URL.
_OF_WORDS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_PASSING = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
)


def before_the_answer(error: Exception) -> ModelFault:
    """Return the fault of a request that failed before any answer arrived."""
    if isinstance(error, openai.APITimeoutError):
        return _endpoint("The model did not answer in time. Try again.")
    if isinstance(error, openai.APIConnectionError):
        return _endpoint("The model cannot be reached at the moment. Try again.")
    if isinstance(error, openai.APIStatusError):
        return _of_status(error)
    return ModelFault(tokens.UNREADABLE, retryable=True)


def in_the_middle(error: Exception) -> ModelFault:
    """Return the fault of an answer that failed after it began."""
    if isinstance(error, httpx.TimeoutException):
        return _endpoint(tokens.STALLED)
    if isinstance(error, httpx.HTTPError | httpx.StreamError | openai.APIError):
        return _endpoint(tokens.BROKEN_OFF)
    return ModelFault(tokens.UNREADABLE, retryable=True)


def may_pass(error: Exception) -> bool:
    """True if repeating the same request a moment later may succeed."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code in _PASSING or error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)


def retry_after(error: Exception) -> float:
    """Return the wait in seconds that the Retry-After header asks for (a number or a date), or 0."""
    if not isinstance(error, openai.APIStatusError):
        return 0.0
    told = error.response.headers.get("retry-after", "0")
    try:
        seconds = float(told)
    except ValueError:
        seconds = _seconds_until(told)
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _seconds_until(date: str) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()


def _endpoint(message: str, retry_after: float = 0.0) -> ModelFault:
    return ModelFault(message, retryable=True, cause=FaultCause.ENDPOINT, retry_after=retry_after)


def _of_status(error: openai.APIStatusError) -> ModelFault:
    status = error.status_code
    wait = retry_after(error)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        when = f"in {math.ceil(wait)} seconds" if wait else "in a moment"
        return _endpoint(f"The model is busy. Try again {when}.", wait)
    if may_pass(error):
        return _endpoint(f"The model endpoint has a fault ({status}). Try again.", wait)
    cause = FaultCause.TOO_MUCH if status in _OF_WORDS else FaultCause.CONFIGURATION
    refusal = (f"The model endpoint refused the request ({status}).", cause)
    message, cause = _BY_CODE.get(error.code or "") or _FINAL.get(status) or refusal
    return ModelFault(message, retryable=False, cause=cause)
