"""Importing memories: episodes in bulk, facts and playbooks replayed in the order in which they were learned.

Imported facts pass the same gates as spoken ones, so an owner ends up with one current fact for each key and wording.
What the source knows of a replaced one (its times, its reason) is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.errors import InvalidInput
from memories.importing.conversations import ConversationSession, ConversationTurn
from memories.importing.records import MemoryRecord, in_order_of_belief, named
from memories.models import MEMORY_MODELS, CatalogEntry
from memories.services.portability.imports import (
    Advance,
    ImportReport,
    in_statements,
    is_as_stored,
    owner_id,
    screened,
    shared_id,
    unwatched,
)
from memories.services.portability.memories_import import OwnMemories, Replay, hash_of
from memories.services.portability.sessions_import import check_session, episode_id, store_sessions
from memories.services.screening import Screen
from memories.services.write import write
from memories.types import Kind, Scope
from tenants.principal import Principal

SOURCE = "memories"


def import_memories(
    principal: Principal, records: Sequence[MemoryRecord], *, advance: Advance = unwatched
) -> ImportReport:
    """Store records for one owner; catalog records for the principal's tenant, which needs an administrator.

    A record that was imported before is left unchanged, and so is one of the owner's memories named by its id. A record
    with a blocked value is left out; conversations are stored with the value masked. Raises InvalidInput naming the
    record's place, and Forbidden; nothing is stored then.
    """
    complete = named(records)
    with write(principal) as w:
        now = timezone.now()
        own = _own_memories(principal, complete)
        ids = {
            record.id: own[record.kind].get(record.id) or _imported_id(principal, record, now) for record in complete
        }
        known = _known(principal, complete, ids)
        fit = screened(Screen(principal), complete, known)
        beliefs = in_order_of_belief(
            fit.records, now=now, stored=own[Kind.SEMANTIC].keys() | own[Kind.PROCEDURAL].keys()
        )
        sessions = _sessions([record for record in fit.records if record.id not in known], now)
        for session in sessions:
            check_session(session)
        episodes = store_sessions(w, sessions, source=SOURCE, advance=advance)
        placed = known | dict(episodes.ids)
        replay = Replay(w, ids=ids, own=own, placed=placed, marks=fit.marks, advance=advance)
        replay.run([belief for belief in beliefs if belief.record.kind is not Kind.EPISODIC])
        return ImportReport(
            sessions=episodes.sessions,
            messages=episodes.messages,
            added={**episodes.added, **replay.added},
            merged=replay.merged,
            known=len(known) + episodes.known,
            forgotten=replay.forgotten + episodes.forgotten,
            masked=episodes.masked,
            left_out=fit.left_out,
            ids=replay.placed,
        )


def _own_memories(principal: Principal, records: Sequence[MemoryRecord]) -> OwnMemories:
    """The memories that the owner has already and that the records call by their ids, as in an export of their own."""
    wanted: dict[Kind, set[str]] = {kind: set() for kind in Kind}
    for record in records:
        wanted[record.kind].update([record.id, *record.supersedes])
        wanted[Kind.EPISODIC].update(record.supported_by)
    own: dict[Kind, dict[str, UUID]] = {}
    for kind, names in wanted.items():
        by_id = {pk: name for name in names if (pk := _uuid(name))}
        rows = _rows(principal, kind)
        own[kind] = {
            by_id[pk]: pk
            for some in in_statements(list(by_id))
            for pk in rows.filter(pk__in=some).values_list("pk", flat=True)
        }
    return own


def _rows(principal: Principal, kind: Kind) -> QuerySet[Any]:
    """Where records of a kind go: the owner's rows, or the catalog of their tenant."""
    if kind is Kind.CATALOG:
        return CatalogEntry.objects.in_place({"scope": Scope.TENANT, "tenant_id": principal.tenant_id})
    return MEMORY_MODELS[kind].objects.of(principal)


def _uuid(name: str) -> UUID | None:
    try:
        return UUID(name)
    except ValueError:
        return None


def _imported_id(principal: Principal, record: MemoryRecord, now: datetime) -> UUID:
    if record.kind is Kind.CATALOG:
        return shared_id(principal, SOURCE, record.kind.value, record.id)
    if record.kind is Kind.EPISODIC:
        return episode_id(principal, owner_id(principal, SOURCE, _session_key(record, now), record.id))
    return owner_id(principal, SOURCE, record.kind.value, record.id)


def _known(principal: Principal, records: Sequence[MemoryRecord], ids: Mapping[str, UUID]) -> dict[str, UUID]:
    """The records that are stored already. Raises InvalidInput if one of them says something else now."""
    stored: dict[UUID, str] = {}
    for kind in Kind:
        pks = [ids[record.id] for record in records if record.kind is kind]
        for some in in_statements(pks):
            stored |= dict(_rows(principal, kind).filter(pk__in=some).values_list("pk", "content_hash"))
    known = {record.id: ids[record.id] for record in records if ids[record.id] in stored}
    for record in records:
        if record.id not in known or stored[known[record.id]] == hash_of(record):
            continue
        if not is_as_stored(_rows(principal, record.kind).get(pk=known[record.id]), record):
            raise InvalidInput(
                record.place,
                '"id" was imported before with another text; give it a new id, or let it supersede the old.',
            )
    return known


def _sessions(records: Sequence[MemoryRecord], now: datetime) -> tuple[ConversationSession, ...]:
    """Episodes by session, in the order of the file; those without a session are together by day."""
    turns: dict[str, list[ConversationTurn]] = defaultdict(list)
    for record in records:
        if record.kind is Kind.EPISODIC:
            turn = ConversationTurn(
                key=record.id,
                place=record.place,
                text=record.text,
                happened_at=record.happened_at or now,
                speaker=record.speaker,
                context=record.context,
            )
            turns[_session_key(record, now)].append(turn)
    return tuple(ConversationSession(key, tuple(said)) for key, said in turns.items())


def _session_key(record: MemoryRecord, now: datetime) -> str:
    return f"session:{record.session}" if record.session else f"day:{record.happened_at or now:%Y-%m-%d}"
