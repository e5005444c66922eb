"""Views of the two calls of an integration, `/messages/` and `/context/`, and of the operations that learning makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any
from uuid import UUID

from rest_framework.response import Response

from memories.agent.context import Context, context_of
from memories.api.authentication import READ, READ_WRITE
from memories.api.fields import EmptyRequest, PageQuery
from memories.api.serializers.calls import (
    ContextRequest,
    ContextResponse,
    MessagesRequest,
    MessagesResponse,
    OperationDetailResponse,
    OperationPageResponse,
)
from memories.api.views.base import ApiView, operation, paged, recalled, rendered_all
from memories.models import LearningOperation, MessageRole
from memories.selectors.memories import memories_by_id
from memories.selectors.operations import OperationView, get_operation, list_operations, view_of, views_of
from memories.selectors.paging import page_of
from memories.selectors.sessions import get_session
from memories.services.admission import admit_session
from memories.services.consolidation.operations import cancel, learn_now, retry
from memories.services.sessions.messages import Learn, MessageDraft, RecordedMessages, record_messages
from memories.types import Kind
from memoryhub.env.limits import Bucket
from tenants.principal import Principal

CALLS_A_MODEL = (Bucket.MODEL_TOKENS,)
_OF_KIND = {"fact": Kind.SEMANTIC, "end": Kind.SEMANTIC, "playbook": Kind.PROCEDURAL, "outcome": Kind.PROCEDURAL}


class MessagesView(ApiView):
    """Messages of a conversation that the caller's agent holds."""

    @operation(
        "messages_create",
        READ_WRITE,
        takes=MessagesRequest,
        gives=MessagesResponse,
        statuses=(200, 201, 202),
        refuses=(409,),
        also=CALLS_A_MODEL,
    )
    def post(self, **fields: Any) -> Response:
        """Store messages, and learn from what users said in them.

        202: they are stored, and learned from in the background. 200: learned from already, or all known before. 201:
        stored, and there is nothing to learn.
        """
        status, answer = record(self.principal, **fields)
        return Response(MessagesResponse(answer).data, status=status)


def record(
    principal: Principal,
    *,
    messages: Sequence[dict[str, Any]],
    learn: str,
    return_context: bool = False,
    session: str = "",
) -> tuple[int, dict[str, Any]]:
    """Store messages; the status and the fields of `MessagesResponse`. Raises what `record_messages` does."""
    admit_session(principal, session)
    drafts = [
        MessageDraft(each["role"], each["content"], each.get("name", ""), each.get("at"), each.get("id", ""))
        for each in messages
    ]
    wanted = Learn(learn)
    recorded = record_messages(principal, drafts, session=session, learn=wanted)
    view = learned(principal, recorded.operation, wanted)
    return _status(recorded, view), {
        "session_id": recorded.session.pk,
        "session": recorded.session.external_id,
        "messages": _messages(recorded, drafts),
        "operation": _detailed(principal, view) if view else None,
        "context": _context(principal, recorded) if return_context else None,
    }


def learned(principal: Principal, asked: LearningOperation | None, learn: Learn) -> OperationView | None:
    """What learning that was asked for has come to: with Learn.NOW, once it ended or its time is over."""
    if asked is None:
        return None
    return learn_now(principal, asked) if learn is Learn.NOW else view_of(principal, asked)


def _status(recorded: RecordedMessages, learned: OperationView | None) -> int:
    if learned is not None:
        return 200 if learned.ended else 202
    return 201 if any(each.created for each in recorded.messages) else 200


def _messages(recorded: RecordedMessages, drafts: Sequence[MessageDraft]) -> list[dict[str, Any]]:
    return [
        {
            "message_id": each.message.pk,
            "id": draft.external_id or None,
            "role": each.message.role,
            "turn": each.message.turn,
            "episode_id": each.episode_id,
            "created": each.created,
            "masked": each.masked,
        }
        for each, draft in zip(recorded.messages, drafts, strict=True)
    ]


def _context(principal: Principal, recorded: RecordedMessages) -> dict[str, Any] | None:
    """The context of the last user's message, without what this call says."""
    said = [each.message.text for each in recorded.messages if each.message.role == MessageRole.USER]
    if not said or not said[-1]:
        return None
    ids = [each.episode_id for each in recorded.messages if each.episode_id]
    session_id = recorded.session.pk
    found = context_of(principal, said[-1], stored=True, exclude_episode_ids=ids, session_id=session_id)
    return _shown(found, explain=False)


class ContextView(ApiView):
    """A block of memories for a prompt."""

    @operation("context", READ, takes=ContextRequest, gives=ContextResponse, refuses=(404,))
    def post(self, *, query: str, explain: bool, **options: Any) -> dict[str, Any]:
        """Recall what bears on a message, as a text for the prompt of your agent, within a budget of tokens."""
        if options["session_id"]:
            get_session(self.principal, options["session_id"])
        return _shown(context_of(self.principal, query, **options), explain=explain)


def _shown(found: Context, *, explain: bool) -> dict[str, Any]:
    return {
        "text": found.text,
        "tokens": found.tokens,
        "items": recalled(found.items, explain=explain),
        "profile": found.profile,
        "external": found.external,
        "instructions": found.instructions,
        "degraded": found.recall.degraded,
        "trace_id": found.recall.trace_id,
    }


class OperationsView(ApiView):
    """The owner's operations."""

    @operation("operations_list", READ, query=PageQuery, gives=OperationPageResponse)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """List the operations, latest first."""
        page = page_of(list_operations(self.principal), **wanted)
        return paged(page, views_of(self.principal, page.rows))


class OperationItemView(ApiView):
    """One operation."""

    @operation("operations_read", READ, gives=OperationDetailResponse, refuses=(404,))
    def get(self, operation_id: UUID) -> dict[str, Any]:
        """Read the state of an operation, the decisions made, and the memories that they stored."""
        return _detailed(self.principal, view_of(self.principal, get_operation(self.principal, operation_id)))


class CancelOperationView(ApiView):
    """Cancelling an operation."""

    @operation("operations_cancel", READ_WRITE, takes=EmptyRequest, gives=OperationDetailResponse, refuses=(404, 409))
    def post(self, operation_id: UUID) -> dict[str, Any]:
        """Learn nothing more from its messages. What was learned stays. 409: it is running, or has ended."""
        return _detailed(self.principal, cancel(self.principal, operation_id))


class RetryOperationView(ApiView):
    """Trying an operation again."""

    @operation(
        "operations_retry",
        READ_WRITE,
        takes=EmptyRequest,
        gives=OperationDetailResponse,
        statuses=(202,),
        refuses=(404, 409),
        also=CALLS_A_MODEL,
    )
    def post(self, operation_id: UUID) -> dict[str, Any]:
        """Try an operation that waits, failed or was cancelled, in the background. 409: it is running, or done."""
        return _detailed(self.principal, retry(self.principal, operation_id))


def _detailed(principal: Principal, view: OperationView) -> dict[str, Any]:
    ids: dict[Kind, list[UUID]] = {}
    for line in view.decisions:
        if line["memory_id"]:
            ids.setdefault(_OF_KIND[line["what"]], []).append(UUID(line["memory_id"]))
    memories = memories_by_id(principal, ids)
    shown: dict[str, Any] = {field.name: getattr(view, field.name) for field in fields(view)}
    return shown | {"memories": rendered_all(principal, list(memories.values()))}
