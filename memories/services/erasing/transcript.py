"""Taking erased memories out of the transcript and the traces of recalls.

Invariant: afterwards no message, tool argument, title or recorded question of the owner repeats what is erased, but for
messages of theirs that are not erased themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from memories.models import Episode, Mention, Message, MessageRole, MessageState, RecallTrace, Session
from memories.models.base import MemoryRow
from memories.services.erasing.wording import Wording, marking, strings_in, wording_of
from tenants.principal import Principal


def redact_transcript(principal: Principal, rows: Sequence[MemoryRow]) -> int:
    """Take the texts of `rows` out of messages, tool arguments, titles and traces; return how many messages changed."""
    changed = 0
    for row in rows:
        if isinstance(row, Episode):
            changed += _redact_turn(principal, row)
        mentioning = Message.objects.of(principal).filter(mentions__memory_id=row.pk).values_list("session_id", "turn")
        for session_id, turn in set(mentioning):
            changed += _redact_mentions(principal, session_id, turn, row)
        Mention.objects.of(principal).filter(memory_id=row.pk).update(reasons=[])
        _forget_in_traces(principal, row.pk)
    _forget_in_loose_traces(principal, rows)
    return changed


def _redact_turn(principal: Principal, episode: Episode) -> int:
    """Empty the whole turn in which an episode was said: its answer and tool calls were made from those words."""
    if episode.message_id is None:
        return 0
    message = Message.objects.of(principal).get(pk=episode.message_id)
    turn = Message.objects.of(principal).filter(session_id=message.session_id, turn=message.turn)
    RecallTrace.objects.of(principal).filter(messages__in=turn).update(query="")
    if message.turn == 1:
        Session.objects.of(principal).filter(pk=message.session_id).update(title="")
    return empty(turn)


def _redact_mentions(principal: Principal, session_id: UUID, turn: int, row: MemoryRow) -> int:
    """In a turn that used or wrote `row`: empty the tool arguments that wrote or looked for it, and answers with it.

    A turn that is being answered meanwhile may yet repeat it: its last message is emptied, and by that `turns` knows.
    """
    whole = Message.objects.of(principal).filter(session_id=session_id, turn=turn)
    messages = whole.filter(step__gt=0)
    wrote = set(
        messages.filter(mentions__memory_id=row.pk, role=MessageRole.TOOL)
        .exclude(mentions__relation="recalled")
        .values_list("tool_call_id", flat=True)
    )
    wording = wording_of([row])
    said = marking(" ".join(whole.filter(step=0).values_list("text", flat=True)))
    changed = 0
    last = messages.order_by("step").last()
    unanswered = last if last and (last.role != MessageRole.ASSISTANT or last.tool_calls) else None
    for message in messages.filter(Q(role=MessageRole.ASSISTANT) | Q(pk=unanswered and unanswered.pk)):
        calls = any(call.get("id") in wrote for call in message.tool_calls)
        if calls or message == unanswered or _repeats(message, wording, said):
            changed += empty(Message.objects.of(principal).filter(pk=message.pk))
    for trace in RecallTrace.objects.of(principal).filter(messages__in=whole).exclude(query="").distinct():
        if wording.repeated_in(trace.query, but=said):
            RecallTrace.objects.of(principal).filter(pk=trace.pk).update(query="")
    return changed


def _repeats(message: Message, wording: Wording, said: frozenset[str]) -> bool:
    """Whether an answer repeats it, or the arguments of a tool do in words that were not the user's own."""
    arguments = " ".join(strings_in([call.get("arguments") for call in message.tool_calls]))
    return wording.repeated_in(message.text) or wording.repeated_in(arguments, but=said)


def empty(messages: QuerySet[Message]) -> int:
    """Empty the texts of `messages` and say so in their state; tool calls keep their names, not their arguments."""
    changed = 0
    for message in messages:
        message.text = ""
        message.sensitivity = {}
        message.tool_calls = [{**call, "arguments": {}} for call in message.tool_calls]
        message.state = MessageState.REDACTED
        message.save(update_fields=["text", "sensitivity", "tool_calls", "state"])
        changed += 1
    return changed


def _forget_in_traces(principal: Principal, memory_id: UUID) -> None:
    """Drop a memory's line from the traces of the recalls that returned it (they hold ids and numbers only)."""
    traces = RecallTrace.objects.of(principal).filter(messages__mentions__memory_id=memory_id).distinct()
    for trace in traces:
        trace.candidates = [line for line in trace.candidates if line.get("id") != str(memory_id)]
        trace.save(update_fields=["candidates"])


def _forget_in_loose_traces(principal: Principal, rows: Sequence[MemoryRow]) -> None:
    """Empty the questions that say what is forgotten, of recalls that no message shows.

    Such are the API's own recalls, and those of a turn that brought up nothing new.
    """
    said = {row.text for row in rows if isinstance(row, Episode)}
    wordings = {str(row.pk): wording_of([row]) for row in rows}
    loose = RecallTrace.objects.of(principal).filter(messages=None)
    for pk, query in loose.exclude(query="").values_list("pk", "query").iterator():
        asked = marking(query)
        if query not in said and not any(asked & each.words for each in wordings.values()):
            continue
        trace = loose.get(pk=pk)
        found = {line.get("id") for line in trace.candidates} & wordings.keys()
        trace.candidates = [line for line in trace.candidates if line.get("id") not in found]
        if query in said or any(asked & wordings[each].words for each in found):
            trace.query = ""
        trace.save(update_fields=["candidates", "query"])
