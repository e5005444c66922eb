"""Base classes and answers that all views of the API share: JSON in and out, a principal, no caching."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, cast
from uuid import UUID

from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.agent.events import (
    Event,
    MemoriesRecalled,
    MemoriesRetired,
    MemoryForgotten,
    MemoryWritten,
    Notice,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    to_json,
)
from memories.api.authentication import HasRights, SessionAuthentication, TokenAuthentication
from memories.api.fields import StrictSerializer
from memories.api.problems import JsonParser, LengthRequired, TurnNotAnswered, handle
from memories.api.schema import problems
from memories.api.serializers.memories import MEMORY_SERIALIZERS, WrittenSerializer
from memories.selectors.history.stories import supporting_episodes
from memories.selectors.memories import Memory, find_memory, get_memory, is_shared
from memories.selectors.paging import Page
from memories.services.write import shared_scopes
from memories.types import Kind, Recall, WriteOutcome
from tenants.errors import Forbidden
from tenants.principal import Principal, Right

Handler = Callable[..., Any]


def operation(
    name: str,
    needs: tuple[Right, ...],
    *,
    gives: Any,
    takes: Any = None,
    query: type[StrictSerializer] | None = None,
    statuses: tuple[int, ...] = (200,),
    refuses: tuple[int, ...] = (),
    streams: bool = False,
) -> Callable[[Handler], Handler]:
    """Declare a method of a view: the rights that it needs, what it takes and gives, and its part of the schema.

    The method gets the ids of the address, the checked query and, if `takes` is a serializer, the checked body, all by
    keyword. It returns a response, or what `gives` serializes with the first of `statuses`. `refuses` are the problems
    beside those of every address; 400 follows from `takes` and `query`. `streams`: it may answer with events instead.
    """
    expected = {*refuses, 400} if takes or query else set(refuses)
    described: dict[str, Any] = {"request": takes} if takes else {}
    answers: dict[Any, Any] = dict.fromkeys(statuses, gives)
    if streams:
        answers = {(200, "application/json"): gives, (200, "text/event-stream"): str}
    if query:
        described["parameters"] = [query]

    def decorate(method: Handler) -> Handler:
        @extend_schema(operation_id=name, responses={**answers, **problems(*expected)}, **described)
        @functools.wraps(method)
        def handler(self: ApiView, request: Request, **ids: UUID) -> HttpResponseBase:
            fields = checked(query, dict(request.query_params.items())) if query else {}
            if isinstance(takes, type):
                fields |= checked(takes, request.data)
            answer = method(self, **ids, **fields)
            if isinstance(answer, HttpResponseBase):
                return answer
            return Response(gives(answer).data if isinstance(gives, type) else answer, status=statuses[0])

        handler.needs = needs  # type: ignore[attr-defined]  # read by ApiView
        return handler

    return decorate


class ApiView(APIView):
    """A subclass has an `operation` for each verb: call a service or selector, render."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [HasRights]
    parser_classes = [JsonParser]
    renderer_classes = [JSONRenderer]
    http_method_names = ["get", "head", "post", "patch", "delete"]
    rights: ClassVar[Mapping[str, tuple[Right, ...]]] = {}

    def __init_subclass__(cls) -> None:
        """Collect what the operations need; a method that is none is closed."""
        super().__init_subclass__()
        needs = {name.upper(): getattr(getattr(cls, name, None), "needs", None) for name in cls.http_method_names}
        cls.rights = {verb: rights for verb, rights in needs.items() if rights is not None}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a body of unannounced length, which would be read as none. Raises LengthRequired."""
        super().initial(request, *args, **kwargs)
        if "Transfer-Encoding" in request.headers and not request.headers.get("Content-Length"):
            raise LengthRequired

    def get_exception_handler(self) -> Any:
        """Errors are problem details."""
        return handle

    @property
    def principal(self) -> Principal:
        """Who calls."""
        return cast("Principal", self.request.auth)

    def wrote(self, outcome: WriteOutcome, status: int) -> Response:
        """What a write did, with the memory as it is now."""
        shown = {field.name: getattr(outcome, field.name) for field in fields(outcome)}
        memory = rendered(self.principal, get_memory(self.principal, outcome.kind, outcome.memory_id))
        return Response(WrittenSerializer(shown | {"memory": memory}).data, status=status)

    def finalize_response(self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any) -> Any:
        """Forbid caches: an answer holds somebody's memory."""
        response.headers.setdefault("Cache-Control", "no-store")
        return super().finalize_response(request, cast("Response", response), *args, **kwargs)


def checked(shape: type[StrictSerializer], data: object) -> dict[str, Any]:
    """The values of a body or query. Raises ValidationError."""
    serializer = shape(data=data)
    serializer.is_valid(raise_exception=True)
    return cast("dict[str, Any]", serializer.validated_data)


@extend_schema(exclude=True)
class NowhereView(ApiView):
    """The answer at every address that does not exist, for any caller."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the framework's signature
        """Answer 404 to every method."""
        raise Http404


_SHARED = "This memory is shared; it cannot be changed here."


def whole_answer(events: Iterable[Event]) -> dict[str, Any]:
    """The members of an Answer. Raises TurnNotAnswered, naming the stored turn, if there is no whole answer."""
    answer: dict[str, Any] = {"recalled": [], "written": [], "retired": [], "forgotten": [], "notices": []}
    pieces: list[str] = []
    stored = ""
    for event in events:
        match event:
            case TurnStarted() | TurnFinished():
                finished = isinstance(event, TurnFinished)
                answer |= _named(to_json(event), finished=finished)
                stored = event.text if finished else ""
            case TextDelta():
                pieces.append(event.text)
            case MemoriesRecalled():
                answer["recalled"] += recalled(event.recall)
            case MemoryWritten():
                answer["written"].append(to_json(event))
            case MemoriesRetired():
                answer["retired"].append(to_json(event))
            case MemoryForgotten():
                answer["forgotten"] += to_json(event)["erased"]
            case Notice():
                answer["notices"].append(to_json(event))
            case TurnFailed():
                raise TurnNotAnswered(
                    event.message,
                    session_id=answer.get("session_id"),
                    turn=answer.get("turn"),
                    retryable=event.retryable,
                )
    return answer | {"answer": stored or "".join(pieces), "recalled": _distinct(answer["recalled"])}


def recalled(recall: Recall) -> list[dict[str, Any]]:
    """The items of a recall as `RecalledSerializer` takes them, with their ranks."""
    return [
        {"rank": rank, **{field.name: getattr(item, field.name) for field in fields(item)}}
        for rank, item in enumerate(recall.items, start=1)
    ]


def _named(event: Mapping[str, Any], *, finished: bool) -> dict[str, Any]:
    if not finished:
        named = {name: event[name] for name in ("session_id", "turn", "message_id", "episode_id", "masked")}
        return named | {"message": event.get("text")}
    return {"answer_id": event["message_id"], "state": event["state"], "took_ms": event["took_ms"]}


def _distinct(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each memory once, where it first came up."""
    first: dict[UUID, dict[str, Any]] = {}
    for item in items:
        first.setdefault(item["id"], item)
    return [item | {"rank": rank} for rank, item in enumerate(first.values(), start=1)]


def rendered(principal: Principal, memory: Memory) -> dict[str, Any]:
    """One memory."""
    return rendered_all(principal, [memory])[0]


def rendered_all(principal: Principal, memories: Sequence[Memory]) -> list[dict[str, Any]]:
    """Memories in their order; one query for the words behind the facts among them."""
    facts = [memory.pk for memory in memories if memory.kind is Kind.SEMANTIC]
    context = {"support": supporting_episodes(principal, facts) if facts else {}}
    return [dict(MEMORY_SERIALIZERS[memory.kind](memory, context=context).data) for memory in memories]


def paged(page: Page[Any], results: Sequence[Any] | None = None) -> dict[str, Any]:
    """A page of a list, with its rows or what is shown of them."""
    return {"results": page.rows if results is None else results, "next_cursor": page.next_cursor or None}


def memory_to_change(principal: Principal, memory_id: UUID) -> Memory:
    """One of the caller's own, or a shared one that they may change. Raises NotFound, or Forbidden as `own_memory`."""
    memory = find_memory(principal, memory_id)
    if is_shared(memory) and memory.scope not in shared_scopes(principal):
        raise Forbidden(_SHARED)
    return memory


def own_memory(principal: Principal, memory_id: UUID) -> Memory:
    """A memory of the caller's own. Raises NotFound, or Forbidden for one that they see because it is shared."""
    memory = find_memory(principal, memory_id)
    if is_shared(memory):
        raise Forbidden(_SHARED)
    return memory
