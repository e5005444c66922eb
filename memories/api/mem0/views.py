"""The routes of mem0, over the services of /api/v1 with its rights, limits and audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, time
from io import BytesIO
from typing import Any
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework.exceptions import APIException, ParseError
from rest_framework.request import Request

from memories.api.acting import USER_HEADER, Acts, named_user
from memories.api.authentication import DECIDE, READ, READ_WRITE, TokenAuthentication
from memories.api.mem0.translation import (
    EVENTS,
    RUN,
    AddRequest,
    ListRequest,
    Mem0Request,
    SearchRequest,
    UpdateRequest,
    app_of,
    change_shown,
    event_shown,
    filter_asked,
    history_shown,
    memory_shown,
    messages_of,
    operation_shown,
    require_no_empty,
    take_users,
)
from memories.api.problems import JsonParser, members_of, problem_in
from memories.api.views.base import ERASING_SECONDS, ApiView, NowhereView, checked, operation
from memories.api.views.calls import learned
from memories.constants import DEFAULT_RECALL_LIMIT
from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact, LearningOperation, MessageRole
from memories.recall.pipeline import recall
from memories.selectors.history.stories import supporting_episodes
from memories.selectors.memories import chain_of, list_memories, memories_by_id
from memories.selectors.operations import OperationView, get_operation, view_of
from memories.selectors.owners import owner_named, users_with_memory
from memories.selectors.sessions import last_said
from memories.services.admission import admit_more, admit_session, units_of
from memories.services.batches import MAX_ENTRIES
from memories.services.erasure.forget import forget
from memories.services.erasure.forget_all import count_to_forget, forget_counted
from memories.services.facts.describe import describe
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import supersede
from memories.services.sessions.messages import Learn, MessageDraft, record_messages
from memories.services.write import write
from memories.types import CURRENT, Filter, Kind
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.env.limits import Bucket
from tenants.models import Membership
from tenants.principal import KeyHolder, Principal, Right

_ANY = OpenApiTypes.OBJECT
_MAX_USERS = 1_000


class Mem0Authentication(TokenAuthentication):
    """The same tokens and keys, under the name that mem0's clients give the scheme."""

    scheme = "token"


class NoCounterpart(APIException):
    """The route exists at mem0 and not here."""

    status_code = 501
    default_code = "not-implemented"


class Mem0View(ApiView):
    """Base of the routes. `given` holds what a request names in its query and body, without the user."""

    authentication_classes = [Mem0Authentication]
    schema = None  # type: ignore[assignment]  # mem0 describes its own API
    named: type[Fact | LearningOperation] = Fact
    user_places = f"user_id, of the call or of its filters, or the header {USER_HEADER}"

    def user_named(self, request: Request) -> str | None:
        """The user of the request, of its filters, or of the memories that a backend key names by their ids."""
        in_filters: list[Any] = []
        filters = take_users(self._filters(request), in_filters)
        user = named_user(request, self.kwargs.get("name"), *in_filters)
        if user == "*":
            raise InvalidInput("user_id", "is *: a call is about one user here, so make one for each user.")
        body = _body(request)
        self.given = {**request.query_params.dict(), **body} | ({} if filters is None else {"filters": filters})
        if user is None and isinstance(request.auth, KeyHolder) and (ids := self.ids()):
            with acting_as(WideRole.STAFF):
                user = owner_named(request.auth.tenant_id, self.named, ids)
        return user

    def _filters(self, request: Request) -> Any:
        found = _body(request).get("filters")
        if (text := request.query_params.get("filters")) is None:
            return found
        if found is not None:
            raise InvalidInput("filters", "stand in the query and in the body: send them once.")
        try:
            return JsonParser().parse(BytesIO(text.encode()))
        except ParseError:
            raise InvalidInput("filters", "in a query must be JSON; or name user_id, agent_id or run_id.") from None

    def ids(self) -> Sequence[UUID]:
        """The ids of the rows that the request names."""
        return [self.kwargs["row"]] if "row" in self.kwargs else []

    def asked(self, shape: type[Mem0Request]) -> dict[str, Any]:
        """What the request asks for. Raises ValidationError."""
        return checked(shape, self.given)

    @property
    def shown_user(self) -> str | None:
        """The user as the caller knows them."""
        whose = Membership.objects.filter(pk=self.principal.membership_id)
        return self.user_id or whose.values_list("external_id", flat=True).first() or None

    def facts(self, ids: Sequence[UUID]) -> dict[UUID, Any]:
        """The facts with these ids that the caller may see."""
        return memories_by_id(self.principal, {Kind.SEMANTIC: ids})

    def changes(self, view: OperationView) -> list[dict[str, Any]]:
        """What an operation changed."""
        found = self.facts([UUID(line["memory_id"]) for line in view.decisions if line["memory_id"]])
        return operation_shown(view, {str(pk): row.text for pk, row in found.items()})

    def chain(self, fact_id: UUID) -> list[Fact]:
        """The states of a fact, oldest first. Raises NotFound."""
        return [each for each in chain_of(self.principal, Kind.SEMANTIC, fact_id) if isinstance(each, Fact)]

    def current(self, fact_id: UUID) -> Fact:
        """What became of a fact: an update makes a new row, and the old id leads to it. Raises NotFound."""
        states = [each for each in self.chain(fact_id) if each.status in CURRENT]
        if not states:
            raise NotFound("memory")
        return states[-1]

    def get_exception_handler(self) -> Any:
        """Return the handler that renders errors as mem0's clients read them."""
        return _handle

    def state(self, ids: Mapping[str, UUID]) -> str:  # noqa: ARG002 - the signature of the base
        """No tags: mem0 has none."""
        return ""


def _body(request: Request) -> Mapping[str, Any]:
    data: object = request.data
    return data if isinstance(data, Mapping) else {}


def _handle(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """The problem under the type that mem0's clients read, with `error` and `message` for those that look there."""
    problem = problem_in(error, context)
    body = members_of(context["request"]._request, problem)
    body |= dict.fromkeys(("error", "message"), body["detail"])
    return JsonResponse(body, status=problem.status, headers=problem.all_headers)


class PingView(Mem0View):
    """Whether the token works. It names nobody, since clients send a name to mem0's telemetry."""

    acts = Acts.FOR_EITHER

    @operation("mem0_ping", (), gives=_ANY)
    def get(self) -> dict[str, Any]:
        """Answer that it works. The client insists on an organisation and a project: both are the tenant."""
        return {"status": "ok", **dict.fromkeys(("org_id", "project_id"), self.caller.tenant_id), "user_email": None}


class AddView(Mem0View):
    """Adding memories from messages, or as they are said."""

    @operation("mem0_add", READ_WRITE, gives=_ANY, also=(Bucket.MODEL_TOKENS,))
    def post(self) -> dict[str, Any]:
        """Store messages and learn from them, in the background unless `async_mode` is false."""
        asked = self.asked(AddRequest)
        self.called_by(app_of(asked))
        at = min(datetime.fromtimestamp(asked["timestamp"], UTC), timezone.now()) if "timestamp" in asked else None
        metadata = asked.get("metadata", {}) | ({RUN: asked[RUN]} if asked.get(RUN) else {})
        drafts = messages_of(asked["messages"], at=at, metadata=metadata)
        if not asked["infer"]:
            return {"status": "SUCCEEDED", "results": self._said(drafts, asked)}
        if "expiration_date" in asked:
            raise InvalidInput("expiration_date", "is of what infer=False stores; learned facts expire by policy.")
        view = self._learned(drafts, asked)
        if view is None:
            return {"status": "SUCCEEDED", "message": "Nothing to learn: no user says anything new.", "results": []}
        if view.ended:
            return event_shown(view, self.changes(view))
        return {"message": "Stored, and learned from in the background.", "status": "PENDING", "event_id": view.id}

    def _said(self, drafts: Sequence[MessageDraft], asked: Mapping[str, Any]) -> list[dict[str, Any]]:
        if any(each.role is not MessageRole.USER or each.name for each in drafts):
            raise InvalidInput("messages", "with infer=False must be the user's own: others' words are no memory here.")
        day = asked.get("expiration_date")
        expires = datetime.combine(day, time.max, UTC) if day else None
        admit_more(self.principal, Bucket.ENTRIES, len(drafts))
        with write(self.principal):
            outcomes = [
                remember_fact(
                    self.principal,
                    text=each.content,
                    learned_at=each.at,
                    metadata=each.metadata,
                    expires_at=expires,
                )
                for each in drafts
            ]
        stored = self.facts([each.memory_id for each in outcomes])
        return [change_shown(each.memory_id, stored[each.memory_id].text, EVENTS[each.result]) for each in outcomes]

    def _learned(self, drafts: Sequence[MessageDraft], asked: Mapping[str, Any]) -> OperationView | None:
        """Record what the end of the conversation does not hold yet. Without a run, a day of an agent is one."""
        name = asked.get(RUN) or f"{app_of(asked) or 'mem0'} {timezone.now():%Y-%m-%d}"
        session = admit_session(self.principal, name)
        known = last_said(self.principal, session, len(drafts)) if session else []
        said = [(each.role, each.content.strip()) for each in drafts]
        repeated = next(n for n in range(min(len(known), len(said)), -1, -1) if known[len(known) - n :] == said[:n])
        if not drafts[repeated:]:
            return None
        learn = Learn.BACKGROUND if asked["async_mode"] else Learn.NOW
        recorded = record_messages(self.principal, drafts[repeated:], session=name, learn=learn)
        return learned(self.principal, recorded.operation, learn)


class EventView(Mem0View):
    """One event: what an add has come to."""

    named = LearningOperation

    @operation("mem0_event", READ, gives=_ANY)
    def get(self, row: UUID) -> dict[str, Any]:
        """Read its state and results."""
        view = view_of(self.principal, get_operation(self.principal, row))
        return event_shown(view, self.changes(view))


class SearchView(Mem0View):
    """Searching memories."""

    @operation("mem0_search", READ, gives=_ANY)
    def post(self) -> dict[str, Any]:
        """Recall facts, best first."""
        asked = self.asked(SearchRequest)
        items = recall(
            self.principal,
            asked["query"],
            types=(Kind.SEMANTIC,),
            limit=asked.get("top_k", DEFAULT_RECALL_LIMIT),
            threshold=asked.get("threshold"),
            filters=filter_asked(asked),
        ).items
        rows, user, only = self.facts([each.id for each in items]), self.shown_user, asked.get("fields", ())
        scored = [(each.score, rows[each.id]) for each in items if each.id in rows]
        return {"results": [{**memory_shown(row, user, only), "score": score} for score, row in scored]}


class ListView(Mem0View):
    """Listing memories."""

    @operation("mem0_list", READ, gives=_ANY)
    def post(self) -> dict[str, Any]:
        """List facts, latest first."""
        asked = self.asked(ListRequest)
        rows = list_memories(self.principal, Kind.SEMANTIC, filters=filter_asked(asked))
        user, only = self.shown_user, asked.get("fields", ())
        return _paged(self, rows, asked, lambda row: memory_shown(row, user, only))


def _paged(
    view: Mem0View,
    rows: Any,
    asked: Mapping[str, Any],
    shown: Callable[[Any], dict[str, Any]],
    *,
    size: int = 100,
) -> dict[str, Any]:
    page, size = asked.get("page", 1), asked.get("page_size", size)
    results = [shown(row) for row in rows[(page - 1) * size : page * size]]
    count, query = rows.count(), view.request.query_params.copy()

    def address(number: int) -> str:
        query["page"] = str(number)
        return f"{view.request.build_absolute_uri(view.request.path)}?{query.urlencode()}"

    following = address(page + 1) if page * size < count else None
    return {"count": count, "next": following, "previous": address(page - 1) if page > 1 else None, "results": results}


class DeleteAllView(Mem0View):
    """Erasing many memories of one user."""

    @operation("mem0_delete_all", DECIDE, gives=_ANY)
    def delete(self) -> dict[str, Any]:
        """Erase for good all that is kept of a user, or the facts of an agent or run, or with some metadata."""
        named = {"filters": self._filters(self.request)} if "filters" in self.given else {}
        require_no_empty(self.given | named)
        filters = filter_asked(self.asked(ListRequest))
        if filters is None and self.user_id is None:
            raise InvalidInput("user_id", "is missing: say whose memories, or of which agent_id or run_id.")
        return _forgotten(self, filters)


def _forgotten(view: Mem0View, filters: Filter | None) -> dict[str, Any]:
    """Erase what the filter selects. Raises Conflict if not all is erased yet, or a legal hold is in force."""
    counted = count_to_forget(view.principal, filters=filters).confirm
    if not forget_counted(view.principal, filters=filters, confirm=counted, seconds=ERASING_SECONDS).complete:
        raise Conflict("Not all is erased yet: repeat the call until it answers 200.")
    return {"message": "Memories deleted successfully!"}


class OneMemoryView(Mem0View):
    """One memory, by any of the ids that it had."""

    @operation("mem0_get", READ, gives=_ANY)
    def get(self, row: UUID) -> dict[str, Any]:
        """Read it as it is now."""
        return memory_shown(self.current(row), self.shown_user)

    @operation("mem0_update", READ_WRITE, gives=_ANY)
    def put(self, row: UUID) -> dict[str, Any]:
        """Replace its text by a supersession, or its metadata."""
        return memory_shown(changed(self, row, self.given), self.shown_user)

    @operation("mem0_delete", DECIDE, gives=_ANY)
    def delete(self, row: UUID) -> dict[str, Any]:
        """Erase it for good; with `delete_linked` also what it replaced."""
        linked = self.given.get("delete_linked") in (True, "true", "True", "1")
        erased(self, row, linked=linked)
        return {"message": "Memory deleted successfully!"}


def changed(view: Mem0View, fact_id: UUID, given: Any) -> Fact:
    """Change a memory as `given` says. Raises InvalidInput, NotFound."""
    asked = checked(UpdateRequest, given)
    fact = view.current(fact_id)
    if "metadata" in asked:  # the run is kept there, and is no metadata of mem0's
        asked["metadata"] = {name: fact.metadata[name] for name in (RUN,) if name in fact.metadata} | asked["metadata"]
    if "text" in asked and asked["text"] != fact.text:
        outcome = supersede(view.principal, old_ids=[fact.pk], text=asked["text"], metadata=asked.get("metadata"))
        return view.current(outcome.memory_id)
    if "metadata" in asked:
        describe(view.principal, kind=Kind.SEMANTIC, memory_id=fact.pk, metadata=asked["metadata"])
    elif "text" not in asked:
        raise InvalidInput("text", "is missing, and metadata as well: say what changes.")
    return view.current(fact.pk)


def erased(view: Mem0View, fact_id: UUID, *, linked: bool = False) -> None:
    """Erase a memory, `linked` with the other states of its chain. Raises NotFound."""
    current, states = view.current(fact_id), view.chain(fact_id)
    with write(view.principal) as w:
        forget(view.principal, kind=Kind.SEMANTIC, memory_id=current.pk)
        for state in states if linked else ():
            with suppress(NotFound), w.savepoint():  # it went with one of the same wording
                forget(view.principal, kind=Kind.SEMANTIC, memory_id=state.pk)


class HistoryView(Mem0View):
    """The history of a memory."""

    @operation("mem0_history", READ, gives=_ANY)
    def get(self, row: UUID) -> list[dict[str, Any]]:
        """List the events of its chain, oldest first."""
        states = self.chain(row)
        said = supporting_episodes(self.principal, [each.pk for each in states])
        return list(history_shown(states, said, self.shown_user))


class ManyView(Mem0View):
    """Many memories of one user: all are changed, or none."""

    limits_length = False

    def ids(self) -> Sequence[UUID]:
        """The ids of the entries."""
        return [pk for pk, _ in self._entries()]

    def _entries(self) -> list[tuple[UUID, dict[str, Any]]]:
        given = self.given.get("memories")
        if not isinstance(given, list) or not 1 <= len(given) <= MAX_ENTRIES:
            raise InvalidInput("memories", f"must be a list of 1 to {MAX_ENTRIES} memories.")
        entries = []
        for number, each in enumerate(given):
            try:
                entries.append((UUID(each["memory_id"]), {name: each[name] for name in each if name != "memory_id"}))
            except (ValueError, TypeError, KeyError, AttributeError):
                raise InvalidInput(f"memories.{number}.memory_id", "must be the id of a memory.") from None
        return entries

    @operation("mem0_batch_update", READ_WRITE, gives=_ANY)
    def put(self) -> dict[str, Any]:
        """Change each."""
        return self._each("updated", lambda pk, given: changed(self, pk, given))

    @operation("mem0_batch_delete", DECIDE, gives=_ANY)
    def delete(self) -> dict[str, Any]:
        """Erase each for good."""
        return self._each("deleted", lambda pk, _: erased(self, pk))

    def _each(self, done: str, change: Callable[[UUID, Any], object]) -> dict[str, Any]:
        entries = self._entries()
        admit_more(self.principal, Bucket.ENTRIES, sum(units_of(len(str(given))) for _, given in entries))
        with write(self.principal):
            for pk, given in entries:
                change(pk, given)
        return {"message": f"Successfully {done} {len(entries)} memories"}


class EntitiesView(Mem0View):
    """The users that anything is kept of, for a backend key; the member, for a token."""

    acts = Acts.FOR_EITHER

    @operation("mem0_users", READ, gives=_ANY)
    def get(self) -> dict[str, Any]:
        """List the users, oldest first."""
        if isinstance(self.caller, Principal):
            rows = Membership.objects.filter(pk=self.caller.membership_id).order_by("pk")
        else:
            self.caller.require(Right.MEMBERS)
            rows = users_with_memory(self.caller.tenant_id)
        return _paged(self, rows, self.asked(ListRequest), _user_shown, size=_MAX_USERS)


def _user_shown(member: Membership) -> dict[str, Any]:
    made = {"created_at": member.created_at, "updated_at": member.created_at}
    return {"id": str(member.pk), "name": member.external_id, "type": "user", "owner": "", "metadata": None} | made


class EntityView(Mem0View):
    """One user, and the erasure of everything that is kept of them."""

    @operation("mem0_delete_user", DECIDE, gives=_ANY)
    def delete(self, name: str) -> dict[str, Any]:  # noqa: ARG002 - it is the user of the request
        """Erase for good all that is kept of the user. The member stays."""
        return _forgotten(self, None)


class ElsewhereView(NowhereView):
    """A route that has no counterpart: says what to use."""

    instead = "docs/mem0.md lists the routes that have one."

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the signature of the base
        """Raise for every method."""
        raise NoCounterpart(f"This route of mem0's API has no counterpart here: {self.instead}")

    def get_exception_handler(self) -> Any:
        """Return the handler that renders errors as mem0's clients read them."""
        return _handle
