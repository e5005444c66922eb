"""Serializers for sessions, transcripts, turns and working memory."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.agent.events import NoticeKind
from memories.api.fields import (
    AppName,
    Choice,
    Identifier,
    MemoryKind,
    Sensitivity,
    Several,
    StrictSerializer,
    StrictText,
    TextInQuery,
    Truth,
    Whole,
    WholeInQuery,
)
from memories.api.serializers.recall import RecalledSerializer
from memories.api.serializers.reviews import ForgetLists
from memories.constants import (
    MAX_CONSTRAINTS,
    MAX_LEARNED,
    MAX_LISTED,
    MAX_LISTED_TURNS,
    MAX_MESSAGE_CHARACTERS,
    MAX_OBSERVATIONS,
    MAX_PLAN_STEPS,
    MAX_TITLE_CHARACTERS,
    SCRATCHPAD_CHARACTERS,
    SLOT_CHARACTERS,
)
from memories.models import EntryKind, MessageRole, MessageState, Relation
from memories.selectors.session_memory import SessionPart
from memories.selectors.sessions import MentionView
from memories.services.sessions.sessions import EndedSession
from memories.services.sessions.working_memory import SlotChanges
from memories.slots import Slots, foremost
from memories.types import Importance, SensitiveKind, WriteResult

DEFAULT_LISTED_TURNS = 50


class SessionResponse(serializers.Serializer[Any]):
    """One conversation."""

    id = serializers.UUIDField(source="pk")
    title = serializers.CharField()
    external_id = serializers.CharField(allow_null=True, help_text="The id that a program gave it.")
    created_at = serializers.DateTimeField()
    last_turn_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)


class SessionPageResponse(serializers.Serializer[Any]):
    """One page of sessions, latest first."""

    results = SessionResponse(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="`cursor` of the next page; null: this is the last.")


class MentionSerializer(serializers.Serializer[Any]):
    """A memory that a step received, wrote, replaced or erased. `text` is current, or null once it is forgotten."""

    relation = Choice(Relation)
    kind = MemoryKind()
    id = serializers.UUIDField(source="memory_id")
    text = serializers.SerializerMethodField(allow_null=True)
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Why it came up, in words.")

    def get_text(self, mention: MentionView) -> str | None:
        """Return the memory's text."""
        return mention.memory.searchable_text if mention.memory else None


class ToolCallSerializer(serializers.Serializer[Any]):
    """A tool call made by the agent."""

    id = serializers.CharField()
    name = serializers.CharField()
    arguments = serializers.JSONField()


class StepSerializer(serializers.Serializer[Any]):
    """A step the agent took before answering: tool calls and their results."""

    id = serializers.UUIDField()
    role = Choice(MessageRole)
    state = Choice(MessageState)
    text = serializers.CharField()
    tool_calls = ToolCallSerializer(many=True)
    tool_call_id = serializers.CharField()
    recall_id = serializers.UUIDField(allow_null=True)
    degraded = serializers.BooleanField()
    memories = MentionSerializer(many=True, source="mentions")


class TurnSerializer(serializers.Serializer[Any]):
    """A user message, the agent's steps, and its answer."""

    turn = serializers.IntegerField()
    message_id = serializers.UUIDField()
    episode_id = serializers.UUIDField(allow_null=True)
    speaker = serializers.CharField()
    message = serializers.CharField(source="text")
    sensitivity = Sensitivity()
    state = Choice(MessageState)
    said_at = serializers.DateTimeField()
    steps = StepSerializer(many=True)
    answer_id = serializers.UUIDField(allow_null=True)
    answer = serializers.CharField()
    answer_state = Choice(MessageState, allow_null=True, help_text="null: not answered yet.")
    error = serializers.CharField()
    took_ms = serializers.FloatField(allow_null=True)


class TranscriptResponse(SessionResponse):
    """A session with its latest turns, oldest first."""

    turns = TurnSerializer(many=True)
    earlier = serializers.IntegerField(
        allow_null=True, help_text="`before` for the turns before these; null: there are none."
    )


class TranscriptQuery(StrictSerializer):
    """Selects the turns of a transcript."""

    last = WholeInQuery(
        min_value=1, max_value=MAX_LISTED_TURNS, default=DEFAULT_LISTED_TURNS, help_text="How many turns."
    )
    before = WholeInQuery(
        min_value=1, max_value=2_000_000_000, default=None, help_text="The last turns before this one."
    )


class SessionRequest(StrictSerializer):
    """A session to open."""

    title = StrictText(limit=MAX_TITLE_CHARACTERS, allow_blank=True, default="")


class SessionRenameRequest(StrictSerializer):
    """A new session title."""

    title = StrictText(limit=MAX_TITLE_CHARACTERS)


class TurnRequest(StrictSerializer):
    """The user's message. Repeating a request with the same `turn_id` stores nothing and returns the same answer."""

    message = StrictText(limit=MAX_MESSAGE_CHARACTERS)
    turn_id = Identifier(default=None, help_text="Chosen by the caller, new for each turn.")
    retry = Truth(default=False, help_text="With a `turn_id` whose answer failed or was cut off: answer it again.")
    app = AppName()


class ReplacedSerializer(serializers.Serializer[Any]):
    """A memory superseded by a new one."""

    id = serializers.UUIDField()
    text = serializers.CharField()


class MemoryWrittenSerializer(serializers.Serializer[Any]):
    """A memory written by the agent."""

    result = Choice(WriteResult)
    kind = MemoryKind()
    id = serializers.UUIDField()
    key = serializers.CharField()
    text = serializers.CharField()
    reason = serializers.CharField()
    superseded = ReplacedSerializer(many=True)


class MemoriesRetiredSerializer(serializers.Serializer[Any]):
    """Memories retired by the agent without a replacement; `harsh`: they were never true."""

    kind = MemoryKind()
    harsh = serializers.BooleanField()
    ended = ReplacedSerializer(many=True)


class NoticeSerializer(serializers.Serializer[Any]):
    """A notice about how this answer was produced."""

    kind = Choice(NoticeKind)
    text = serializers.CharField()


class ForgetProposedSerializer(ForgetLists):
    """The agent proposes to forget. The member decides: `POST /forget-proposals/{proposal_id}/confirm/` or `keep/`."""

    proposal_id = serializers.UUIDField()


class TurnResponse(serializers.Serializer[Any]):
    """A turn with its complete answer."""

    session_id = serializers.UUIDField()
    turn = serializers.IntegerField()
    message_id = serializers.UUIDField()
    episode_id = serializers.UUIDField(allow_null=True)
    masked = serializers.ListField(
        child=Choice(SensitiveKind), help_text="Kinds of values that were taken out of what the user said."
    )
    message = serializers.CharField(allow_null=True, help_text="What was stored of it; null: all, as it was said.")
    answer_id = serializers.UUIDField()
    answer = serializers.CharField()
    state = Choice(MessageState)
    took_ms = serializers.FloatField()
    recalled = RecalledSerializer(many=True)
    written = MemoryWrittenSerializer(many=True)
    retired = MemoriesRetiredSerializer(many=True)
    forget_proposals = ForgetProposedSerializer(many=True)
    notices = NoticeSerializer(many=True)


DEFAULT_FOUND = 20
# Percent-encoded, most texts of this length fit into a request line.
MAX_ENTRY_QUERY_CHARACTERS = 600
ENTRY_PARTS = [each.value for each in (*SessionPart, *EntryKind)]


class NotedSerializer(serializers.Serializer[Any]):
    """Text in a slot; `turn` is 0 if it was added outside of a turn."""

    text = serializers.CharField()
    importance = Choice(Importance)
    turn = serializers.IntegerField()


class PlanSerializer(serializers.Serializer[Any]):
    """The plan; the first `done` steps are complete."""

    steps = serializers.ListField(child=serializers.CharField())
    done = serializers.IntegerField()
    current = serializers.CharField(help_text="The step in hand; empty once all are done.")
    next = serializers.CharField(help_text="The step after it.")


class WorkingMemoryResponse(serializers.Serializer[Any]):
    """The agent's working memory; empty after the task ends or the session expires."""

    goal = serializers.CharField()
    plan = PlanSerializer()
    constraints = NotedSerializer(many=True, help_text="The most important first.")
    observations = NotedSerializer(many=True, help_text="The critical ones first.")
    scratchpad = serializers.ListField(child=serializers.CharField())


class NotedChange(StrictSerializer):
    """Text for a slot."""

    text = StrictText(limit=SLOT_CHARACTERS)
    importance = Choice(Importance, default=Importance.NORMAL)


class PlanChange(StrictSerializer):
    """Steps and progress; omitted `steps` remain unchanged."""

    steps = Several(StrictText(limit=SLOT_CHARACTERS), limit=MAX_PLAN_STEPS, required=False)
    done = Whole(min_value=0, max_value=MAX_PLAN_STEPS, required=False, help_text="How many of the first are done.")


class WorkingMemoryRequest(StrictSerializer):
    """Slots to overwrite. Omitted slots remain unchanged; an empty value clears a slot."""

    goal = StrictText(limit=SLOT_CHARACTERS, allow_blank=True, required=False)
    plan = PlanChange(required=False)
    constraints = Several(NotedChange(), limit=MAX_CONSTRAINTS, required=False)
    observations = Several(NotedChange(), limit=MAX_OBSERVATIONS, required=False)
    scratchpad = Several(StrictText(limit=SCRATCHPAD_CHARACTERS), limit=SCRATCHPAD_CHARACTERS, required=False)


class EntriesQuery(StrictSerializer):
    """A search among the entries of a session."""

    q = TextInQuery(
        max_length=MAX_ENTRY_QUERY_CHARACTERS, default="", allow_blank=True, help_text="Words; empty: the latest."
    )
    limit = WholeInQuery(min_value=1, max_value=MAX_LISTED, default=DEFAULT_FOUND, help_text="How many to return.")


class FoundSerializer(serializers.Serializer[Any]):
    """A search hit in a session."""

    part = serializers.ChoiceField(ENTRY_PARTS)
    turn = serializers.IntegerField(help_text="0: noted outside of a turn.")
    text = serializers.CharField()
    at = serializers.DateTimeField()
    importance = Choice(Importance)
    memory_id = serializers.UUIDField(allow_null=True, help_text="The memory that it is, or became.")


class EntryPageResponse(serializers.Serializer[Any]):
    """Search hits, best first; without a query, the latest entries."""

    results = FoundSerializer(many=True)


class SessionEndRequest(StrictSerializer):
    """The outcome of a task or session; both fields are optional."""

    outcome = StrictText(limit=SLOT_CHARACTERS, allow_blank=True, default="")
    learned = Several(
        StrictText(limit=SLOT_CHARACTERS), limit=MAX_LEARNED, default=list, help_text="What is worth knowing next time."
    )


class ProposedSerializer(serializers.Serializer[Any]):
    """The result of writing one proposed memory; `id` is null if nothing was stored."""

    result = Choice(WriteResult)
    kind = MemoryKind()
    id = serializers.UUIDField(allow_null=True)


class SessionEndResponse(serializers.Serializer[Any]):
    """The end of a task or session."""

    ended_at = serializers.DateTimeField()
    proposed = ProposedSerializer(many=True)


def slots_shown(slots: Slots) -> dict[str, Any]:
    """Convert slots to the form of `WorkingMemoryResponse`."""
    plan = slots.plan
    return {
        "goal": slots.goal.text if slots.goal else "",
        "plan": {"steps": list(plan.steps), "done": plan.done, "current": plan.current, "next": plan.next},
        "constraints": foremost(slots.constraints),
        "observations": foremost(slots.observations),
        "scratchpad": [each.text for each in slots.scratchpad],
    }


def slot_changes(body: dict[str, Any]) -> SlotChanges:
    """Convert a validated `WorkingMemoryRequest` to slot changes."""
    plan = body.get("plan", {})
    return SlotChanges(
        goal=body.get("goal"),
        steps=plan.get("steps"),
        done=plan.get("done"),
        constraints=_words(body.get("constraints")),
        observations=_words(body.get("observations")),
        scratchpad=body.get("scratchpad"),
    )


def ended_shown(ended: EndedSession) -> dict[str, Any]:
    """Convert the end of a session to the form of `SessionEndResponse`."""
    proposed = [
        {
            "result": outcome.result,
            "kind": outcome.kind,
            "id": None if outcome.result is WriteResult.BLOCKED else outcome.memory_id,
        }
        for outcome in ended.proposed
    ]
    return {"ended_at": ended.ended_at, "proposed": proposed}


def _words(noted: list[dict[str, Any]] | None) -> list[tuple[str, Importance]] | None:
    return None if noted is None else [(each["text"], each["importance"]) for each in noted]
