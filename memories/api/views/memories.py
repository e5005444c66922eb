"""Views for memories: list, create, read, change, confirm, erase and recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rest_framework.response import Response

from memories.api.authentication import DECIDE, READ, READ_WRITE
from memories.api.fields import ErasureResponse, forgotten
from memories.api.serializers.memories import (
    ANY_MEMORY,
    ANY_NEW_MEMORY,
    NEW_MEMORY_SERIALIZERS,
    ChainResponse,
    ConfirmRequest,
    CorrectRequest,
    DescribeRequest,
    ForgetQuery,
    MemoriesQuery,
    MemoryPageResponse,
    MemoryReviewResponse,
    OutcomeRequest,
    PinRequest,
    PromoteRequest,
    RecallRequest,
    RecallResponse,
    RestoreRequest,
    RetireRequest,
    ReviewQuery,
    SupersedeRequest,
    UndoRequest,
    WrittenResponse,
)
from memories.api.views.base import (
    ApiView,
    checked,
    memory_to_change,
    operation,
    own_memory,
    paged,
    recalled,
    rendered,
    rendered_all,
)
from memories.errors import Conflict
from memories.recall.pipeline import recall
from memories.selectors.memories import chain_of, find_memory, get_memory, list_memories
from memories.selectors.paging import page_of
from memories.selectors.reviews import facts_to_review
from memories.selectors.sessions import get_session
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.forget import forget
from memories.services.facts.describe import describe
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import record_outcome, remember_playbook
from memories.services.retention.collection import restore
from memories.services.retention.dates import confirm_fact
from memories.services.sessions.messages import remember_said
from memories.types import Kind, WriteOutcome, WriteResult
from tenants.principal import Principal

_REFUSED = (404, 409, 422)
# HTTP status by write result: 201 if a new memory was stored, else 200.
_STATUS = dict.fromkeys((WriteResult.CREATED, WriteResult.SUPERSEDED, WriteResult.QUEUED_FOR_REVIEW), 201)


class MemoriesView(ApiView):
    """The owner's memories."""

    @operation("memories_list", READ, query=MemoriesQuery, gives=MemoryPageResponse)
    def get(
        self, *, kind: Kind, limit: int, cursor: str, q: str, session: UUID | None, **wanted: Any
    ) -> dict[str, Any]:
        """List memories of one kind: facts and episodes newest first, playbooks and catalog entries by title."""
        rows = list_memories(self.principal, kind, query=q, session_id=session, **wanted)
        page = page_of(rows, limit=limit, cursor=cursor)
        return paged(page, rendered_all(self.principal, page.rows))

    @operation(
        "memories_create",
        READ_WRITE,
        takes=ANY_NEW_MEMORY,
        gives=WrittenResponse,
        statuses=(200, 201),
        refuses=_REFUSED,
    )
    def post(self) -> Response:
        """Store a memory. 201: it was created; 200: it merged into an existing memory."""
        kind = _kind_of(self.request.data)
        fields = checked(NEW_MEMORY_SERIALIZERS[kind], self.request.data)
        fields.pop("kind")
        fields.pop("role", None)  # the shape allows the user's alone
        self.called_by(fields.pop("app"))
        outcome = _remember(self.principal, kind, fields)
        return self.wrote(outcome, _STATUS.get(outcome.result, 200))


class MemoryItemView(ApiView):
    """One memory."""

    @operation("memories_read", READ, gives=ANY_MEMORY, refuses=(404,))
    def get(self, memory_id: UUID) -> dict[str, Any]:
        """Read a memory of any kind and status."""
        return rendered(self.principal, find_memory(self.principal, memory_id))

    @operation("memories_describe", READ_WRITE, takes=DescribeRequest, gives=ANY_MEMORY, refuses=_REFUSED)
    def patch(self, memory_id: UUID, **fields: Any) -> dict[str, Any]:
        """Replace the metadata of a current fact or playbook. The history keeps what it was."""
        kind = memory_to_change(self.principal, memory_id).kind
        describe(self.principal, kind=kind, memory_id=memory_id, **fields)
        return rendered(self.principal, get_memory(self.principal, kind, memory_id))

    @operation("memories_forget", DECIDE, query=ForgetQuery, gives=ErasureResponse, refuses=(404,))
    def delete(self, memory_id: UUID, **reach: Any) -> dict[str, Any]:
        """Erase a memory permanently, with every copy of its text. To mark it as no longer true, retire it instead."""
        kind = own_memory(self.principal, memory_id).kind
        return forgotten(forget(self.principal, kind=kind, memory_id=memory_id, **reach))


class ChainView(ApiView):
    """The history of one memory."""

    @operation("memories_chain", READ, gives=ChainResponse, refuses=(404,))
    def get(self, memory_id: UUID) -> dict[str, Any]:
        """Read the chain of a memory: all memories linked by supersession or undo, oldest first."""
        kind = find_memory(self.principal, memory_id).kind
        return {"links": chain_of(self.principal, kind, memory_id)}


def _kind_of(data: object) -> Kind:
    """Return the kind named in a body; an invalid body is rejected later by the serializer of facts."""
    named = data.get("kind", Kind.SEMANTIC) if isinstance(data, dict) else Kind.SEMANTIC
    try:
        kind = Kind(named)
    except (TypeError, ValueError):
        return Kind.SEMANTIC
    return kind if kind in NEW_MEMORY_SERIALIZERS else Kind.SEMANTIC


def _remember(principal: Principal, kind: Kind, fields: dict[str, Any]) -> WriteOutcome:
    match kind:
        case Kind.EPISODIC:
            return remember_said(principal, **fields)
        case Kind.SEMANTIC:
            return remember_fact(principal, **fields)
        case Kind.PROCEDURAL:
            return remember_playbook(principal, **fields)
        case _:
            return remember_catalog_entry(principal, **fields)


class CorrectView(ApiView):
    """Correcting a memory that was wrong."""

    @operation(
        "memories_correct",
        READ_WRITE,
        takes=CorrectRequest,
        gives=WrittenResponse,
        statuses=(201,),
        refuses=_REFUSED,
    )
    def post(self, memory_id: UUID, **fields: Any) -> Response:
        """Correct a memory. Superseded versions can be corrected too.

        The old one stays in the history as never true.
        """
        kind = memory_to_change(self.principal, memory_id).kind
        return self.wrote(correct(self.principal, kind=kind, memory_id=memory_id, **fields), 201)


class SupersedeView(ApiView):
    """Replacing facts."""

    @operation(
        "memories_supersede",
        READ_WRITE,
        takes=SupersedeRequest,
        gives=WrittenResponse,
        statuses=(201,),
        refuses=_REFUSED,
    )
    def post(self, memory_id: UUID, also_ids: Sequence[UUID], **fields: Any) -> Response:
        """Replace a fact, and optionally others, with a new one. The old ones stay in the history."""
        if memory_to_change(self.principal, memory_id).kind is not Kind.SEMANTIC:
            raise Conflict(
                "This memory is no fact; a playbook is replaced by a new one that names it in supersedes_ids."
            )
        return self.wrote(supersede(self.principal, old_ids=(memory_id, *also_ids), **fields), 201)


class RetireView(ApiView):
    """Retiring a memory that is no longer true."""

    @operation("memories_retire", READ_WRITE, takes=RetireRequest, gives=WrittenResponse, refuses=_REFUSED)
    def post(self, memory_id: UUID, **fields: Any) -> Response:
        """End a memory without a replacement. It stays in the history, and is not recalled."""
        kind = memory_to_change(self.principal, memory_id).kind
        return self.wrote(retire(self.principal, kind=kind, memory_id=memory_id, **fields), 200)


class UndoView(ApiView):
    """Undoing a supersession or retirement that was a mistake."""

    @operation("memories_undo", READ_WRITE, takes=UndoRequest, gives=WrittenResponse, statuses=(201,), refuses=_REFUSED)
    def post(self, memory_id: UUID, **fields: Any) -> Response:
        """Undo a change. The memory that this one replaced, or this one if it was ended, comes back as a new one.

        The mistaken replacement stays in the history as never true. An undo can be undone.
        """
        kind = memory_to_change(self.principal, memory_id).kind
        return self.wrote(undo(self.principal, kind=kind, memory_id=memory_id, **fields), 201)


class PromoteView(ApiView):
    """Copying a memory into a wider scope."""

    @operation(
        "memories_promote",
        READ_WRITE,
        takes=PromoteRequest,
        gives=WrittenResponse,
        statuses=(200, 201),
        refuses=_REFUSED,
    )
    def post(self, memory_id: UUID, **fields: Any) -> Response:
        """Copy a memory to a wider scope as an independent memory. 200: it merged into a memory already there."""
        kind = own_memory(self.principal, memory_id).kind
        outcome = promote(self.principal, kind=kind, memory_id=memory_id, **fields)
        return self.wrote(outcome, 200 if outcome.result is WriteResult.MERGED else 201)


class PinView(ApiView):
    """Pinning a fact."""

    @operation("memories_pin", READ_WRITE, takes=PinRequest, gives=ANY_MEMORY, refuses=(404, 409))
    def post(self, memory_id: UUID, **fields: Any) -> dict[str, Any]:
        """Pin or unpin a fact. Pinned facts are recalled first and included in every prompt."""
        if own_memory(self.principal, memory_id).kind is not Kind.SEMANTIC:
            raise Conflict("This memory is no fact; only facts can be pinned.")
        pin_fact(self.principal, fact_id=memory_id, **fields)
        return rendered(self.principal, get_memory(self.principal, Kind.SEMANTIC, memory_id))


class ReviewView(ApiView):
    """Facts that have not been confirmed recently."""

    @operation("memories_review", READ, query=ReviewQuery, gives=MemoryReviewResponse)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """List facts to ask their owner about, least recently confirmed first. Listing changes nothing."""
        return {"results": rendered_all(self.principal, facts_to_review(self.principal, **wanted))}


class ConfirmView(ApiView):
    """Confirming a fact."""

    @operation("memories_confirm", READ_WRITE, takes=ConfirmRequest, gives=ANY_MEMORY, refuses=_REFUSED)
    def post(self, memory_id: UUID, **fields: Any) -> dict[str, Any]:
        """Confirm that a fact is still true: its dates start over, and a stale fact regains its full weight."""
        if memory_to_change(self.principal, memory_id).kind is not Kind.SEMANTIC:
            raise Conflict("This memory is no fact; only facts are confirmed.")
        confirm_fact(self.principal, fact_id=memory_id, **fields)
        return rendered(self.principal, get_memory(self.principal, Kind.SEMANTIC, memory_id))


class RestoreView(ApiView):
    """Restoring an evicted or archived memory."""

    @operation("memories_restore", READ_WRITE, takes=RestoreRequest, gives=ANY_MEMORY, refuses=_REFUSED)
    def post(self, memory_id: UUID, **fields: Any) -> dict[str, Any]:
        """Restore a memory that garbage collection archived or evicted, unless it has since been erased."""
        kind = memory_to_change(self.principal, memory_id).kind
        restore(self.principal, kind=kind, memory_id=memory_id, **fields)
        return rendered(self.principal, get_memory(self.principal, kind, memory_id))


class OutcomeView(ApiView):
    """Reporting the outcome of a playbook."""

    @operation(
        "memories_outcome",
        READ_WRITE,
        takes=OutcomeRequest,
        gives=WrittenResponse,
        statuses=(200, 201),
        refuses=_REFUSED,
    )
    def post(self, memory_id: UUID, **fields: Any) -> Response:
        """Report whether a playbook worked.

        200: the outcome is counted; 201: refined steps also replaced the old ones.
        """
        if own_memory(self.principal, memory_id).kind is not Kind.PROCEDURAL:
            raise Conflict("This memory is no playbook; only playbooks have outcomes.")
        outcome = record_outcome(self.principal, playbook_id=memory_id, **fields)
        return self.wrote(outcome, 201 if outcome.result is WriteResult.SUPERSEDED else 200)


class RecallView(ApiView):
    """A recall from the owner's memory."""

    @operation("recall", READ, takes=RecallRequest, gives=RecallResponse, refuses=(404,))
    def post(self, *, explain: bool, **asked: Any) -> dict[str, Any]:
        """Recall memories relevant to a query, best first. Records a trace and increments the facts' `use_count`."""
        if asked["session_id"]:
            get_session(self.principal, asked["session_id"])
        answer = recall(self.principal, **asked)
        shown = {name: getattr(answer, name) for name in ("trace_id", "query", "degraded", "as_of")}
        return shown | {"took_ms": round(answer.took_ms, 1), "items": recalled(answer.items, explain=explain)}
