"""Views for memories: list, create, read, change, confirm, erase and recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.response import Response

from memories.api.authentication import DECIDE, READ, READ_WRITE
from memories.api.fields import ErasureResponse, forgotten
from memories.api.serializers.bulk import ForgetAllQuery, ForgottenAllResponse
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
    RestoreRequest,
    RetireRequest,
    ReviewQuery,
    SupersedeRequest,
    UndoRequest,
    WrittenResponse,
)
from memories.api.serializers.recall import RecallRequest, RecallResponse
from memories.api.views.base import (
    ERASING_SECONDS,
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
from memories.errors import Conflict, InvalidInput
from memories.recall.pipeline import recall
from memories.selectors.history.as_of import AsOfFilter, page_as_of
from memories.selectors.memories import Memory, chain_of, find_memory, get_memory, list_memories
from memories.selectors.paging import Page, page_of
from memories.selectors.reviews import facts_to_review
from memories.selectors.sessions import get_session
from memories.services.batches import remember
from memories.services.erasure.forget import forget
from memories.services.erasure.forget_all import count_to_forget, forget_counted
from memories.services.facts.describe import describe
from memories.services.facts.promote import promote
from memories.services.facts.remember import pin_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import record_outcome
from memories.services.retention.collection import restore
from memories.services.retention.dates import confirm_fact
from memories.types import Filter, Kind, WriteOutcome, WriteResult
from tenants.principal import Principal

_REFUSED = (404, 409, 422)
_STATUS = dict.fromkeys((WriteResult.CREATED, WriteResult.SUPERSEDED, WriteResult.QUEUED_FOR_REVIEW), 201)


class MemoriesView(ApiView):
    """The owner's memories."""

    @operation("memories_list", READ, query=MemoriesQuery, gives=MemoryPageResponse)
    def get(
        self,
        *,
        kind: Kind,
        limit: int,
        cursor: str,
        q: str,
        session: UUID | None,
        as_of: datetime | None,
        **wanted: Any,
    ) -> dict[str, Any]:
        """List memories of one kind: facts and episodes newest first, playbooks and catalog entries by title.

        With `as_of` those that were believed then, latest first.
        """
        if as_of is None:
            rows = list_memories(self.principal, kind, query=q, session_id=session, **wanted)
            page = page_of(rows, limit=limit, cursor=cursor)
        else:
            wanted |= {"query": q, "session_id": session, "limit": limit, "cursor": cursor}
            page = _believed(self.principal, kind, as_of, **wanted)
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
        kind, app, fields = new_memory(self.request.data)
        self.called_by(app)
        outcome = remember(self.principal, kind, fields)
        return self.wrote(outcome, status_of(outcome))

    @operation("memories_forget_all", DECIDE, query=ForgetAllQuery, gives=ForgottenAllResponse, refuses=(409,))
    def delete(self, *, filters: Filter | None, dry_run: bool, confirm: str) -> dict[str, Any]:
        """Erase all memories with the conversations, or those that `filters` matches, permanently.

        First count them with `dry_run`, then send the token of that count in `confirm`. What was stored since stays.
        Large memories take several requests: repeat it until `complete` is true.
        """
        if dry_run:
            count = count_to_forget(self.principal, filters=filters)
            numbers = {"memories": sum(count.memories.values()), "sessions": count.sessions, "complete": False}
            shown = {"confirm": count.confirm, "confirm_until": count.confirm_until}
            return {"dry_run": True, "kinds": {k.value: n for k, n in count.memories.items()}, **numbers, **shown}
        if not confirm:
            raise InvalidInput("confirm", "is missing: count what would go with dry_run=true, then send its token.")
        done = forget_counted(self.principal, filters=filters, confirm=confirm, seconds=ERASING_SECONDS)
        return asdict(done) | {"dry_run": False, "kinds": {}, "confirm": None, "confirm_until": None}


def _believed(
    principal: Principal,
    kind: Kind,
    at: datetime,
    *,
    status: object,
    filters: object,
    shared: bool,
    limit: int,
    cursor: str,
    **wanted: Any,
) -> Page[Memory]:
    """A page of what was believed at a time. Raises InvalidInput for conditions on what holds now."""
    for name, given in (("status", status), ("filters", filters)):
        if given is not None:
            raise InvalidInput(name, "is of today; as_of looks at an earlier time, so leave one of them out.")
    asked = AsOfFilter(**wanted, shared=shared or kind is Kind.CATALOG)
    return page_as_of(principal, kind, at, asked, limit=limit, cursor=cursor)


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


def new_memory(data: object) -> tuple[Kind, str, dict[str, Any]]:
    """The kind, the app and the fields of a memory to be stored. Raises ValidationError."""
    kind = _kind_of(data)
    fields = checked(NEW_MEMORY_SERIALIZERS[kind], data)
    fields.pop("kind")
    fields.pop("role", None)  # the shape allows the user's alone
    return kind, fields.pop("app"), fields


def status_of(outcome: WriteOutcome) -> int:
    """201 if a new memory was stored, else 200."""
    return _STATUS.get(outcome.result, 200)


def _kind_of(data: object) -> Kind:
    """Return the kind named in a body; an invalid body is rejected later by the serializer of facts."""
    named = data.get("kind", Kind.SEMANTIC) if isinstance(data, dict) else Kind.SEMANTIC
    try:
        kind = Kind(named)
    except (TypeError, ValueError):
        return Kind.SEMANTIC
    return kind if kind in NEW_MEMORY_SERIALIZERS else Kind.SEMANTIC


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
        """Recall memories relevant to a query, best first. Records a trace and sets the facts' `last_used_at`."""
        if asked["session_id"]:
            get_session(self.principal, asked["session_id"])
        answer = recall(self.principal, **asked)
        shown = {name: getattr(answer, name) for name in ("trace_id", "query", "degraded", "as_of", "external")}
        return shown | {"took_ms": round(answer.took_ms, 1), "items": recalled(answer.items, explain=explain)}
