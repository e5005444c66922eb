"""Imports memories: episodes in bulk, facts and playbooks replayed in the order in which they were learned.

Imported facts pass the same gates as others, so an owner ends up with one current fact per key and text. Facts that
need no gate are inserted first, in bulk. A memory that ended without a successor is ended before anything learned later
is stored, so the gates see what was believed at each moment. The source's times, links and reasons are restored as far
as the chain and the database constraints allow.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.consolidation.rules import likeness
from memories.constants import MAX_TASK_CHARACTERS
from memories.errors import Conflict, InvalidInput, NotFound
from memories.hygiene.sensitivity.detecting import without_secrets
from memories.hygiene.text import clean_text, content_hash
from memories.importing.records import Belief, MemoryRecord, in_order_of_belief, named, session_key, sessions_of
from memories.models import MEMORY_MODELS, CatalogEntry, Episode, Fact
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.closing import Supersedable, close, current_rows, model_of, record_ended
from memories.services.facts.drafts import AnyDraft, FactDraft, PlaybookDraft, checked
from memories.services.facts.gates import alike_fact, alike_playbooks, same_app
from memories.services.facts.remember import insert_facts, write_fact
from memories.services.playbooks import store_playbook
from memories.services.portability.imports import (
    Advance,
    ImportReport,
    Passed,
    alone,
    forgotten_ids,
    is_as_stored,
    owner_id,
    screened,
    shared_id,
    unwatched,
)
from memories.services.portability.restored_state import RESTORED, restore_state, state_of
from memories.services.portability.sessions_import import check_session, episode_id, store_sessions
from memories.services.retention.dates import has_expired
from memories.services.screening import Screen
from memories.services.sessions.sessions import title_from
from memories.services.write import AUDIT_NOUN, Write, app_of, own_episodes, owner_columns, write
from memories.types import (
    ALL_KINDS,
    CURRENT,
    Contradiction,
    Kind,
    Scope,
    Source,
    WriteOutcome,
    WriteResult,
)
from memoryhub.db.statements import in_statements
from tenants.principal import Principal

# The owner's existing memories by kind and by their id as a string.
OwnMemories = Mapping[Kind, Mapping[str, UUID]]

REASON = "imported"
# Fields that a draft copies from a record; endings and promotions are restored later.
_TAKEN_OVER = frozenset(
    """
    text key category confidence valid_from valid_to task pinned review_after expires_at last_verified_at trigger steps
    success_count failure_count last_success_at last_failure_at proposed metadata
    """.split()
)
FACTS_AT_ONCE = 500


@dataclass(slots=True)
class Replay:
    """A running import of screened records; the caller holds the owner's lock."""

    _w: Write
    _ids: Mapping[str, UUID]
    _own: OwnMemories
    _marks: Mapping[str, Mapping[str, str]]
    _advance: Advance
    report: ImportReport

    @property
    def placed(self) -> dict[str, UUID]:
        """Maps the ids of stored records to their memories."""
        return self.report.ids

    @property
    def _principal(self) -> Principal:
        return self._w.principal

    def run(self, beliefs: Sequence[Belief]) -> None:
        """Store `beliefs` in order. Raises InvalidInput naming the place of a record that cannot be stored."""
        gone = forgotten_ids(self._principal)
        fresh = [belief for belief in beliefs if self._is_fresh(belief.record, gone)]
        self._advance(len(beliefs) - len(fresh))
        ungated = alone(self._principal, fresh)
        written = self._insert([belief for belief in fresh if belief.record.id in ungated])
        written += self._replay([belief for belief in fresh if belief.record.id not in ungated])
        for belief in written:
            self._restore(belief.record)

    def _is_fresh(self, record: MemoryRecord, gone: Container[UUID]) -> bool:
        if record.id in self.placed:
            return False
        forgotten = self._ids[record.id] in gone
        self.report.forgotten += forgotten
        return not forgotten

    def _insert(self, beliefs: Sequence[Belief]) -> list[Belief]:
        """Store facts that need no gate, in bulk."""
        for start in range(0, len(beliefs), FACTS_AT_ONCE):
            some = beliefs[start : start + FACTS_AT_ONCE]
            drafts = []
            for belief in some:
                with placed_errors(belief.record):
                    drafts.append(checked(self._fact(belief), self._passed(belief.record)))
                self.placed[belief.record.id] = self._ids[belief.record.id]
            self._insert_facts(drafts)
            self.report.added[Kind.SEMANTIC] += len(some)
            self._advance(len(some))
        return list(beliefs)

    def _insert_facts(self, drafts: Sequence[FactDraft]) -> None:
        episodes = own_episodes(self._principal, {pk for draft in drafts for pk in draft.supporting_episode_ids})
        known = {row.pk: row for row in episodes}
        support = [[known[pk] for pk in draft.supporting_episode_ids] for draft in drafts]
        columns = [owner_columns(self._principal, draft.scope, draft.task) for draft in drafts]
        insert_facts(self._w, drafts, columns, support)

    def _replay(self, beliefs: Sequence[Belief]) -> list[Belief]:
        """Store memories one by one and end each at its time; return those that became new rows."""
        written: list[Belief] = []
        ending: list[tuple[datetime, int, Belief]] = []
        for number, belief in enumerate(beliefs):
            while ending and ending[0][0] <= belief.learned_at:
                self._end(*heapq.heappop(ending))
            with placed_errors(belief.record):
                outcome = self._write(belief)
            self.placed[belief.record.id] = outcome.memory_id
            if outcome.result is WriteResult.MERGED:
                self.report.merged += 1
            else:
                self.report.added[belief.record.kind] += 1
                written.append(belief)
                if belief.ended_at:
                    heapq.heappush(ending, (belief.ended_at, number, belief))
            self._advance(1)
        while ending:
            self._end(*heapq.heappop(ending))
        return written

    def _write(self, belief: Belief) -> WriteOutcome:
        record = belief.record
        if record.kind is Kind.CATALOG:
            return remember_catalog_entry(
                self._principal,
                title=title_of(record),
                text=record.text,
                source_url=record.source_url,
                entry_id=self._ids[record.id],
                screen=self._passed(record),
                metadata=record.metadata,
                app=record.app,
            )
        if equal := self._equal(belief):
            return WriteOutcome(WriteResult.MERGED, record.kind, equal.pk)
        if record.kind is Kind.PROCEDURAL:
            playbook = self._draft(belief, PlaybookDraft, title=title_of(record))
            return store_playbook(self._w, checked(playbook, self._passed(record)))
        __, outcome = write_fact(self._w, checked(self._fact(belief), self._passed(record)))
        return outcome

    def _passed(self, record: MemoryRecord) -> Screen:
        return Passed(self._principal, self._marks.get(record.id, {}))

    def _draft(self, belief: Belief, draft: type[AnyDraft], **own: Any) -> AnyDraft:
        """The draft of a belief: the fields it shares with the record, and those that every import sets."""
        record = belief.record
        taken = {each.name for each in fields(draft)} & _TAKEN_OVER
        return draft(
            **{name: getattr(record, name) for name in taken},
            learned_at=belief.learned_at,
            supersedes_ids=tuple(self._olds(record)),
            scope=scope_of(record),
            memory_id=self._ids[record.id],
            reason=REASON,
            app=record.app or None,
            **own,
        )

    def _fact(self, belief: Belief) -> FactDraft:
        return self._draft(
            belief,
            FactDraft,
            source=belief.record.source or Source.IMPORTED,
            supporting_episode_ids=tuple(self._support(belief.record)),
            # Review and expiry periods start at the import, because the memory could not be confirmed here before.
            dated_from=timezone.now(),
        )

    def _equal(self, belief: Belief) -> Supersedable | None:
        """An equal current memory that this record would not change, so that a repeated import changes nothing.

        An equal playbook keeps its own outcomes, which would otherwise grow with each import.
        """
        record = belief.record
        if record.supersedes:
            return None
        task = clean_text(record.task, field="task", limit=MAX_TASK_CHARACTERS, required=False)
        columns = owner_columns(self._principal, scope_of(record), task)
        rows = model_of(record.kind).objects.in_place(columns)
        same: list[Supersedable] = self._of_app(record, rows.filter(status__in=CURRENT, content_hash=hash_of(record)))
        equal = same[0] if same else self._alike(record, columns)
        if isinstance(equal, Fact) and (has_expired(equal, timezone.now()) or self._gains(equal, belief)):
            return None
        return equal

    def _of_app(self, record: MemoryRecord, rows: Iterable[Any]) -> list[Any]:
        return same_app(self._w, record.app or app_of(self._w), rows)

    def _alike(self, record: MemoryRecord, columns: Mapping[str, UUID | str | None]) -> Supersedable | None:
        if record.kind is Kind.SEMANTIC:
            digest = likeness(record.text)
            known = Fact.objects.in_place(columns).current().filter(likeness=digest) if digest else ()
            return alike_fact(self._of_app(record, known), record.text, record.key)
        parts = (title_of(record), record.trigger, record.text, *record.steps)
        return next(iter(self._of_app(record, alike_playbooks(columns, parts))), None)

    def _gains(self, fact: Fact, belief: Belief) -> bool:
        record = belief.record
        draft = self._fact(belief)
        support = {*draft.supporting_episode_ids} - {*fact.supporting_episodes.values_list("pk", flat=True)}
        return (
            draft.certainty > fact.confidence
            or bool(support)
            or (bool(record.key) and not fact.key)
            or (bool(record.category) and not fact.category)
            or (record.pinned and not fact.pinned)
            or {**fact.metadata, **(record.metadata or {})} != fact.metadata
            or (belief.is_dated and belief.learned_at > max(fact.learned_at, fact.last_verified_at or fact.learned_at))
        )

    def _olds(self, record: MemoryRecord) -> list[UUID]:
        """The memories that the record supersedes, without imported ones that have already been superseded."""
        if not record.supersedes:
            return []
        own = self._own[record.kind]
        in_file = [self.placed[name] for name in record.supersedes if name in self.placed and name not in own]
        rows = model_of(record.kind).objects.of(self._principal).filter(pk__in=in_file, status__in=CURRENT)
        return [*rows.values_list("pk", flat=True), *(own[name] for name in record.supersedes if name in own)]

    def _support(self, record: MemoryRecord) -> list[UUID]:
        own = self._own[Kind.EPISODIC]
        for name in record.supported_by:
            if name not in self._ids and name not in own:
                problem = f"names {without_secrets(name)!r}, neither in the file nor an episode of this member."
                raise InvalidInput("supported_by", problem)
        if not record.supported_by:
            return []
        named = {self.placed.get(name) or own.get(name) for name in record.supported_by} - {None}
        # Episodes that their owner has erased support nothing.
        return list(Episode.objects.of(self._principal).filter(pk__in=named).values_list("pk", flat=True))

    def _end(self, at: datetime, _number: int, belief: Belief) -> None:
        """Retire a belief, unless it has been superseded by then."""
        record = belief.record
        memory_id = self.placed[record.id]
        if not model_of(record.kind).objects.of(self._principal).filter(pk=memory_id, status__in=CURRENT).exists():
            return
        rows = current_rows(self._w, record.kind, [memory_id])
        contradiction = record.contradiction or Contradiction.NATURAL
        ended = close(rows, at=at, valid_to=record.valid_to or at, contradiction=contradiction)
        record_ended(self._w, ended, None, reason=REASON)

    def _restore(self, record: MemoryRecord) -> None:
        """Restore the source's state and ending, as far as the chain allows."""
        if record.kind is Kind.CATALOG or not any(getattr(record, name) for name in RESTORED):
            return
        row: Supersedable = model_of(record.kind).objects.of(self._principal).get(pk=self.placed[record.id])
        before, status = state_of(row), row.status
        restore_state(row, record, self.placed.get)
        if state_of(row) == before:
            return
        row.version += 1
        row.save()
        # A changed status is audited by its own event; other restored columns by `.placed`.
        self._w.audit(f".{row.status}" if row.status != status else ".placed", row, reason=REASON)
        if row.promoted_from:
            self._w.audit(
                f"{AUDIT_NOUN[record.kind]}.promoted",
                target_kind=record.kind.value,
                target_id=row.promoted_from,
                reason=REASON,
                after={"copy": str(row.pk), "scope": str(row.scope)},
            )
        self._w.index(row)


@contextmanager
def placed_errors(record: MemoryRecord) -> Iterator[None]:
    """Raise errors of the block as InvalidInput with the record's place in the source."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(
            record.place, _('"%(field)s" %(reason)s') % {"field": error.field, "reason": error.reason}
        ) from None
    except (NotFound, Conflict) as error:
        raise InvalidInput(record.place, _("cannot be stored. %(error)s") % {"error": error}) from None


def scope_of(record: MemoryRecord) -> Scope:
    """The scope of an imported record: task scope if it names a task, else user scope."""
    return Scope.TASK if record.task else Scope.USER


def title_of(record: MemoryRecord) -> str:
    """The title of a playbook or catalog entry; without one, the first words of its trigger, text or steps."""
    return record.title or title_from(record.trigger or record.text or " ".join(record.steps))


def hash_of(record: MemoryRecord) -> str:
    """The content hash of the memory made from a record."""
    if record.kind is Kind.SEMANTIC:
        return content_hash(record.text)
    if record.kind is Kind.EPISODIC:
        return content_hash(record.text, record.context)
    procedure = (record.trigger, record.text, *record.steps)
    return content_hash(title_of(record), *(procedure if record.kind is Kind.PROCEDURAL else (record.text,)))


SOURCE = "memories"


def import_memories(
    principal: Principal,
    records: Sequence[MemoryRecord],
    *,
    advance: Advance = unwatched,
    leave_changed: bool = False,
    learn: bool | None = None,
) -> ImportReport:
    """Store records for one owner, and catalog records for their tenant, which requires an administrator.

    A record that was imported before is left unchanged, and so is an existing memory of the owner with the same id. A
    record with a blocked value is left out, while conversations are stored with the value masked; so is one that was
    imported with another text, if `leave_changed`. `learn` is for episodes, as in `import_sessions`. Raises
    InvalidInput naming the record's place, Conflict (memory is paused), and Forbidden; then nothing is stored.
    """
    complete = named(records)
    with write(principal) as w:
        w.require_learning(by_hand=False)
        now = timezone.now()
        own = _own_memories(principal, complete)
        ids = {
            record.id: own[record.kind].get(record.id) or _imported_id(principal, record, now) for record in complete
        }
        known, changed = _known(principal, complete, ids)
        if changed and not leave_changed:
            raise InvalidInput(
                changed[0].place,
                _('"id" was imported before with another text; give it a new id, or let it supersede the old.'),
            )
        fit = screened(Screen(principal), complete, known)
        beliefs = in_order_of_belief(
            fit.records, now=now, stored=own[Kind.SEMANTIC].keys() | own[Kind.PROCEDURAL].keys()
        )
        sessions = sessions_of([record for record in fit.records if record.id not in known], now)
        for session in sessions:
            check_session(session)
        report = store_sessions(w, sessions, source=SOURCE, advance=advance, learn=learn)
        report.known += len(known) - len(changed)
        report.changed = tuple(record.place for record in changed)
        report.ids |= known
        report.left_out = fit.left_out
        replay = Replay(w, ids, own, fit.marks, advance, report)
        replay.run([belief for belief in beliefs if belief.record.kind is not Kind.EPISODIC])
        return report


def _own_memories(principal: Principal, records: Sequence[MemoryRecord]) -> OwnMemories:
    """The owner's existing memories that the records name by id, for example after an export of their own."""
    wanted: dict[Kind, set[str]] = {kind: set() for kind in ALL_KINDS}
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
    """The rows that records of a kind go to: the owner's, or the catalog of their tenant."""
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
        return episode_id(principal, owner_id(principal, SOURCE, session_key(record, now), record.id))
    return owner_id(principal, SOURCE, record.kind.value, record.id)


def _known(
    principal: Principal, records: Sequence[MemoryRecord], ids: Mapping[str, UUID]
) -> tuple[dict[str, UUID], list[MemoryRecord]]:
    """The records that are already stored, and those of them that have another text now."""
    stored: dict[UUID, str] = {}
    for kind in ALL_KINDS:
        pks = [ids[record.id] for record in records if record.kind is kind]
        for some in in_statements(pks):
            stored |= dict(_rows(principal, kind).filter(pk__in=some).values_list("pk", "content_hash"))
    known = {record.id: ids[record.id] for record in records if ids[record.id] in stored}
    others = [each for each in records if each.id in known and stored[known[each.id]] != hash_of(each)]
    changed = [
        record for record in others if not is_as_stored(_rows(principal, record.kind).get(pk=known[record.id]), record)
    ]
    return known, changed
