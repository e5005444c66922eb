"""A member's whole memory as a signed archive: transcripts, memories of every state, decisions, audit events.

`memory.jsonl` is in the form that `import_memories` reads; `audit_events.jsonl` reproduces all digests of the member's
chain; the other tables come in the requested forms, without columns made for the search plane. Originals of masked
values stay sealed and are not exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Model

from memories.importing.records import record_line
from memories.models import (
    ConsolidationRun,
    Episode,
    Fact,
    Mention,
    Message,
    Playbook,
    RecallTrace,
    ReviewItem,
    Session,
    SessionEntry,
)
from memories.models.guard import OwnedQuerySet
from memories.selectors.erasure import is_erased, open_request
from memories.services.portability.memories_export import records_of
from memoryhub.signing.archive import ArchiveFile, RowTable, TableFormat, as_file, stream_archive
from memoryhub.signing.keys import public_keys
from tenants.audit.chain import record_event
from tenants.audit.export import AuditLogFiles, made_by
from tenants.errors import Forbidden
from tenants.locks import wait_for_owner
from tenants.models import AuditEvent, AuditHead, Membership, User
from tenants.principal import AUDITS, Actor, Principal
from tenants.principals import reading_principal, still

_ROWS_AT_ONCE = 500

_MEMORY = ("id", "scope", "task", "text", "status", "sensitivity", "version", "created_at", "updated_at")
_SUCCEEDING = (
    "learned_at", "superseded_by_id", "superseded_at", "contradiction", "retracted", "restores", "promoted_from",
    "archived_at", "evicted_at", "evicted_from", "staleness",
)  # fmt: skip
EPISODE_COLUMNS = (*_MEMORY, "session_id", "sequence", "speaker", "context", "happened_at", "ordinal")
FACT_COLUMNS = (
    *_MEMORY, "key", "category", "confidence", "source", "pinned", "valid_from", "valid_to", *_SUCCEEDING, "use_count",
    "last_used_at", "last_verified_at", "review_after", "expires_at",
)  # fmt: skip
PLAYBOOK_COLUMNS = (
    *_MEMORY, "title", "trigger", "steps", "category", *_SUCCEEDING, "success_count", "failure_count",
    "last_success_at", "last_failure_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table and where its rows are. `exact`: another file has these rows in JSON Lines already."""

    name: str
    model: type[Model]
    columns: Sequence[str]
    order: Sequence[str]
    exact: bool = False

    def table(self, **only: object) -> RowTable:
        """The rows with these values."""
        return RowTable(self.name, self.columns, self._rows(only))

    def _rows(self, only: dict[str, object]) -> Iterator[tuple[Any, ...]]:
        every: Any = self.model._default_manager.all()
        if isinstance(every, OwnedQuerySet):
            every = every.unscoped("everything of one member")
        rows = every.filter(**only).order_by(*self.order).values_list(*self.columns)
        found: Iterator[tuple[Any, ...]] = rows.iterator(chunk_size=_ROWS_AT_ONCE)
        return found


OF_A_MEMBER: tuple[ExportTable, ...] = (
    ExportTable("episodes", Episode, EPISODE_COLUMNS, ("ordinal",), exact=True),
    ExportTable("facts", Fact, FACT_COLUMNS, ("learned_at", "id"), exact=True),
    ExportTable("how_tos", Playbook, PLAYBOOK_COLUMNS, ("learned_at", "id"), exact=True),
    ExportTable(
        "sessions", Session,
        ("id", "title", "working_memory", "created_at", "last_turn_at", "expires_at", "ended_at", "expired_at"),
        ("created_at", "id"),
    ),
    ExportTable(
        "session_notes", SessionEntry,
        ("id", "session_id", "turn", "place", "kind", "importance", "text", "memory_id", "created_at"),
        ("session_id", "place"),
    ),
    ExportTable(
        "transcript", Message,
        ("id", "session_id", "turn", "step", "role", "state", "speaker", "text", "tool_calls", "tool_call_id",
         "recall_id", "degraded", "sensitivity", "memory_tokens", "error", "took_ms", "created_at"),
        ("session_id", "turn", "step"),
    ),
    ExportTable(
        "uses", Mention,
        ("message_id", "relation", "kind", "memory_id", "position", "used", "reasons"),
        ("id",),
    ),
    ExportTable(
        "recalls", RecallTrace,
        ("id", "session_id", "query", "parameters", "returned", "degraded", "took_ms", "created_at"),
        ("created_at", "id"),
    ),
    ExportTable(
        "reviews", ReviewItem,
        ("id", "kind", "first_id", "second_id", "playbook_id", "reason", "evidence", "decision", "outcome",
         "decided_by_id", "decided_at", "created_at"),
        ("created_at", "id"),
    ),
    ExportTable(
        "runs", ConsolidationRun,
        ("id", "state", "trigger", "extractor", "rerun_of_id", "first_ordinal", "last_ordinal", "given_up", "input",
         "decisions", "error", "input_tokens", "output_tokens", "cost", "started_at", "ended_at"),
        ("started_at", "id"),
    ),
)  # fmt: skip


def files_of(sources: Sequence[ExportTable], forms: Sequence[TableFormat], **only: object) -> Iterator[ArchiveFile]:
    """Each table in each form that is asked for."""
    for source in sources:
        for form in forms:
            if not (source.exact and form is TableFormat.JSON_LINES):
                yield as_file(source.table(**only), form)


MEMORY_FILE = "memory.jsonl"


def export_member(
    membership: Membership, *, staff: User, forms: Sequence[TableFormat], request_id: str = ""
) -> Iterator[bytes]:
    """The archive, a piece at a time.

    Raises Forbidden unless `staff` audits or administers the member's tenant, and while the member is being erased;
    ImproperlyConfigured where nothing can be signed; nothing is recorded then.
    """
    principal = reading_principal(membership, staff=staff, roles=AUDITS, request_id=request_id)
    erased = is_erased(membership.pk)
    if erased and open_request(membership.pk) is not None:
        raise Forbidden("This member is being erased: what is left would not be their whole memory.")
    public_keys()
    with transaction.atomic():
        wait_for_owner(principal)
        event = record_event(
            principal, action="memory.exported", reason="everything", after={"formats": [form.value for form in forms]}
        )
    actor = Actor(principal.actor_kind, principal.actor_id, principal.request_id)
    trail = _trail(event)
    told = {
        "what": "member",
        "whose": {
            "tenant_id": str(principal.tenant_id),
            "owner_id": str(principal.user_id),
            "membership_id": str(principal.membership_id),
        },
        "range": {},
        **made_by(actor, event),
    }

    def may_go_on() -> None:
        reading_principal(membership, staff=still(staff), roles=AUDITS)
        if is_erased(membership.pk) and not erased:
            raise Forbidden("This member is being erased.")

    files = _files(principal, trail, forms)
    return stream_archive(files, lambda: {**told, "chains": trail.chains()}, may_go_on=may_go_on)


def _files(principal: Principal, trail: AuditLogFiles, forms: Sequence[TableFormat]) -> Iterator[ArchiveFile]:
    records = records_of(principal)
    yield ArchiveFile(MEMORY_FILE, (record_line(record).encode(errors="surrogatepass") + b"\n" for record in records))
    yield from files_of(OF_A_MEMBER, forms, tenant_id=principal.tenant_id, user_id=principal.user_id)
    yield from trail.files(forms)


def _trail(event: AuditEvent) -> AuditLogFiles:
    """The member's chain up to the event of this export."""
    events = AuditEvent.objects.filter(chain=event.chain, sequence__lte=event.sequence).order_by("sequence")
    head = AuditHead(chain=event.chain, length=event.sequence, digest=event.digest)
    return AuditLogFiles([events], heads={event.chain: head})
