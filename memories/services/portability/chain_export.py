"""A signed archive of one fact or playbook: its states, their links, source episodes and audit events.

An archive holds states of one owner, or shared memories of one tenant or of all; links to anything else are only ids.
Quoted texts come only from the owner's own episodes. A member's words are in it only if its reader opened the history
before, which the member's audit log records; otherwise it holds digests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from memories.errors import NotFound
from memories.models import CHAINED_MODELS, Episode, Fact, Playbook
from memories.models.base import MemoryQuerySet
from memories.services.portability.member_export import columns_of
from memories.types import Kind
from memoryhub.signing.archive import ArchiveFile, RowTable, TableFormat, as_file, stream_archive
from memoryhub.signing.keys import public_keys
from tenants.audit.chain import EventDraft, record_events, record_platform_event, record_tenant_event
from tenants.audit.export import AuditLogFiles, made_by, opened_by
from tenants.errors import Forbidden
from tenants.locks import wait_for_owner
from tenants.models import AuditEvent, Membership, User
from tenants.principal import AUDITS, READS_HISTORY, Actor
from tenants.principals import reading_principal, still
from tenants.selectors import has_role

EXPORTED = "chain.exported"
_LINKS = ("superseded_by_id", "restores", "promoted_from")
# A statement binds up to four times as many variables and the owner; SQLite builds allow at least 999.
_IDS_PER_STATEMENT = 200

Row = Fact | Playbook


@dataclass(frozen=True, slots=True)
class ChainExport:
    """Selects the chain that contains this memory."""

    kind: Kind
    memory_id: UUID


def export_chain(wanted: ChainExport, *, staff: User, actor: Actor, forms: Sequence[TableFormat]) -> Iterator[bytes]:
    """The archive, in pieces.

    Raises NotFound for unknown ids and for tenants where `staff` has no role, Forbidden where their role may not audit,
    and ImproperlyConfigured without a signing key; then nothing is recorded.
    """
    start = _start(wanted, staff)
    public_keys()
    rows = _chain(start)
    draft = EventDraft(
        EXPORTED, wanted.kind.value, wanted.memory_id,
        after={"states": len(rows), "formats": [form.value for form in forms]},
    )  # fmt: skip
    event = _recorded(start, draft, staff, actor)
    opened = start.user_id is None or not opened_by(staff, start.tenant_id).isdisjoint(rows)
    audit_log = AuditLogFiles(_events(start, sorted(rows)), readable=lambda event: opened or event.owner_id is None)
    statement = {
        "what": "chain",
        "whose": {"tenant_id": _text(start.tenant_id), "owner_id": _text(start.user_id)},
        "range": {"kind": wanted.kind.value, "memory_id": str(wanted.memory_id), "states": len(rows)},
        **made_by(actor, event),
    }
    files = _files(wanted.kind, start, rows, audit_log, forms, opened=opened)
    return stream_archive(
        files, lambda: {**statement, "chains": audit_log.chains()}, may_go_on=lambda: _start(wanted, still(staff))
    )


def _start(wanted: ChainExport, staff: User) -> Row:
    row = (
        CHAINED_MODELS[wanted.kind].objects.unscoped("staff export one chain").filter(pk=wanted.memory_id).first()
        if wanted.kind in CHAINED_MODELS
        else None
    )
    if not isinstance(row, Fact | Playbook):
        raise NotFound("memory")
    if staff.is_active and staff.is_superuser:
        return row
    if row.tenant_id is None or not staff.is_active or not has_role(staff, row.tenant_id, READS_HISTORY):
        raise NotFound("memory")
    if not has_role(staff, row.tenant_id, AUDITS):
        raise Forbidden(_("Only an auditor or administrator of the tenant may export its history."))
    return row


def _chain(start: Row) -> dict[UUID, Row]:
    """Every state of the same owner that is linked to `start` by supersession or undo."""
    rows: dict[UUID, Row] = {start.pk: start}
    frontier = [start.pk]
    while frontier:
        some, rest = frontier[:_IDS_PER_STATEMENT], frontier[_IDS_PER_STATEMENT:]
        named = {id_ for pk in some for id_ in (rows[pk].superseded_by_id, rows[pk].restores) if id_} - rows.keys()
        linked = Q(superseded_by__in=some) | Q(restores__in=some) | Q(pk__in=named)
        fresh = {row.pk: row for row in _siblings(start).filter(linked) if row.pk not in rows}
        rows |= fresh
        frontier = [*rest, *fresh]
    return rows


def _siblings(start: Row) -> MemoryQuerySet[Any]:
    rows: MemoryQuerySet[Any] = (
        CHAINED_MODELS[start.kind].objects.unscoped("staff export one chain").filter(**_owner(start))
    )
    return rows.defer("embedding", "token_ids")


def _owner(row: Row) -> dict[str, Any]:
    """The columns of the row's owner; None for a shared memory's user."""
    return {"tenant_id": row.tenant_id, "user_id": row.user_id}


def _recorded(start: Row, draft: EventDraft, staff: User, actor: Actor) -> AuditEvent:
    """Audit the export in the owner's log; for a shared memory in that of its tenant or of the platform."""
    with transaction.atomic():
        if start.tenant_id is None:
            return record_platform_event(actor, draft)
        found = Membership.objects.filter(**_owner(start)).select_related("user").first() if start.user_id else None
        if found is None:
            return record_tenant_event(actor, start.tenant_id, draft)
        principal = reading_principal(found, staff=staff, roles=AUDITS, request_id=actor.request_id)
        wait_for_owner(principal)
        return record_events(principal, [draft])[0]


def _events(start: Row, ids: Sequence[UUID]) -> Iterator[Any]:
    """Audit events about these states: the owner's, or for shared memories those of the tenant."""
    only: dict[str, object] = {}
    if start.tenant_id is not None:
        only["tenant_id"] = start.tenant_id
    if start.user_id is not None:
        only["owner_id"] = start.user_id
    for at in range(0, len(ids), _IDS_PER_STATEMENT):
        events = AuditEvent.objects.filter(**only, target_id__in=ids[at : at + _IDS_PER_STATEMENT])
        yield events.order_by("chain", "sequence")


def _files(
    kind: Kind,
    start: Row,
    rows: dict[UUID, Row],
    audit_log: AuditLogFiles,
    forms: Sequence[TableFormat],
    *,
    opened: bool,
) -> Iterator[ArchiveFile]:
    states = sorted(rows.values(), key=lambda row: (row.learned_at, row.pk))
    columns = columns_of(CHAINED_MODELS[kind]) if opened else _WITHOUT_WORDS
    tables: list[tuple[str, Sequence[str], Sequence[Sequence[Any]]]] = [
        ("states", columns, [[getattr(row, name) for name in columns] for row in states]),
        ("links", ("from", "link", "to"), [
            (row.pk, name.removesuffix("_id"), to) for row in states for name in _LINKS if (to := getattr(row, name))
        ]),
        ("words", _WORDS, list(_words(kind, start, sorted(rows))) if opened else []),
    ]  # fmt: skip
    for name, names, content in tables:
        for form in forms:
            yield as_file(RowTable(name, names, content), form)
    yield from audit_log.files(forms)


_WITHOUT_WORDS = (
    "id", "status", "superseded_by_id", "retracted", "learned_at", "superseded_at", "created_at",
)  # fmt: skip
_WORDS = ("state_id", "episode_id", "session_id", "speaker", "happened_at", "text", "context")


def _words(kind: Kind, start: Row, ids: Sequence[UUID]) -> Iterator[tuple[Any, ...]]:
    """The source episodes of each state. A shared memory exports none."""
    if start.user_id is None:
        return
    columns = ("session_id", "speaker", "happened_at", "text", "context")
    for at in range(0, len(ids), _IDS_PER_STATEMENT):
        pairs = _support(kind, ids[at : at + _IDS_PER_STATEMENT])
        for begin in range(0, len(pairs), _IDS_PER_STATEMENT):
            some = pairs[begin : begin + _IDS_PER_STATEMENT]
            own = Episode.objects.unscoped("staff export one chain").filter(
                **_owner(start), pk__in={episode for _, episode in some}
            )
            said = {row[0]: row[1:] for row in own.values_list("pk", *columns)}
            yield from ((state, episode, *said[episode]) for state, episode in some if episode in said)


def _support(kind: Kind, ids: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """Pairs of (state id, episode id).

    A query on the link table uses its index; with a join SQLite scans all episodes.
    """
    model = CHAINED_MODELS[kind]
    state = f"{model._meta.model_name}_id"
    through: Any = model.supporting_episodes.through
    pairs = through.objects.filter(**{f"{state}__in": ids}).order_by(state, "episode_id")
    return list(pairs.values_list(state, "episode_id"))


def _text(value: object) -> str | None:
    return str(value) if value else None
