"""The tools that the agent offers to a model: names, descriptions and strictly checked arguments.

Invariant: the JSON schema that the model reads and the check of what it sends are one definition.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from memories.agent import task_schemas
from memories.agent.task_schemas import TaskArguments
from memories.constants import (
    DEFAULT_RECALL_LIMIT,
    MAX_KEY_CHARACTERS,
    MAX_MEMORY_CHARACTERS,
    MAX_STEPS,
    MAX_TITLE_CHARACTERS,
)
from memories.llm.base import ToolSchema
from memories.llm.streamed_text import storable_json

MAX_TOOL_RECALL_LIMIT = 20

RECALL = "recall_memory"
WRITE = "write_memory"
FORGET = "forget_memory"
RETIRE = "retire_memory"


class BadArguments(ValueError):
    """What a model sent is not what the tool takes; the message tells the model what to change."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RecallArguments(_Arguments):
    """Look something up in memory. Returns records, best first."""

    query: Annotated[str, Field(min_length=1, max_length=2_000, description="What to look for, in plain words.")]
    types: Annotated[
        list[Literal["episodic", "semantic", "procedural", "catalog"]],
        Field(
            description="Kinds to search: episodic (what was said), semantic (facts), procedural (how-tos), "
            "catalog (shared knowledge). Empty: all."
        ),
    ] = []
    limit: Annotated[int, Field(ge=1, le=MAX_TOOL_RECALL_LIMIT)] = DEFAULT_RECALL_LIMIT
    include_superseded: Annotated[bool, Field(description="Also what is no longer believed, marked as such.")] = False
    as_of: Annotated[
        AwareDatetime | None,
        Field(description="Answer with what was believed at this time (ISO 8601 with a zone)."),
    ] = None


class WriteArguments(_Arguments):
    """Store one lasting fact (semantic) or one way to do something (procedural) about the user."""

    kind: Literal["semantic", "procedural"] = "semantic"
    text: Annotated[
        str,
        Field(
            max_length=MAX_MEMORY_CHARACTERS,
            description='The fact, short and without a subject: "Lives in Edinburgh". Optional for procedural.',
        ),
    ] = ""
    key: Annotated[
        str,
        Field(
            max_length=MAX_KEY_CHARACTERS,
            pattern=r"^[a-z0-9_]*$",
            description="The slot it fills, in snake_case, where there is one value at a time: home_city, employer. "
            "A new value replaces the old one. Empty where several may hold at once.",
        ),
    ] = ""
    category: Annotated[str, Field(max_length=MAX_KEY_CHARACTERS, description="Such as work, home, health.")] = ""
    title: Annotated[str, Field(max_length=MAX_TITLE_CHARACTERS, description="Procedural: what it achieves.")] = ""
    trigger: Annotated[str, Field(max_length=MAX_TITLE_CHARACTERS, description="Procedural: when to use it.")] = ""
    steps: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=1_000)]],
        Field(max_length=MAX_STEPS, description="Procedural: what to do, in order."),
    ] = []
    supersedes_ids: Annotated[
        list[UUID], Field(max_length=10, description="Ids of recalled memories of the same kind that this replaces.")
    ] = []
    contradiction: Annotated[
        Literal["natural", "harsh"],
        Field(description="Why it replaces them: the world changed (natural), or they were never true (harsh)."),
    ] = "natural"
    valid_from: Annotated[
        AwareDatetime | None,
        Field(description="Since when the fact is true, if the user said so (ISO 8601 with a zone)."),
    ] = None
    source: Annotated[
        Literal["user_stated", "agent_inferred"],
        Field(description="Whether the user said it, or you concluded it."),
    ] = "user_stated"

    @model_validator(mode="after")
    def _complete(self) -> WriteArguments:
        if self.kind == "semantic" and not self.text.strip():
            raise ValueError("text: a fact needs a text")
        if self.kind == "semantic" and (self.title or self.trigger or self.steps):
            raise ValueError("title, trigger and steps belong to kind procedural")
        if self.kind == "procedural" and not self.title.strip():
            raise ValueError("title: a procedural memory needs a title")
        if self.kind == "procedural" and (self.key or self.valid_from):
            raise ValueError("key and valid_from belong to kind semantic")
        return self


class RetireArguments(_Arguments):
    """Say that recalled facts or how-tos are no longer true, or never were, when nothing takes their place.

    They stay in the history. What a new fact replaces is named in its supersedes_ids instead.
    """

    memory_ids: Annotated[
        list[UUID],
        Field(min_length=1, max_length=10, description="Ids of recalled memories of one kind. All end, or none."),
    ]
    contradiction: Annotated[
        Literal["natural", "harsh"],
        Field(description="Whether they were true until now (natural), or never were (harsh)."),
    ] = "natural"


class ForgetArguments(_Arguments):
    """Erase one memory for good, with the messages a fact was learned from. Only at the user's explicit request."""

    memory_id: Annotated[UUID, Field(description="The id of a recalled memory.")]


Arguments = RecallArguments | WriteArguments | RetireArguments | ForgetArguments | TaskArguments

_TOOLS: Mapping[str, type[Arguments]] = {
    RECALL: RecallArguments,
    WRITE: WriteArguments,
    RETIRE: RetireArguments,
    FORGET: ForgetArguments,
    task_schemas.SET_TASK: task_schemas.SetTaskArguments,
    task_schemas.UPDATE_PLAN: task_schemas.UpdatePlanArguments,
    task_schemas.OBSERVE: task_schemas.ObserveArguments,
    task_schemas.NOTE: task_schemas.NoteArguments,
    task_schemas.SEARCH_SESSION: task_schemas.SearchSessionArguments,
    task_schemas.FINISH_TASK: task_schemas.FinishTaskArguments,
}


def read_arguments(text: str) -> dict[str, Any]:
    """The JSON object that a model wrote as arguments, storable. Raises BadArguments."""
    try:
        value = json.loads(text or "{}", parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BadArguments("The arguments are not valid JSON.") from None
    if not isinstance(value, dict):
        raise BadArguments("The arguments must be one JSON object.")
    arguments: dict[str, Any] = storable_json(value)
    return arguments


def checked(name: str, arguments: Mapping[str, Any]) -> Arguments:
    """The arguments of tool `name`, typed. Raises BadArguments, in words that the model can act on."""
    model = _TOOLS.get(name)
    if model is None:
        raise BadArguments(f"There is no such tool. The tools are {', '.join(_TOOLS)}.")
    try:
        return model.model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError as error:
        problems = [_in_words(problem["loc"], problem["msg"]) for problem in error.errors(include_url=False)]
        raise BadArguments("; ".join(problems[:5])) from None


@functools.cache
def tool_schemas() -> tuple[ToolSchema, ...]:
    """All tools in the form of the chat-completions protocol."""
    return tuple(
        {
            "type": "function",
            "function": {
                "name": name,
                "description": " ".join((model.__doc__ or "").split()),
                "parameters": _plain(model.model_json_schema()),
            },
        }
        for name, model in _TOOLS.items()
    )


def _plain(schema: Any) -> Any:
    """A schema without the titles that pydantic derives from names; a property may itself be named title."""
    if isinstance(schema, dict):
        return {
            name: _plain(value)
            for name, value in schema.items()
            if not (name == "title" and isinstance(value, str))
            and not (name == "description" and "properties" in schema)
        }
    return [_plain(value) for value in schema] if isinstance(schema, list) else schema


def _in_words(place: tuple[int | str, ...], message: str) -> str:
    where = ".".join(map(str, place))
    message = message.removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def _no_constant(name: str) -> float:
    raise ValueError(name)
