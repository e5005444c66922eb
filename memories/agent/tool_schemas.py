"""The tools offered to the model: names, descriptions and strictly validated arguments.

Each pydantic model is both the JSON schema that the model reads and the check of its arguments. The docstring of an
arguments class is sent to the model as the tool's description.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from memories.constants import (
    DEFAULT_RECALL_LIMIT,
    MAX_CONSTRAINTS,
    MAX_KEY_CHARACTERS,
    MAX_LEARNED,
    MAX_MEMORY_CHARACTERS,
    MAX_PLAN_STEPS,
    MAX_STEPS,
    MAX_TITLE_CHARACTERS,
    SLOT_CHARACTERS,
)
from memories.llm.base import ToolSchema
from memories.llm.streaming import storable_json

SET_TASK = "set_task"
UPDATE_PLAN = "update_plan"
OBSERVE = "observe"
NOTE = "note"
SEARCH_SESSION = "search_session"
FINISH_TASK = "finish_task"

MAX_SESSION_RESULTS = 20

Words = Annotated[str, Field(min_length=1, max_length=SLOT_CHARACTERS)]


class ToolArguments(BaseModel):
    """Arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SetTaskArguments(ToolArguments):
    """Set the task of this session: when the user wants something that takes several steps or turns."""

    goal: Annotated[Words, Field(description="What is to be reached, in a sentence.")]
    constraints: Annotated[
        list[Words],
        Field(max_length=MAX_CONSTRAINTS, description="What the user said must hold meanwhile. They join those set."),
    ] = []


class UpdatePlanArguments(ToolArguments):
    """Set the steps of the task, or say how many of them are done by now."""

    steps: Annotated[
        list[Words],
        Field(max_length=MAX_PLAN_STEPS, description="All steps, in order. Empty: they stay as they are."),
    ] = []
    done: Annotated[int, Field(ge=0, le=MAX_PLAN_STEPS, description="How many of the first steps are done.")]


class ObserveArguments(ToolArguments):
    """Keep something in view for the task: what you found out, what was decided, or what must hold."""

    text: Words
    kind: Literal["observation", "decision", "constraint"] = "observation"
    importance: Annotated[
        Literal["normal", "important", "critical"],
        Field(description="From important on it is kept in memory after the task."),
    ] = "normal"


class NoteArguments(ToolArguments):
    """Write a line on the scratchpad of the task; the oldest lines drop off."""

    text: Words


class SearchSessionArguments(ToolArguments):
    """Look something up in this session: what was said, done and noted in it earlier. Returns records, best first."""

    query: Annotated[str, Field(min_length=1, max_length=SLOT_CHARACTERS, description="What to look for, in words.")]
    limit: Annotated[int, Field(ge=1, le=MAX_SESSION_RESULTS)] = 5


class FinishTaskArguments(ToolArguments):
    """End the task, done or given up. What was important is kept in memory; the working memory is emptied."""

    outcome: Annotated[Words, Field(description="How it went, in a sentence.")]
    learned: Annotated[
        list[Words],
        Field(max_length=MAX_LEARNED, description="What is worth knowing next time, each a sentence of its own."),
    ] = []


TaskArguments = (
    SetTaskArguments
    | UpdatePlanArguments
    | ObserveArguments
    | NoteArguments
    | SearchSessionArguments
    | FinishTaskArguments
)


MAX_TOOL_RECALL_LIMIT = 20

RECALL = "recall_memory"
WRITE = "write_memory"
FORGET = "forget_memory"
RETIRE = "retire_memory"
# Called by the rule set's responder alone; models are not offered it.
UNDO = "undo_memory"


class BadArguments(ValueError):
    """The arguments do not fit the tool. The message tells the model what to change."""


class RecallArguments(ToolArguments):
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


class WriteArguments(ToolArguments):
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


class RetireArguments(ToolArguments):
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


class ForgetArguments(ToolArguments):
    """Propose to erase memories for good, with the words they were learned from. The user confirms it on a card.

    Once a message, only at the user's explicit request, with all that they mean.
    """

    memory_ids: Annotated[list[UUID], Field(min_length=1, max_length=10, description="Ids of recalled memories.")]


class UndoArguments(ToolArguments):
    """Take back a memory that the turn before stored, or restore one that it ended, as the chat's Undo button does."""

    memory_id: UUID


Form = TypeVar("Form", bound=ToolArguments)
Arguments = RecallArguments | WriteArguments | RetireArguments | ForgetArguments | UndoArguments | TaskArguments

_TOOLS: Mapping[str, type[Arguments]] = {
    RECALL: RecallArguments,
    WRITE: WriteArguments,
    RETIRE: RetireArguments,
    FORGET: ForgetArguments,
    SET_TASK: SetTaskArguments,
    UPDATE_PLAN: UpdatePlanArguments,
    OBSERVE: ObserveArguments,
    NOTE: NoteArguments,
    SEARCH_SESSION: SearchSessionArguments,
    FINISH_TASK: FinishTaskArguments,
    UNDO: UndoArguments,
}


def read_arguments(text: str) -> dict[str, Any]:
    """Parse the JSON object that a model wrote as arguments, without characters that cannot be stored.

    Raises BadArguments.
    """
    try:
        value = json.loads(text or "{}", parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BadArguments("The arguments are not valid JSON.") from None
    if not isinstance(value, dict):
        raise BadArguments("The arguments must be one JSON object.")
    arguments: dict[str, Any] = storable_json(value)
    return arguments


def checked(name: str, arguments: Mapping[str, Any]) -> Arguments:
    """Validate the arguments of tool `name`. Raises BadArguments with a message that the model can act on."""
    model = _TOOLS.get(name)
    if model is None:
        raise BadArguments(f"There is no such tool. The tools are {', '.join(_TOOLS)}.")
    return checked_as(model, arguments)


def checked_as(model: type[Form], arguments: Mapping[str, Any]) -> Form:
    """Validate arguments as `model`. Raises BadArguments with a message that the model can act on."""
    try:
        return model.model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError as error:
        problems = [_in_words(problem["loc"], problem["msg"]) for problem in error.errors(include_url=False)]
        raise BadArguments("; ".join(problems[:5])) from None


@functools.cache
def tool_schemas() -> tuple[ToolSchema, ...]:
    """All tools in the format of the chat-completions protocol."""
    return tuple(
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description_of(model),
                "parameters": plain_schema(model),
            },
        }
        for name, model in _TOOLS.items()
        if name != UNDO
    )


def description_of(model: type[BaseModel]) -> str:
    """The description that a language model reads: the docstring, on one line."""
    return " ".join((model.__doc__ or "").split())


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of `model` without generated titles and descriptions of classes."""
    schema: dict[str, Any] = _plain(model.model_json_schema())
    return schema


def _plain(schema: Any) -> Any:
    """A schema without pydantic's generated titles; a property that is itself named title stays."""
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
