"""Between the requests and answers of mem0 and the services: filters, messages, memories, history.

mem0 lists memories, each with an agent, an app and a run. Here these are facts with an `app`; the run is the session,
and `run_id` in the metadata, as an import of mem0's export keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from rest_framework import serializers

from memories.api.fields import Amount, Metadata, Several, StrictSerializer, StrictText, Truth, Whole, shown
from memories.attributes.filters import MAX_CONDITIONS, MAX_FILTER_DEPTH, both, parse_filter
from memories.constants import MAX_APP_CHARACTERS, MAX_MEMORY_CHARACTERS, MAX_QUERY_CHARACTERS, MAX_RECALL_LIMIT
from memories.errors import InvalidInput
from memories.models import Episode, Fact, MessageRole
from memories.selectors.operations import OperationState, OperationView
from memories.services.sessions.messages import MAX_EXTERNAL_ID, MAX_MESSAGES, MessageDraft
from memories.types import CURRENT, Filter, Junction, Negation, WriteResult

MAX_PAGE = 200
RUN = "run_id"
# Options that change nothing here: one project, one format for each route, every search ranks by all signals.
_WITHOUT_EFFECT = frozenset({"org_id", "project_id", "output_format", "version", "api_version", "source"})
_ALWAYS_SO = frozenset({"rerank", "keyword_search", "filter_memories", "latest_only"})
_POLICY = "is decided by the tenant for all calls: PATCH /api/v1/tenant/policy/."
_HIDDEN = "has no counterpart: GET /api/v1/memories/ lists memories by status and as of a time."
_REFUSED = {
    **dict.fromkeys(("custom_categories", "custom_instructions", "agent_custom_instructions"), _POLICY),
    **dict.fromkeys(("includes", "excludes", "prompt_profile_id", "structured_data_schema"), _POLICY),
    **dict.fromkeys(("show_expired", "reference_date"), _HIDDEN),
    "enable_graph": "has no counterpart: there is no graph.",
    "immutable": "has no counterpart: nobody's memory is beyond correction.",
}
EVENTS: Mapping[str, str] = {
    WriteResult.CREATED: "ADD",
    WriteResult.QUEUED_FOR_REVIEW: "ADD",
    WriteResult.SUPERSEDED: "UPDATE",
    WriteResult.MERGED: "NOOP",
}
_STATES: Mapping[OperationState, str] = {
    OperationState.WAITING: "PENDING",
    OperationState.RUNNING: "RUNNING",
    OperationState.DONE: "SUCCEEDED",
}


class Mem0Request(StrictSerializer):
    """What several requests name. Options without effect are left out; others without a counterpart are refused."""

    agent_id = StrictText(limit=MAX_APP_CHARACTERS, required=False)
    app_id = StrictText(limit=MAX_APP_CHARACTERS, required=False)
    run_id = StrictText(limit=MAX_EXTERNAL_ID, required=False)

    def to_internal_value(self, data: Any) -> Any:
        """Refuse what has no counterpart, unless it is switched off."""
        left_out = _WITHOUT_EFFECT | _ALWAYS_SO
        given = {name: value for name, value in data.items() if value is not None and name not in left_out}
        if refused := {name: [_REFUSED[name]] for name in given if name in _REFUSED and given[name]}:
            raise serializers.ValidationError(refused)
        return super().to_internal_value({name: value for name, value in given.items() if name not in _REFUSED})


class AddRequest(Mem0Request):
    """Messages to remember. `filters` may name the agent and the run, as the arguments do."""

    messages = serializers.JSONField()
    metadata = Metadata(required=False)
    infer = Truth(default=True)
    async_mode = Truth(default=True)
    timestamp = Whole(required=False, min_value=0, max_value=7_000_000_000)
    expiration_date = serializers.DateField(required=False)

    def to_internal_value(self, data: Any) -> Any:
        """Take the names in `filters` for arguments."""
        named = data.get("filters") or {}
        if not isinstance(named, Mapping):
            raise serializers.ValidationError({"filters": ["must be an object."]})
        return super().to_internal_value({**named, **{key: data[key] for key in data if key != "filters"}})


class ListRequest(Mem0Request):
    """Which memories are listed or erased."""

    filters = serializers.JSONField(required=False)
    metadata = serializers.JSONField(required=False)
    categories = Several(StrictText(limit=64), limit=100, required=False)
    start_date = StrictText(limit=40, required=False)
    end_date = StrictText(limit=40, required=False)
    page = serializers.IntegerField(min_value=1, max_value=10**6, required=False)
    page_size = serializers.IntegerField(min_value=1, max_value=MAX_PAGE, required=False)

    def get_fields(self) -> dict[str, Any]:
        """Add `fields`, which is the name of an attribute of serializers."""
        return super().get_fields() | {"fields": Several(StrictText(limit=64), limit=100, required=False)}


class SearchRequest(ListRequest):
    """A search."""

    query = StrictText(limit=MAX_QUERY_CHARACTERS)
    top_k = Whole(min_value=1, max_value=MAX_RECALL_LIMIT, required=False)
    threshold = Amount(required=False)


class UpdateRequest(Mem0Request):
    """A change of one memory."""

    text = StrictText(limit=MAX_MEMORY_CHARACTERS, required=False)
    metadata = Metadata(required=False)


def app_of(asked: Mapping[str, Any]) -> str:
    """The agent that a call names. Raises InvalidInput for two that differ."""
    names = {asked[name] for name in ("agent_id", "app_id") if asked.get(name)}
    if len(names) > 1:
        raise InvalidInput("app_id", "names another agent than agent_id: a memory has one here, so send one of them.")
    return str(names.pop()) if names else ""


def messages_of(given: object, *, at: datetime | None, metadata: Mapping[str, Any]) -> list[MessageDraft]:
    """The messages to record. System prompts and empty tool calls are nobody's words. Raises InvalidInput."""
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    messages = [messages] if isinstance(messages, Mapping) else messages
    if not isinstance(messages, list) or not 1 <= len(messages) <= MAX_MESSAGES:
        raise InvalidInput("messages", f"must be a text, or a list of 1 to {MAX_MESSAGES} messages.")
    drafts = []
    for number, each in enumerate(messages):
        role = each.get("role") if isinstance(each, Mapping) else None
        if role in ("system", "developer"):
            continue
        if role not in (*MessageRole.values, "function"):
            raise InvalidInput(f"messages.{number}.role", "must be user, assistant, tool or system.")
        role = MessageRole.TOOL if role == "function" else MessageRole(role)
        text, name = _text_of(each.get("content"), f"messages.{number}.content"), each.get("name") or ""
        if not isinstance(name, str):
            raise InvalidInput(f"messages.{number}.name", "must be text.")
        if text or role is MessageRole.USER:
            is_user = role is MessageRole.USER
            drafts.append(MessageDraft(role, text, name, at, metadata=metadata if is_user else {}))
    return drafts


def _text_of(content: object, at: str) -> str:
    parts = content if isinstance(content, list) else [content or ""]
    texts = [part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput(at, "must be text: nothing is learned from images and files, so describe them in words.")
    return "\n".join(map(str, texts))


def take_users(filters: Any, users: list[object], depth: int = 1) -> Any:
    """The filters without the users that they name beside everything else, which are added to `users`."""
    if not isinstance(filters, Mapping) or depth > MAX_FILTER_DEPTH:
        return filters
    rest = dict(filters)
    if "user_id" in rest:
        named = rest.pop("user_id")
        users.append(named["eq"] if isinstance(named, Mapping) and set(named) == {"eq"} else named)
    if isinstance(rest.get("AND"), list):
        rest["AND"] = [take_users(each, users, depth + 1) for each in rest["AND"]]
    return rest


def filter_asked(asked: Mapping[str, Any]) -> Filter | None:
    """The filter of a request: its `filters` and all that it names beside them. Raises InvalidInput."""
    names = {name: asked[name] for name in ("agent_id", "app_id", RUN) if asked.get(name)}
    if asked.get("metadata") not in (None, {}, [], ""):  # 0 and false are refused, for they would select everything
        names["metadata"] = asked["metadata"]
    if asked.get("categories"):
        names["categories"] = {"in": asked["categories"]}
    if asked.get("start_date") or asked.get("end_date"):
        since, until = asked.get("start_date"), asked.get("end_date")
        until = f"{until}T23:59:59.999999" if until and "T" not in until else until  # the whole day
        names["created_at"] = {op: at for op, at in (("gte", since), ("lte", until)) if at}
    reader = _Mem0Filters()
    found = both(reader.tree(asked.get("filters", {}), "filters", 1), reader.tree(names, "filters", 1))
    return None if found is None or not reader.conditions else found


def require_no_empty(given: Mapping[str, Any]) -> None:
    """Raise InvalidInput for a narrowing that is named and empty: what it would erase is everything."""
    for name in given.keys() - _WITHOUT_EFFECT:
        if _is_empty(given[name]):
            raise InvalidInput(name, "is empty, which would select everything: leave it out to mean that.")


def _is_empty(value: object) -> bool:
    """Whether a narrowing, or a part of a junction, holds no condition."""
    if isinstance(value, Mapping):
        return not value or any(_is_empty(value[name]) for name in ("AND", "OR", "NOT") if name in value)
    if isinstance(value, list):
        return not value or any(map(_is_empty, value))
    return value is None or not str(value).strip()


def _inside(at: str, name: object) -> str:
    return f"{at}.{shown(str(name))}"


class _Mem0Filters:
    """Reads mem0's filters and counts their conditions."""

    def __init__(self) -> None:
        self.conditions = 0

    def tree(self, data: object, at: str, depth: int) -> Filter:
        if not isinstance(data, Mapping):
            raise InvalidInput(at, "must be an object.")
        if depth > MAX_FILTER_DEPTH:
            raise InvalidInput(at, f"lies too deep: at most {MAX_FILTER_DEPTH} levels are allowed.")
        return Junction(tuple(self._part(str(name), data[name], _inside(at, name), depth) for name in data))

    def _part(self, name: str, value: object, at: str, depth: int) -> Filter:
        if name in ("AND", "OR", "NOT"):
            given = value if isinstance(value, list) else [value]
            if name != "AND" and not (given and all(given)):  # it would match everything, or nothing
                raise InvalidInput(at, "must hold conditions.")
            parts = tuple(self.tree(each, f"{at}.{place}", depth + 1) for place, each in enumerate(given))
            return Negation(Junction(parts, every=False)) if name == "NOT" else Junction(parts, every=name == "AND")
        if name == "metadata" and isinstance(value, Mapping) and value:
            return Junction(tuple(self._field(f"metadata.{key}", value[key], _inside(at, key)) for key in value))
        if name == "user_id":
            raise InvalidInput(at, "stands beside the other conditions or in their AND: a call is about one user.")
        if name not in _FIELDS:
            raise InvalidInput(at, f"is not a field here: AND, OR, NOT, user_id, {', '.join((*_FIELDS, 'metadata'))}.")
        return self._field(_FIELDS[name], value, at)

    def _field(self, field: str, value: object, at: str) -> Filter:
        """The conditions on one field: a value, a list of values, "*" for any, or operators with values."""
        compared = value if isinstance(value, Mapping) else {"in" if isinstance(value, list) else "eq": value}
        if not compared:
            raise InvalidInput(at, "must be a value, a list of values, or an operator with its value.")
        return Junction(tuple(self._condition(field, str(op), compared[op], _inside(at, op)) for op in compared))

    def _condition(self, field: str, op: str, value: object, at: str) -> Filter:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            raise InvalidInput(at, f"is one condition too many: at most {MAX_CONDITIONS} are allowed.")
        if (op, value) == ("eq", "*"):
            op, value = "exists", True
        elif op == "contains" and field == "category":  # of the one category that a memory has here
            op = "eq"
        if field == "created_at":
            value = _moment(value, at)
        return parse_filter({"field": field, "op": op, "value": value}, at)


_FIELDS = {
    **dict.fromkeys(("agent_id", "app_id"), "app"),
    RUN: f"metadata.{RUN}",
    "categories": "category",
    "created_at": "created_at",
}


def _moment(value: object, at: str) -> object:
    """A date or a time without a zone as one in UTC, as mem0 reads it; what is no time, as it is."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        raise InvalidInput(at, "is not a date or time in ISO 8601.") from None
    return (found.replace(tzinfo=found.tzinfo or UTC)).isoformat() if found else value


def memory_shown(fact: Fact, user_id: str | None, only: Sequence[str] = ()) -> dict[str, Any]:
    """A fact as mem0's memory; `only` names the fields that are wanted, beside `id`."""
    metadata = dict(fact.metadata)
    run = metadata.pop(RUN, None)
    fields = {
        "id": str(fact.pk),
        "memory": fact.text,
        "user_id": user_id,
        "agent_id": fact.app or None,
        "app_id": fact.app or None,
        RUN: run,
        "session_id": run,
        "metadata": metadata,
        "categories": [fact.category] if fact.category else [],
        "created_at": fact.created_at.isoformat(),
        "updated_at": fact.updated_at.isoformat(),
        "expiration_date": fact.expires_at.date().isoformat() if fact.expires_at else None,
    }
    return {name: fields[name] for name in fields if name == "id" or name in only} if only else fields


def change_shown(memory_id: UUID, text: str, event: str) -> dict[str, Any]:
    """What became of one memory."""
    return {"id": str(memory_id), "memory": text, "event": event, "data": {"memory": text}}


def operation_shown(view: OperationView, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """The changes that an operation made of facts that are still there."""
    changes = []
    for line in view.decisions:
        event = "DELETE" if line["what"] == "end" else EVENTS.get(line["verdict"])
        if event and line["memory_id"] in texts:
            changes.append(change_shown(UUID(line["memory_id"]), texts[line["memory_id"]], event))
    return changes


def event_shown(view: OperationView, results: Sequence[Any]) -> dict[str, Any]:
    """An operation as the event of an add."""
    return {
        "id": view.id,
        "event_id": view.id,
        "event_type": "ADD",
        "status": _STATES.get(view.state, "FAILED"),
        "results": results,
        "created_at": view.created_at,
        "completed_at": view.ended_at,
        "error": view.error or None,
    }


def history_shown(
    states: Sequence[Fact], said: Mapping[UUID, Sequence[Episode]], user_id: str | None
) -> Iterator[dict[str, Any]]:
    """The events of a chain, oldest first: each state adds or replaces, and the last may have ended."""
    for state in states:
        before = [each for each in states if each.superseded_by_id == state.pk]
        fields = memory_shown(state, user_id) | {"memory_id": str(state.pk)}
        fields["input"] = [{"role": "user", "content": episode.text} for episode in said.get(state.pk, ())]
        old, at = before[0].text if before else None, state.learned_at.isoformat()
        event = "UPDATE" if before else "ADD"
        yield fields | {"old_memory": old, "new_memory": state.text, "event": event, "created_at": at, "updated_at": at}
        if state.status not in CURRENT and not state.superseded_by_id:
            end = (state.superseded_at or state.updated_at).isoformat()
            ended: dict[str, Any] = {"old_memory": state.text, "new_memory": None, "event": "DELETE", "input": []}
            yield fields | ended | {"id": f"{state.pk}-ended", "created_at": end, "updated_at": end}
