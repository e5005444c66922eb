"""The tools for a task in hand: what a model sends to set it, plan it, note what it finds, look back and end it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from memories.constants import MAX_CONSTRAINTS, MAX_LEARNED, MAX_PLAN_STEPS, SLOT_CHARACTERS

SET_TASK = "set_task"
UPDATE_PLAN = "update_plan"
OBSERVE = "observe"
NOTE = "note"
SEARCH_SESSION = "search_session"
FINISH_TASK = "finish_task"

MAX_SESSION_RESULTS = 20

Words = Annotated[str, Field(min_length=1, max_length=SLOT_CHARACTERS)]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SetTaskArguments(_Arguments):
    """Set the task of this session: when the user wants something that takes several steps or turns."""

    goal: Annotated[Words, Field(description="What is to be reached, in a sentence.")]
    constraints: Annotated[
        list[Words],
        Field(max_length=MAX_CONSTRAINTS, description="What the user said must hold meanwhile. They join those set."),
    ] = []


class UpdatePlanArguments(_Arguments):
    """Set the steps of the task, or say how many of them are done by now."""

    steps: Annotated[
        list[Words],
        Field(max_length=MAX_PLAN_STEPS, description="All steps, in order. Empty: they stay as they are."),
    ] = []
    done: Annotated[int, Field(ge=0, le=MAX_PLAN_STEPS, description="How many of the first steps are done.")]


class ObserveArguments(_Arguments):
    """Keep something in view for the task: what you found out, what was decided, or what must hold."""

    text: Words
    kind: Literal["observation", "decision", "constraint"] = "observation"
    importance: Annotated[
        Literal["normal", "important", "critical"],
        Field(description="From important on it is kept in memory after the task."),
    ] = "normal"


class NoteArguments(_Arguments):
    """Write a line on the scratchpad of the task; the oldest lines drop off."""

    text: Words


class SearchSessionArguments(_Arguments):
    """Look something up in this session: what was said, done and noted in it earlier. Returns records, best first."""

    query: Annotated[str, Field(min_length=1, max_length=SLOT_CHARACTERS, description="What to look for, in words.")]
    limit: Annotated[int, Field(ge=1, le=MAX_SESSION_RESULTS)] = 5


class FinishTaskArguments(_Arguments):
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
