"""Imports what was read from an export (`memories/importing/formats.py`), or says what an import would bring.

The whole file is read and checked before anything is stored. It is stored in parts, each a transaction, so that other
writers wait for a part at most; a part that links memories to each other is not divided. Ids are derived from those of
the source, so an import that was cut off goes on when it is repeated, and adds nothing twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from django.db import transaction
from django.utils import timezone

from memories.errors import Blocked, InvalidInput
from memories.hygiene.sensitivity.findings import noun
from memories.importing.conversations import ConversationSession
from memories.importing.formats import ExportFormat
from memories.importing.peers import PeerExport, RefusedEntry
from memories.importing.records import MemoryRecord, named
from memories.models import Episode, EpisodeLedger, Fact, LearningOperation, Playbook
from memories.models.base import MemoryRow
from memories.services.facts.drafts import FactDraft, checked
from memories.services.portability.imports import Advance, ImportReport, unwatched
from memories.services.portability.items_import import import_items
from memories.services.portability.memories_import import import_memories
from memories.services.portability.sessions_import import check_session, import_sessions
from memories.services.screening import QuietScreen
from memories.services.sessions.episodes import ledger_of
from memories.services.sessions.messages import ask_operation
from memories.services.write import write
from memories.types import Kind, SensitiveKind
from tenants.principal import Principal, Right

# Messages, memories or items in one transaction, for which other writers of this owner wait.
PART = 500
EXAMPLES = 5
_BLOCKED = "holds what is not stored ({}); take it out and import it again."
_CHANGED = "was imported before with another text; correct the memory, or forget it and import it again."
_FACT_FIELDS = ("text", "key", "category", "confidence", "valid_from", "valid_to", "metadata")


@dataclass(slots=True)
class Imported:
    """The result of an import, or of a dry run. Unless `complete`, its time was over before it had everything.

    `examples` are the first memories that a dry run would store. `operation` learns from the new conversations.
    """

    report: ImportReport = field(default_factory=ImportReport)
    refused: list[RefusedEntry] = field(default_factory=list)
    examples: list[tuple[Kind, str]] = field(default_factory=list)
    operation: LearningOperation | None = None
    complete: bool = True


def size_of(export: PeerExport) -> int:
    """The number of messages, memories and items in an export."""
    return len(export.records) + len(export.items) + sum(len(session.turns) for session in export.sessions)


def import_export(
    principal: Principal,
    form: ExportFormat,
    export: PeerExport,
    *,
    dry_run: bool = False,
    learn: bool | None = None,
    seconds: float | None = None,
    advance: Advance = unwatched,
) -> Imported:
    """Store an export, or with `dry_run` count what it would store, each part by itself; for about `seconds`.

    `learn`: True asks for the learning from new conversations now, False forbids it, None leaves it to the schedule.
    Raises InvalidInput naming the place in the file, and Forbidden; then nothing of the file is stored.
    """
    principal.require(Right.WRITE)
    for session in export.sessions:
        check_session(session)
    done = Imported(refused=list(export.refused))
    records = export.records if form is ExportFormat.MEMORYHUB else _storable(principal, export.records, done.refused)
    first = EpisodeLedger.objects.of(principal).values_list("stored", flat=True).first() or 0
    ends = None if seconds is None else time.monotonic() + seconds
    for store in _parts(principal, form, replace(export, records=records), learn=learn, advance=advance):
        if ends is not None and time.monotonic() > ends:
            done.complete = False
            break
        done.report.add(_tried(principal, store, done.examples) if dry_run else store())
    for left in done.report.left_out:
        kinds = ", ".join(noun(SensitiveKind(kind)) for kind in left.kinds)
        done.refused.append(RefusedEntry(left.place, _BLOCKED.format(kinds)))
    done.refused += [RefusedEntry(place, _CHANGED) for place in done.report.changed]
    done.refused += done.report.refused
    if learn and not dry_run and done.report.added[Kind.EPISODIC]:
        with write(principal) as w:
            done.operation = ask_operation(w, first + 1, ledger_of(principal).stored)
    return done


Part = Callable[[], ImportReport]


def _parts(
    principal: Principal,
    form: ExportFormat,
    export: PeerExport,
    *,
    learn: bool | None,
    advance: Advance,
) -> Iterator[Part]:
    foreign = form is not ExportFormat.MEMORYHUB
    for some in _conversations(export.sessions):
        yield partial(import_sessions, principal, some, source=form.value, advance=advance, learn=learn)
    size = PART if foreign else max(1, len(export.records))
    complete = named(export.records)
    for start in range(0, len(complete), size):
        part = complete[start : start + size]
        yield partial(import_memories, principal, part, advance=advance, leave_changed=foreign, learn=learn)
    for start in range(0, len(export.items), PART):
        yield partial(import_items, principal, export.items[start : start + PART], advance=advance)


def _conversations(sessions: Sequence[ConversationSession]) -> Iterator[list[ConversationSession]]:
    """Whole conversations, together about PART messages."""
    some: list[ConversationSession] = []
    for session in sessions:
        if some and sum(len(each.turns) for each in some) + len(session.turns) > PART:
            yield some
            some = []
        some.append(session)
    if some:
        yield some


def _storable(principal: Principal, records: Sequence[MemoryRecord], refused: list[RefusedEntry]) -> list[MemoryRecord]:
    """The facts of another product that may be stored; the others are refused one by one."""
    screen, kept = QuietScreen(principal), []
    for record in records:
        values = {name: getattr(record, name) for name in _FACT_FIELDS}
        try:
            checked(FactDraft(**values | {"metadata": record.metadata or {}}, app=record.app or None), screen)
        except InvalidInput as error:
            refused.append(RefusedEntry(record.place, f"its {error.field} {error.reason}"))
        except Blocked:
            kept.append(record)  # the import counts and records it
        else:
            kept.append(record)
    return kept


def _tried(principal: Principal, store: Part, examples: list[tuple[Kind, str]]) -> ImportReport:
    """What a part would store. Examples are as they would be stored, so without masked values."""
    with transaction.atomic():
        since = timezone.now()
        report = store()
        for model in (Fact, Playbook, Episode):
            rows: list[MemoryRow] = list(model.objects.of(principal).filter(created_at__gte=since)[:EXAMPLES])
            examples += [(row.kind, row.searchable_text) for row in rows[: EXAMPLES - len(examples)]]
        transaction.set_rollback(True)
    return report
