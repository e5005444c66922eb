"""Views of the drop-ins: OpenAI's and Anthropic's own APIs, with memory (docs/drop-in.md, docs/adr/0037).

Who calls, for which member and within which limits is decided as everywhere in the API. Errors have the form of the API
that is spoken. The addresses are what the clients of both APIs add to a base address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import quote

from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from memories.agent.streams import suspended
from memories.api.acting import USER_HEADER, Acts
from memories.api.authentication import TokenAuthentication
from memories.api.dropin.relay import Relay
from memories.api.dropin.remembering import NOTE_HEADER, SESSION_HEADER, augment, mode_of, store
from memories.api.dropin.wires import ChatWire, Json, MessagesWire, ResponsesWire, Wire, prompt_tokens
from memories.api.problems import JsonParser, members_of, problem_in
from memories.api.views.base import ApiView
from memories.constants import MAX_PASSED_BYTES
from memories.errors import InvalidInput
from memories.llm.upstream import PassedRequest, Upstream
from memories.selectors.upstreams import upstream_of
from memories.services.admission import admit_more, spend_model_tokens
from memoryhub.env.limits import Bucket
from memoryhub.middleware import ASYNC
from memoryhub.problem_details import TYPE_PREFIX
from tenants.end_users import checked_id
from tenants.errors import InvalidValue
from tenants.principal import KeyHolder, Right
from tenants.principals import ActiveCheck

KEY_HEADER = "X-Memoryhub-Upstream-Key"
_FORWARDED = (
    "Accept", "User-Agent", "Anthropic-Version", "Anthropic-Beta", "OpenAI-Beta", "X-Client-Request-Id",
)  # fmt: skip
# They choose whose account pays, or belong to all who share a key.
_FORWARDED_WITH_KEY = ("OpenAI-Organization", "OpenAI-Project", "Idempotency-Key")
_ANTHROPIC_VERSION = "2023-06-01"

Method = TypeVar("Method", bound=Callable[..., Any])


class NoUpstream(APIException):
    """Nobody said where requests of this API go."""

    status_code = 400
    default_code = "no-upstream"


class PassedParser(JsonParser):
    """Requests to models hold images and long conversations."""

    limit = MAX_PASSED_BYTES


class KeyAuthentication(TokenAuthentication):
    """Tokens and backend keys, also in X-Api-Key, as clients of Anthropic's API send them."""

    def presented(self, request: Request) -> str | None:
        """The token or key of a request."""
        return super().presented(request) or request.headers.get("X-Api-Key")


def _counts_as(*buckets: Bucket) -> Callable[[Method], Method]:
    """Declare what a call needs and counts as. What it needs of memory depends on its mode (`augment`)."""

    def decorate(method: Method) -> Method:
        method.needs, method.buckets = (Right.CHAT,), buckets  # type: ignore[attr-defined]  # read by ApiView
        return method

    return decorate


class DropInView(ApiView):
    """Base of the drop-ins. `path` follows the address of the API that is spoken."""

    authentication_classes = [KeyAuthentication]
    parser_classes = [PassedParser]
    wire: Wire = ChatWire()
    path = ""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: ARG002, FBT001, FBT002
        """Whatever the client accepts, the model's API answers."""
        return super().perform_content_negotiation(request, force=True)

    def get_exception_handler(self) -> Any:
        """Errors in the form of the API."""
        return self._refused

    def _refused(self, error: Exception, context: Mapping[str, Any]) -> HttpResponse:
        problem = problem_in(error, context)
        members = members_of(context["request"]._request, problem)
        faults = members["errors"]
        body = self.wire.error(
            problem.status,
            "; ".join(f"{each['field']} {each['reason']}" for each in faults) or members["detail"],
            code=members["type"].removeprefix(TYPE_PREFIX),
            param=faults[0]["field"] if faults else None,
            request_id=members["request_id"],
        )
        return JsonResponse(body, status=problem.status, headers=problem.all_headers)

    def upstream(self) -> Upstream:
        """Where the request goes. Raises InvalidInput (the caller's key), NoUpstream, Forbidden, Conflict."""
        own_key = self.request.headers.get(KEY_HEADER, "")
        if not _is_plain(own_key):
            raise InvalidInput(KEY_HEADER, "must have visible ASCII characters alone.")
        found = upstream_of(self.caller.tenant_id, self.wire.vendor, own_key=own_key)
        if found is None:
            raise NoUpstream(
                f"No model is configured for this API: an administrator sets `upstreams.{self.wire.vendor}` in the"
                " policy, or the operator MEMORYHUB_SHARED_UPSTREAM (docs/drop-in.md)."
            )
        return found

    def check(self, body: Json, upstream: Upstream) -> None:
        """Raises InvalidInput for a request that may not be passed on."""
        named = self.wire.shared_state(body)
        if named and upstream.shared:
            raise InvalidInput(
                named,
                "names what the model's API keeps for all who share a key, so it works with a key of your own alone:"
                " send the whole conversation.",
            )

    def passed(self, upstream: Upstream, path: str, body: Json | None = None) -> PassedRequest:
        """The request as it is sent, with the key of the upstream."""
        names = (*_FORWARDED, *(() if upstream.shared else _FORWARDED_WITH_KEY))
        headers = {name: value for name in names if (value := self.request.headers.get(name)) and _is_plain(value)}
        headers["Accept-Encoding"] = "identity"
        if self.wire.vendor == "anthropic":
            headers.setdefault("Anthropic-Version", _ANTHROPIC_VERSION)
        if upstream.key:
            anthropic = self.wire.vendor == "anthropic"
            headers |= {"X-Api-Key": upstream.key} if anthropic else {"Authorization": f"Bearer {upstream.key}"}
        content = b""
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        query = self.request._request.GET.urlencode()
        return PassedRequest(str(self.request.method), path + (f"?{query}" if query else ""), headers, content)

    def relayed(self, relay: Relay, headers: Mapping[str, str]) -> StreamingHttpResponse:
        """The answer as it comes. A client that leaves ends it, also before it began."""
        response = StreamingHttpResponse((), headers={**headers, "X-Accel-Buffering": "no"})
        pieces = self.admission.kept(relay.pieces(response, self.handle_exception))
        if ASYNC in self.request.META:
            stream = suspended(pieces, self.admission)
            stream.begin()
            response.streaming_content = stream
            response.ends_with_client = True  # type: ignore[attr-defined]  # read by memoryhub/web_worker.py
        else:
            first = next(pieces, b"")  # the head of the answer is known with it
            response.streaming_content = chain([first], pieces)
            response._resource_closers.append(pieces.close)  # type: ignore[attr-defined]  # Django's own
        return response


@extend_schema(exclude=True)
class ConversationView(DropInView):
    """A request for an answer: recalled for before, and stored after."""

    @property
    def user_places(self) -> str:  # type: ignore[override]  # the fields depend on the API
        """The API's own fields, and the header."""
        fields = " or ".join(".".join(path) for path in self.wire.user_fields)
        return f"{fields}, or the header {USER_HEADER}"

    def user_named(self, request: Request) -> str | None:
        """The user of the header, or else of the API's own fields, which only a backend key uses to name a member."""
        named = super().user_named(request)
        if named is not None or not isinstance(request.auth, KeyHolder):
            return named
        try:
            ids = {checked_id(each) for each in self.wire.users(_object(request))}
        except InvalidValue as error:
            raise InvalidInput("user", error.reason) from None
        if len(ids) > 1:
            raise InvalidInput("user", "and safety_identifier differ: name the member in X-Memoryhub-User.")
        return ids.pop() if ids else None

    @_counts_as(Bucket.TURNS)
    def post(self, request: Request) -> HttpResponseBase:
        """Pass a conversation on, with what is remembered of the user."""
        self.called_by("")
        body = dict(_object(request))
        principal, headers = self.principal, request.headers
        mode = mode_of(headers, body)
        upstream = self.upstream()
        self.check(body, upstream)
        augmented = augment(principal, self.wire, body, mode, headers.get(SESSION_HEADER, ""))
        if augmented.new_session:
            admit_more(principal, Bucket.SESSIONS)
        relay = Relay(
            self.wire,
            upstream,
            self.passed(upstream, self.path, augmented.body),
            store=partial(store, principal, augmented),
            spend=partial(spend_model_tokens, principal),
            prompt_tokens=partial(prompt_tokens, augmented.body),
            require_active=ActiveCheck(principal),
            note=augmented.note if headers.get(NOTE_HEADER) == "true" else b"",
        )
        return self.relayed(relay, augmented.headers)


@extend_schema(exclude=True)
class PassedView(DropInView):
    """Requests that nothing is remembered of: the models, and counting tokens."""

    acts = Acts.FOR_EITHER

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Tell the two APIs apart: Anthropic's clients always name a version."""
        if "Anthropic-Version" in request.headers:
            self.wire = MessagesWire()
        super().initial(request, *args, **kwargs)

    @_counts_as(Bucket.READS)
    def get(self, request: Request, model: str = "") -> HttpResponseBase:  # noqa: ARG002 - it is `self.request`
        """The models, or one of them."""
        if ".." in model:
            raise InvalidInput("model", "is no name of a model.")
        root = "/v1/models" if self.wire.vendor == "anthropic" else "/models"
        return self._pass_on(root + (f"/{quote(model, safe='')}" if model else ""))

    @_counts_as(Bucket.READS)
    def post(self, request: Request) -> HttpResponseBase:
        """Count tokens."""
        return self._pass_on(self.path, _object(request))

    def _pass_on(self, path: str, body: Json | None = None) -> HttpResponseBase:
        upstream = self.upstream()
        if body is not None:
            self.check(body, upstream)
        request = self.passed(upstream, path, body)
        relay = Relay(
            self.wire,
            upstream,
            request,
            store=lambda _: True,
            spend=lambda _: None,
            prompt_tokens=lambda: 0,
            require_active=lambda: None,
            reads=False,
        )
        return self.relayed(relay, {})


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _object(request: Request) -> Json:
    data: object = request.data
    if not isinstance(data, dict):
        raise InvalidInput("body", "must be an object.")
    return data


_MODELS = PassedView.as_view(http_method_names=["get"])

urlpatterns = [
    path("chat/completions", ConversationView.as_view(wire=ChatWire(), path="/chat/completions"), name="drop-in-chat"),
    path("responses", ConversationView.as_view(wire=ResponsesWire(), path="/responses"), name="drop-in-responses"),
    path("messages", ConversationView.as_view(wire=MessagesWire(), path="/v1/messages"), name="drop-in-messages"),
    path(
        "messages/count_tokens",
        PassedView.as_view(wire=MessagesWire(), path="/v1/messages/count_tokens", http_method_names=["post"]),
        name="drop-in-count",
    ),
    path("models", _MODELS, name="drop-in-models"),
    path("models/<path:model>", _MODELS, name="drop-in-model"),
]
