"""What can go wrong: no answer, an answer that refuses (RFC 9457), or one that does not fit this client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

_TYPE_PREFIX = "urn:memoryhub:problem:"


class MemoryhubError(Exception):
    """The base of all errors of this client."""


class ConnectionFailed(MemoryhubError):
    """No whole answer arrived: no connection, or it broke."""


class TimedOut(ConnectionFailed):
    """No answer arrived in time."""


class UnexpectedAnswer(MemoryhubError):
    """The answer is not what this version of the client reads."""


@dataclass(frozen=True)
class FieldError:
    """A field of the request, and what is wrong with it."""

    field: str
    reason: str


class ApiError(MemoryhubError):
    """The server refused. `type` is the name of the problem, such as `conflict`; `problem` is all that it said."""

    def __init__(self, status: int, problem: Mapping[str, Any], *, retry_after: float | None = None) -> None:
        self.status = status
        self.problem = problem
        self.type = str(problem.get("type", "")).removeprefix(_TYPE_PREFIX)
        self.detail = str(problem.get("detail", ""))
        self.errors = [FieldError(each["field"], each["reason"]) for each in problem.get("errors", ())]
        self.request_id = problem.get("request_id")
        self.retry_after = retry_after
        super().__init__(f"{status} {self.type}: {self.detail}" if self.detail else f"{status}")


class InvalidInput(ApiError):
    """400: a field is missing, unknown or wrong; `errors` say which."""


class NotAuthenticated(ApiError):
    """401: the token is missing, unknown, expired or revoked."""


class Forbidden(ApiError):
    """403: the token lacks a scope."""


class NotFound(ApiError):
    """404: there is no such thing, or it is not yours."""


class Conflict(ApiError):
    """409: the thing is not in the state that the call assumes."""


class PreconditionFailed(ApiError):
    """412: the thing changed since it was read."""


class Blocked(ApiError):
    """422: the text holds a value that is never stored; `problem["spots"]` say where."""


class QuotaExceeded(ApiError):
    """429: a limit of use is reached; wait for `retry_after` seconds."""


class ModelUnavailable(ApiError):
    """502: the language model gave no whole answer."""


class ServerError(ApiError):
    """5xx: the server failed; name the `request_id` when you report it."""


class Unavailable(ServerError):
    """503: a part that is needed does not answer; try again after `retry_after` seconds."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: InvalidInput,
    401: NotAuthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    429: QuotaExceeded,
    502: ModelUnavailable,
    503: Unavailable,
}


def refused(response: httpx.Response) -> ApiError:
    """The error for a response that has been read, problem details or not."""
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    kind = _BY_STATUS.get(response.status_code, ServerError if response.is_server_error else ApiError)
    if problem.get("type") == f"{_TYPE_PREFIX}blocked":
        kind = Blocked
    return kind(response.status_code, problem, retry_after=retry_after(response))


def retry_after(response: httpx.Response) -> float | None:
    """The seconds that the server asks to wait."""
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def failed(error: httpx.TransportError, request: httpx.Request) -> ConnectionFailed:
    """The error for a request without an answer. It names the host, and nothing else of the address."""
    kind = TimedOut if isinstance(error, httpx.TimeoutException) else ConnectionFailed
    asks = " Does the server run there?" if isinstance(error, httpx.ConnectError) else ""
    host = f"{request.url.scheme}://{request.url.netloc.decode()}"
    return kind(f"No answer from {host}: {str(error) or type(error).__name__}.{asks}")
