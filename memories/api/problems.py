"""Converts errors to problem details (RFC 9457) and parses request bodies.

Every error response of the API has this form, regardless of the Accept header. It contains no submitted value, no
memory text and no internal details. Unknown ids and ids of other owners get the same response.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO, Any, NoReturn

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS

from memories.api.etags import PreconditionFailed
from memories.errors import (
    AnswerGone,
    Blocked,
    Conflict,
    InvalidInput,
    KeyInFlight,
    KeyReused,
    LimitExceeded,
    ModelUnavailable,
    NotFound,
    SearchForbidden,
)
from memories.hygiene.sensitivity import findings
from memoryhub.problem_details import CONTENT_TYPE, problem_members
from tenants.errors import Forbidden, InvalidValue, NoMembership
from tenants.middleware import request_id_of
from tenants.principal import Right

MAX_BODY_BYTES = 1024 * 1024
"""The longest text that can be stored fits several times over, however it is escaped."""


class BodyTooLarge(APIException):
    """The body exceeds MAX_BODY_BYTES."""

    status_code = 413
    default_detail = f"The body is larger than {MAX_BODY_BYTES:,} bytes."
    default_code = "body-too-large"


class LengthRequired(APIException):
    """The body is sent in chunks, so its length is unknown in advance."""

    status_code = 411
    default_detail = "Send the body with a Content-Length."
    default_code = "length-required"


class JsonParser(BaseParser):
    """Parses JSON per RFC 8259: UTF-8, without NaN or Infinity; at most `limit` bytes."""

    media_type = "application/json"
    limit = MAX_BODY_BYTES

    def parse(self, stream: IO[Any], *_: object, **__: object) -> Any:
        """Return the parsed body. Raises BodyTooLarge, or ParseError with the position of the syntax error."""
        body = stream.read(self.limit + 1)
        if len(body) > self.limit:
            raise BodyTooLarge(f"The body is larger than {self.limit:,} bytes.")
        try:
            return json.loads(body.decode(), parse_constant=_refuse_constant, object_pairs_hook=_without_doubles)
        except json.JSONDecodeError as error:
            what = error.msg.removesuffix(" at")
            raise ParseError(f"is not JSON: {what} at line {error.lineno}, column {error.colno}.") from error
        except UnicodeDecodeError as error:
            raise ParseError("is not UTF-8.") from error
        except RecursionError as error:
            raise ParseError("is nested too deeply.") from error
        except ValueError as error:
            raise ParseError("holds a number that cannot be read.") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object. Raises ParseError for a name that occurs twice: readers differ in which of the two they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ParseError("holds an object with the same name twice.")
    return found


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ApiProblem:
    """One problem: `name` completes the type URN, `errors` are (field, reason), `more` are extra members."""

    status: int
    name: str
    title: str
    detail: str
    errors: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, object] = field(default_factory=dict)

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers of an answer with this problem."""
        return {"Cache-Control": "no-store", **self.headers}


class TurnNotAnswered(ModelUnavailable):
    """The user's turn is stored but has no complete answer.

    If `retryable`, the request may be repeated with `retry`.
    """

    def __init__(self, detail: str, **more: object) -> None:
        super().__init__(detail)
        self.more = more


def handle(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Turn an exception raised in a view into a response."""
    return respond(context["request"]._request, problem_in(error, context))


def problem_in(error: Exception, context: Mapping[str, Any]) -> ApiProblem:
    """The problem that an exception raised in a view is; one that nobody expected is logged."""
    request = context["request"]._request
    problem = problem_of(error, stores=_stores(context))
    if problem is None:
        logger.error("Request %s failed: %s", request_id_of(request), type(error).__name__, exc_info=error)
        problem = _SERVER_ERROR
    elif problem is _NO_DATABASE:
        logger.error("Request %s failed: the database did not answer.", request_id_of(request), exc_info=error)
    return problem


def _stores(context: Mapping[str, Any]) -> bool:
    """Whether the call stores something: not if it needs no right but to read."""
    method = context["request"].method
    return method not in SAFE_METHODS and bool({*context["view"].rights.get(method, ())} - {Right.READ})


def respond(request: HttpRequest, problem: ApiProblem) -> HttpResponse:
    """Render a problem."""
    body = json.dumps(members_of(request, problem)).encode()
    return HttpResponse(body, status=problem.status, content_type=CONTENT_TYPE, headers=problem.all_headers)


def members_of(request: HttpRequest, problem: ApiProblem) -> dict[str, Any]:
    """A problem as an object, for an answer that has another form or reports on several things."""
    return problem_members(
        problem.status,
        request_id=request_id_of(request),
        name=problem.name,
        title=problem.title,
        detail=problem.detail,
        errors=problem.errors,
        more=problem.more,
    )


_SERVER_ERROR = ApiProblem(500, "", "", "")  # the words of memoryhub/problem_details.py
_NO_DATABASE = ApiProblem(
    503,
    "unavailable",
    "Temporarily unavailable",
    "The database did not answer. Try again in a moment.",
    headers={"Retry-After": "5"},
)


def problem_of(error: Exception, *, stores: bool) -> ApiProblem | None:
    """Map an exception to a problem, or to None if the exception is unexpected.

    `stores`: the call would have stored something, so the problem says that nothing was.
    """
    if isinstance(error, NotFound) and error.field:
        error = InvalidInput(error.field, f"names an unknown {error.what}.")
    match error:
        case InvalidInput() | InvalidValue():
            return _invalid([(error.field, error.reason)], stores=stores)
        case exceptions.ValidationError() | exceptions.ParseError():
            return _invalid(list(_flat(error.detail)), stores=stores)
        case exceptions.APIException():
            return _of_framework(error)
        case Http404():
            return ApiProblem(404, "not-found", "Not found", "There is nothing at this address.")
        case OperationalError() | InterfaceError():
            return _NO_DATABASE
        case Blocked():
            return _blocked(error)
        case LimitExceeded():
            return _exceeded(error)
    known = next((known for kinds, known in _REFUSALS if isinstance(error, kinds)), None)
    return known and replace(known, detail=str(error) or known.detail, more=getattr(error, "more", known.more))


def _blocked(error: Blocked) -> ApiProblem:
    """Describe rejected values by field, kind and position, never by value."""
    errors = tuple((spot.field, f"{findings.at(spot)}, which is not stored.") for spot in error.spots)
    spots = [
        {"field": spot.field, "kind": spot.kind.value, "start": spot.start, "end": spot.end} for spot in error.spots
    ]
    return ApiProblem(422, "blocked", "Not stored", f"Nothing was stored. {error}", errors, more={"spots": spots})


def _exceeded(error: LimitExceeded) -> ApiProblem:
    """Name the limits, as draft-ietf-httpapi-ratelimit-headers does."""
    more = {"violated-policies": error.limits}
    return ApiProblem(429, "quota-exceeded", "Too many requests", str(error), headers=error.headers, more=more)


# An empty detail is replaced by the error's own message.
_REFUSALS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], ApiProblem], ...] = (
    (TurnNotAnswered, ApiProblem(502, "model-unavailable", "No answer", "")),
    (NotFound, ApiProblem(404, "not-found", "Not found", "")),
    (Conflict, ApiProblem(409, "conflict", "Conflict", "")),
    (KeyInFlight, ApiProblem(409, "request-in-flight", "Still being carried out", "", headers={"Retry-After": "2"})),
    (KeyReused, ApiProblem(422, "key-reused", "Idempotency key used before", "")),
    (PreconditionFailed, ApiProblem(412, "precondition-failed", "Changed meanwhile", "")),
    (AnswerGone, ApiProblem(410, "answer-gone", "Carried out before", "")),
    (SearchForbidden, ApiProblem(503, "search-closed", "Search is closed", "", headers={"Retry-After": "30"})),
    ((Forbidden, NoMembership, PermissionDenied), ApiProblem(403, "forbidden", "Forbidden", "This is not allowed.")),
)


def _invalid(errors: list[tuple[str, str]], *, stores: bool) -> ApiProblem:
    """Build a 400 problem from (field, reason) pairs."""
    said = "; ".join(f"{name} {reason}" for name, reason in errors[:3])
    detail = f"Nothing was stored: {said}" if stores else f"Nothing was looked up: {said}"
    return ApiProblem(400, "invalid-input", "Invalid input", detail, tuple(errors))


def _of_framework(error: exceptions.APIException) -> ApiProblem:
    headers: dict[str, str] = {}
    name = str(error.default_code).replace("_", "-")
    errors: tuple[tuple[str, str], ...] = ()
    detail = str(error.detail)
    match error:
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            challenge = headers["WWW-Authenticate"] = str(getattr(error, "auth_header", "Bearer"))
            if isinstance(error, exceptions.NotAuthenticated):
                scheme = challenge.partition(" ")[0]
                detail = (
                    f"Nobody is named as the caller: send `Authorization: {scheme} …` with a token or a backend key."
                )
        case exceptions.UnsupportedMediaType():
            detail = "Send the body as application/json."
            errors = (("Content-Type", "must be application/json."),)
        case exceptions.NotAcceptable():
            errors = (("Accept", "names no type that this address answers in."),)
        case LengthRequired():
            errors = (("Content-Length", "is missing."),)
        case BodyTooLarge():
            errors = (("body", detail),)
    return ApiProblem(error.status_code, name, name.replace("-", " ").capitalize(), detail, errors, headers)


def _flat(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Flatten a nested validation error to (field path, message) pairs; a path looks like `steps.3`."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _flat(inner, path if name == "non_field_errors" else f"{path}.{name}".lstrip("."))
    elif isinstance(detail, list | tuple):
        for inner in detail:
            yield from _flat(inner, path)
    else:
        yield path or "body", str(detail)
