"""Base classes and response helpers of all API views: JSON only, authenticated, never cached."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from typing import Any, ClassVar, cast
from uuid import UUID

from django.db import transaction
from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.agent.events import (
    Event,
    ForgetProposed,
    MemoriesRecalled,
    MemoriesRetired,
    MemoryWritten,
    Notice,
    TextDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    to_json,
)
from memories.api.acting import APP_HEADER, USER_PLACES, Acts, caller_for, named_user
from memories.api.authentication import HasRights, SessionAuthentication, TokenAuthentication
from memories.api.etags import require_match, state_of, tagged
from memories.api.fields import StrictSerializer
from memories.api.idempotency import answered, claimed, replayed
from memories.api.problems import JsonParser, LengthRequired, TurnNotAnswered, handle
from memories.api.schema import Deprecation, MemberSchema, problems
from memories.api.serializers.memories import MEMORY_SERIALIZERS, WrittenResponse
from memories.errors import existing
from memories.selectors.history.stories import supporting_episodes
from memories.selectors.memories import Memory, find_memory, get_memory, is_shared
from memories.selectors.paging import Page
from memories.services.admission import Admission, admit_request
from memories.services.apps import check_app, in_app
from memories.services.idempotency import RequestAttempt, StoredAnswer
from memories.services.write import begin_with, shared_scopes
from memories.types import Kind, Recalled, WriteOutcome
from memoryhub.env.limits import Bucket
from memoryhub.middleware import AdmittedRequest
from tenants.end_users import member_named
from tenants.errors import Forbidden
from tenants.models import Membership
from tenants.principal import KeyHolder, Principal, Right

Handler = Callable[..., Any]
# Clients and the proxies before them wait longer than this for the answer to a large erasure or import.
ERASING_SECONDS = IMPORTING_SECONDS = 20.0


def operation(
    name: str,
    needs: tuple[Right, ...],
    *,
    gives: Any,
    takes: Any = None,
    query: type[StrictSerializer] | None = None,
    statuses: tuple[int, ...] = (200,),
    refuses: tuple[int, ...] = (),
    streams: Any = None,
    also: tuple[Bucket, ...] = (),
    keeps_answer: bool = True,
    media: str = "application/json",
    deprecated: Deprecation | None = None,
) -> Callable[[Handler], Handler]:
    """Declare a view method's rights, request and response serializers, and OpenAPI entry.

    The method receives the path ids, the validated query and, if `takes` is a serializer, the validated body as
    keywords. It returns a response, or an object that `gives` serializes with the first of `statuses`. `refuses` lists
    problem statuses beyond the common ones. `streams` adds a response as server-sent events of this union. A call
    counts as a turn, a write or a read, by the rights that it needs, and in the buckets `also`. `media` is the type of
    the answer. `deprecated` marks one that will end, here and in its answers.

    A GET of one thing answers with its ETag, and its changes take If-Match (memories/api/etags.py). What needs more
    than the right to read takes an Idempotency-Key (memories/api/idempotency.py); `keeps_answer=False` is for answers
    that hold a secret. A method that `streams` stores its own answer under `self.attempt.id`.
    """
    described: dict[str, Any] = {"request": takes} if takes else {}
    answers: dict[Any, Any] = {(status, media): gives for status in statuses}
    if streams:
        answers[statuses[0], "text/event-stream"] = streams
    if query:
        described["parameters"] = [query]
    if deprecated:
        described["deprecated"] = True

    def decorate(method: Handler) -> Handler:
        @extend_schema(operation_id=name, responses={**answers, **problems(*refuses)}, **described)
        @functools.wraps(method)
        def handler(self: ApiView, request: Request, **ids: UUID) -> HttpResponseBase:
            fields = checked(query, dict(request.query_params.items())) if query else {}
            if isinstance(takes, type):
                fields |= checked(takes, request.data)
            self.called_by(fields.pop("app", ""))
            form = AnswerRules(gives, statuses[0], runs_again=streams is not None, keeps_answer=keeps_answer)
            return self.carry_out(lambda: method(self, **ids, **fields), ids, form, changes=changes)

        changes = method.__name__ != "get" and needs != (Right.READ,)
        handler.needs, handler.deprecated = needs, deprecated  # type: ignore[attr-defined]  # read by ApiView
        handler.operation_id, handler.keeps_answer = name, keeps_answer  # type: ignore[attr-defined]  # for tests
        reads = method.__name__ == "get" and Right.WRITE not in needs
        handler.buckets = (Bucket.READS if reads else _bucket_of(needs), *also)  # type: ignore[attr-defined]  # likewise
        return handler

    return decorate


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """How an operation answers: `gives` serializes it with `status`; for the rest see `operation`."""

    gives: Any
    status: int
    runs_again: bool
    keeps_answer: bool


def _bucket_of(needs: tuple[Right, ...]) -> Bucket:
    if Right.CHAT in needs:
        return Bucket.TURNS
    return Bucket.READS if needs == (Right.READ,) else Bucket.WRITES


class ApiView(APIView):
    """Base view. Each HTTP method of a subclass is an `operation`; `acts` says whose objects they are about."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [HasRights]
    parser_classes = [JsonParser]
    renderer_classes = [JSONRenderer]
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    schema = MemberSchema()
    acts: ClassVar[Acts] = Acts.FOR_MEMBER
    user_places = USER_PLACES  # in which a backend key may name the user, in words
    rights: ClassVar[Mapping[str, tuple[Right, ...]]] = {}
    admission = Admission()
    limits_length = True  # False for views that count the entries of their bodies
    attempt: RequestAttempt | None = None  # at a request with an Idempotency-Key
    is_key = False
    user_id: str | None = None  # the user that the request names
    app = ""  # the app that the call names
    _in_app: Principal | None = None

    def __init_subclass__(cls) -> None:
        """Collect the rights of each operation; a method without `operation` is denied."""
        super().__init_subclass__()
        needs = {name.upper(): getattr(getattr(cls, name, None), "needs", None) for name in cls.http_method_names}
        cls.rights = {verb: rights for verb, rights in needs.items() if rights is not None}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check who calls, and who for. Raises LengthRequired for a chunked body, which would be read as empty."""
        super().initial(request, *args, **kwargs)
        if not self.is_key:  # the body of a request beyond the limits is not read
            self._name_user(request)

    def check_permissions(self, request: Request) -> None:
        """Check the rights, then let a backend key act for the member whose limits the request uses."""
        super().check_permissions(request)
        self.is_key = isinstance(request.auth, KeyHolder)
        if self.is_key:
            self._name_user(request)

    def _name_user(self, request: Request) -> None:
        if ("GET" if request.method == "HEAD" else request.method) not in self.rights:
            return  # answered with 405, and nobody is made for it
        if "Transfer-Encoding" in request.headers and not request.headers.get("Content-Length"):
            raise LengthRequired
        self.user_id = self.user_named(request)
        request.auth = caller_for(request, self.acts, self.user_id, places=self.user_places)

    def user_named(self, request: Request) -> str | None:
        """The user that the request names. Raises InvalidInput."""
        return named_user(request, self.kwargs.get("user_id"), take=self.acts is not Acts.FOR_KEY)

    def check_throttles(self, request: Request) -> None:
        """Admit the call, once its caller and their rights are known. Raises LimitExceeded."""
        if buckets := getattr(self._method(request), "buckets", ()):
            admitted = cast("AdmittedRequest", request._request)
            self.admission = admit_request(self.caller, buckets, admitted, by_length=self.limits_length)

    def _method(self, request: Request) -> Handler | None:
        """The operation that the request is for."""
        return getattr(self, "get" if request.method == "HEAD" else str(request.method).lower(), None)

    def carry_out(
        self, method: Callable[[], Any], ids: Mapping[str, UUID], form: AnswerRules, *, changes: bool
    ) -> HttpResponseBase:
        """Call a method once for its idempotency key and answer with its result, with an ETag if it is of one thing."""

        def run() -> HttpResponseBase:
            with self.conditions(ids):
                found = method()
            if isinstance(found, HttpResponseBase):
                answer = found
            else:
                data = form.gives(found).data if isinstance(form.gives, type) else found
                answer = Response(data, status=form.status)
            has_tag = isinstance(answer, Response) and self.request.method in ("GET", "HEAD", "PATCH")
            if has_tag and (state := self.state(ids)):
                return tagged(self.request, state, cast("Response", answer).data)
            return answer

        attempt = claimed(self.request, runs_again=form.runs_again) if changes else None
        if isinstance(attempt, StoredAnswer):
            return replayed(attempt)
        self.attempt = attempt
        if attempt is None:
            return run()
        return answered(attempt, run, keeps_answer=form.keeps_answer)

    @contextmanager
    def conditions(self, ids: Mapping[str, UUID]) -> Iterator[None]:
        """Check If-Match now and again under the owner's lock, where the attempt is marked as committed."""
        expects = self.check_match(ids)

        def first() -> None:
            self.check_match(ids)
            if self.attempt is not None and not self.attempt.runs_again:
                self.attempt.commit()

        with begin_with(first, undo=lambda: None) if expects or self.attempt else nullcontext():
            yield

    def check_match(self, ids: Mapping[str, UUID]) -> bool:
        """Whether the request has conditions for its change. Raises PreconditionFailed if they are not met."""
        expects = self.request.method not in ("GET", "HEAD") and "If-Match" in self.request.headers
        if expects:
            require_match(self.request, self.state(ids))
        return expects

    def state(self, ids: Mapping[str, UUID]) -> str:
        """The state of the one thing that the address names, for its ETag; empty if it names none. Raises NotFound."""
        return state_of(self.principal, ids)

    @contextmanager
    def once(self) -> Iterator[None]:
        """A transaction that marks the attempt as committed, for a change outside the owner's write scope."""
        with transaction.atomic():
            if self.attempt is not None:
                self.attempt.commit()
            yield

    def commit_attempt(self) -> None:
        """Mark the attempt as committed, before changes in several transactions."""
        with self.once():
            self.attempt = None

    def get_exception_handler(self) -> Any:
        """Return the handler that renders errors as problem details."""
        return handle

    @property
    def caller(self) -> Principal | KeyHolder:
        """The authenticated caller: a backend key only where it acts for no member."""
        return cast("Principal | KeyHolder", self.request.auth)

    @property
    def principal(self) -> Principal:
        """The authenticated caller of a member's view, in the app that the call names."""
        return self._in_app or cast("Principal", self.request.auth)

    def called_by(self, app: str) -> None:
        """Let the caller act in `app`, or else in that of the header. Raises InvalidInput."""
        caller = self.request.auth
        self.app = app or self.request.headers.get(APP_HEADER, "")
        if self.app and isinstance(caller, Principal):
            self._in_app = in_app(caller, self.app)
        elif self.app:
            check_app(self.app)

    def named_member(self) -> Membership | None:
        """The member of the caller's tenant that the request names, if it names one. Raises NotFound."""
        if self.user_id is None:
            return None
        return existing(member_named(self.caller.tenant_id, self.user_id), "member")

    @property
    def key(self) -> KeyHolder:
        """The authenticated caller of a view that is for backend keys alone."""
        return cast("KeyHolder", self.request.auth)

    def wrote(self, outcome: WriteOutcome, status: int) -> Response:
        """Render a write's outcome with the memory's current state."""
        shown = {field.name: getattr(outcome, field.name) for field in fields(outcome)}
        memory = rendered(self.principal, get_memory(self.principal, outcome.kind, outcome.memory_id))
        return Response(WrittenResponse(shown | {"memory": memory}).data, status=status)

    def finalize_response(self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any) -> Any:
        """Forbid caching, because responses contain personal memories, and say that a deprecated operation is one."""
        response.headers.setdefault("Cache-Control", "no-store")
        if deprecated := getattr(self._method(request), "deprecated", None):
            for name, value in deprecated.headers().items():
                response.headers[name] = value
        return super().finalize_response(request, cast("Response", response), *args, **kwargs)


class StreamRenderer(BaseRenderer):
    """Lets content negotiation accept `media_type`; the stream itself is a separate response."""

    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:  # noqa: ARG002
        """Return nothing, because the view returns a streaming response."""
        return b""


def checked(shape: type[StrictSerializer], data: object) -> dict[str, Any]:
    """Validate a body or query string and return its values. Raises ValidationError."""
    serializer = shape(data=data)
    serializer.is_valid(raise_exception=True)
    return cast("dict[str, Any]", serializer.validated_data)


@extend_schema(exclude=True)
class NowhereView(ApiView):
    """Responds to unknown paths with 404, for any caller."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the framework's signature
        """Raise 404 for every method."""
        raise Http404


_SHARED = "This memory is shared; it cannot be changed here."


def whole_answer(events: Iterable[Event]) -> dict[str, Any]:
    """Collect a turn's events into the fields of `TurnResponse`.

    Raises TurnNotAnswered, which names the stored turn, if the turn failed.
    """
    answer: dict[str, Any] = {"recalled": [], "written": [], "retired": [], "forget_proposals": [], "notices": []}
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
                answer["recalled"] += recalled(event.recall.items)
            case MemoryWritten():
                answer["written"].append(to_json(event))
            case MemoriesRetired():
                answer["retired"].append(to_json(event))
            case ForgetProposed():
                answer["forget_proposals"].append(to_json(event))
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


def recalled(items: Iterable[Recalled], *, explain: bool = False) -> list[dict[str, Any]]:
    """Convert recalled items to the form of `RecalledSerializer`, with ranks from 1; `explain` adds their signals."""
    names = [field.name for field in fields(Recalled) if explain or field.name != "signals"]
    return [{"rank": rank, **{name: getattr(item, name) for name in names}} for rank, item in enumerate(items, start=1)]


def _named(event: Mapping[str, Any], *, finished: bool) -> dict[str, Any]:
    if not finished:
        named = {name: event[name] for name in ("session_id", "turn", "message_id", "episode_id", "masked")}
        return named | {"message": event.get("text")}
    return {"answer_id": event["message_id"], "state": event["state"], "took_ms": event["took_ms"]}


def _distinct(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove duplicate memories, keeping the first occurrence of each."""
    first: dict[UUID, dict[str, Any]] = {}
    for item in items:
        first.setdefault(item["id"], item)
    return [item | {"rank": rank} for rank, item in enumerate(first.values(), start=1)]


def rendered(principal: Principal, memory: Memory) -> dict[str, Any]:
    """Render one memory."""
    return rendered_all(principal, [memory])[0]


def rendered_all(principal: Principal, memories: Sequence[Memory]) -> list[dict[str, Any]]:
    """Render memories in order. One query loads the supporting episodes of all facts."""
    facts = [memory.pk for memory in memories if memory.kind is Kind.SEMANTIC]
    context = {"support": supporting_episodes(principal, facts) if facts else {}}
    return [dict(MEMORY_SERIALIZERS[memory.kind](memory, context=context).data) for memory in memories]


def paged(page: Page[Any], results: Sequence[Any] | None = None) -> dict[str, Any]:
    """Render a page of a list; `results` replaces its rows if given."""
    return {"results": page.rows if results is None else results, "next_cursor": page.next_cursor or None}


def memory_to_change(principal: Principal, memory_id: UUID) -> Memory:
    """Return a memory that the caller may change, their own or shared. Raises NotFound or Forbidden."""
    memory = find_memory(principal, memory_id)
    if is_shared(memory) and memory.scope not in shared_scopes(principal):
        raise Forbidden(_SHARED)
    return memory


def own_memory(principal: Principal, memory_id: UUID) -> Memory:
    """Return a memory that the caller owns. Raises NotFound, or Forbidden if it is shared."""
    memory = find_memory(principal, memory_id)
    if is_shared(memory):
        raise Forbidden(_SHARED)
    return memory
