"""Supersede, correct and retire: a memory that is no longer (or never was) true stays, hidden, with its chain.

Natural: it was true until now. Harsh: it never was, so it is marked `retracted`, and what takes its place is believed
less by HARSH_PENALTY: who was told wrong once may be told wrong again. What is shared is changed by those who may write
there (`ownership.shared_scopes`); to everybody else it is a memory that does not exist.

Correcting the past: what was replaced already turns out to have been wrong even while it was believed.

Invariant: what was believed when stays as it was. The corrected row takes its place in the chain at the moment when the
wrong one ended, so it was believed at no time: `as_of` goes on answering with what was believed, and the row's
`created_at` and the audit say when the correction came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.constants import HARSH_PENALTY, MAX_MEMORY_CHARACTERS
from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text
from memories.models import Fact, Playbook
from memories.services.facts import drafts
from memories.services.facts.closing import Supersedable, close, current_rows, link, own_row, same_wording, snapshot
from memories.services.facts.drafts import FactDraft, PlaybookDraft, checked_fact, checked_playbook
from memories.services.facts.remember import create_fact, remember_fact
from memories.services.ownership import owner_columns, owner_lock
from memories.services.playbooks import create_playbook, remember_playbook
from memories.services.screening import Screen, noted_after, screened_reason
from memories.types import (
    CONFIDENCE_OF_SOURCE,
    Contradiction,
    Kind,
    Scope,
    Source,
    Status,
    WriteOutcome,
    WriteResult,
)
from tenants.principal import Principal


def correct_past(principal: Principal, old: Supersedable, *, text: str, reason: str) -> WriteOutcome:
    """Retract a superseded row and insert what is right between it and its successor; the caller holds the lock.

    Raises InvalidInput, Conflict (it was found to be wrong already).
    """
    if old.retracted:
        raise Conflict("It was marked as wrong already; look at its history and correct what took its place.")
    if old.superseded_at is None:
        raise Conflict("It is believed; correct it as it stands.")
    successor = own_row(principal, old.kind, old.superseded_by_id, shared=True) if old.superseded_by_id else None
    columns = {
        **owner_columns(principal, Scope(old.scope), old.task or ""),
        "status": Status.SUPERSEDED,
        "learned_at": old.superseded_at,
        "superseded_at": old.superseded_at,
        "contradiction": old.contradiction or Contradiction.NATURAL,
    }
    right = _write(principal, old, text, columns, reason)
    old.as_it_was = snapshot(old)
    old.contradiction = Contradiction.HARSH
    old.retracted = True
    old.version += 1
    old.save(update_fields=["contradiction", "retracted", "version", "updated_at"])
    link(principal, [old], right, reason=reason)
    link(principal, [right], successor, reason=reason)
    return WriteOutcome(WriteResult.SUPERSEDED, old.kind, right.pk, (old.pk,), reason)


def steps_of(playbook: Playbook, text: str) -> list[str]:
    """The steps of a correction, one a line. Raises InvalidInput if they are those that the playbook has."""
    steps = [line.strip() for line in text.splitlines() if line.strip()]
    if steps == list(playbook.steps):
        raise InvalidInput("text", "these are the same steps; change them or leave them.")
    return steps


def _write(
    principal: Principal, old: Supersedable, text: str, columns: Mapping[str, object], reason: str
) -> Supersedable:
    if isinstance(old, Fact):
        clean_text(text, field="text", limit=MAX_MEMORY_CHARACTERS)
        if same_wording(old.text, text):
            raise InvalidInput("text", "says the same as what it should replace; change the wording or leave it.")
        return create_fact(principal, columns, checked_fact(_fact(old, text, reason), Screen(principal)), [])
    return create_playbook(principal, columns, checked_playbook(_playbook(old, text, reason), Screen(principal)))


def _fact(old: Fact, text: str, reason: str) -> FactDraft:
    """What was true instead, for as long as the wrong one was thought to be."""
    return drafts.fact_draft_of(
        old,
        learned_at=_ended(old),
        reason=reason,
        text=text,
        source=Source.USER_STATED,
        confidence=CONFIDENCE_OF_SOURCE[Source.USER_STATED],
        contradiction=Contradiction.HARSH,
        penalty=HARSH_PENALTY,
    )


def _playbook(old: Playbook, text: str, reason: str) -> PlaybookDraft:
    """The steps as they should have been; how often they worked is not known."""
    return drafts.playbook_draft_of(
        old,
        learned_at=_ended(old),
        reason=reason,
        steps=tuple(steps_of(old, text)),
        contradiction=Contradiction.HARSH,
        success_count=0,
        failure_count=0,
        last_success_at=None,
        last_failure_at=None,
    )


def _ended(old: Supersedable) -> datetime:
    return old.superseded_at or old.learned_at


def supersede(
    principal: Principal,
    *,
    old_ids: Sequence[UUID],
    text: str,
    contradiction: Contradiction = Contradiction.NATURAL,
    key: str | None = None,
    valid_from: datetime | None = None,
    supporting_episode_ids: Sequence[UUID] = (),
    source: Source = Source.USER_STATED,
    reason: str = "",
) -> WriteOutcome:
    """Replace the facts `old_ids` by one new fact. Natural: they were true until now; harsh: they never were.

    The new fact takes the scope, task, category and (unless `key` is given) the key of the first of them; all must be
    of one scope and task. Raises InvalidInput, NotFound, Conflict, Forbidden; then none of them is replaced.
    """
    if not old_ids:
        raise InvalidInput("old_ids", "name at least one fact to replace.")
    # Also before the lock: what is only suspicious is put before a model, which is never waited for while one is held.
    Screen(principal).memory({"text": text, "key": key or "", "reason": reason})
    with noted_after(principal), owner_lock(principal):
        return _replace(
            principal,
            old_ids,
            text=text,
            contradiction=contradiction,
            key=key,
            valid_from=valid_from,
            supporting_episode_ids=supporting_episode_ids,
            source=source,
            reason=reason,
        )


def correct(principal: Principal, *, kind: Kind, memory_id: UUID, text: str, reason: str = "") -> WriteOutcome:
    """Say that a memory was wrong and what is right: a harsh supersession that keeps key, category, title and trigger.

    One that was replaced already is corrected where it stands in the history (`corrections.correct_past`). For a
    playbook `text` holds the steps, one a line. Raises InvalidInput, NotFound, Conflict, Forbidden.
    """
    # As above: what names the text is known under the lock, and what is suspicious is asked about before it.
    Screen(principal).memory({"text": text, "reason": reason})
    with noted_after(principal), owner_lock(principal):
        old = own_row(principal, kind, memory_id, shared=True)
        if old.status == Status.SUPERSEDED:
            return correct_past(principal, old, text=text, reason=reason or "corrected")
        if isinstance(old, Fact):
            return _replace(
                principal, [memory_id], text=text, contradiction=Contradiction.HARSH, reason=reason or "corrected"
            )
        return remember_playbook(
            principal,
            title=old.title,
            trigger=old.trigger,
            steps=steps_of(old, text),
            text=old.text,
            category=old.category,
            supersedes_ids=[memory_id],
            contradiction=Contradiction.HARSH,
            scope=Scope(old.scope),
            task=old.task or "",
            reason=reason or "corrected",
        )


def retire(
    principal: Principal,
    *,
    kind: Kind,
    memory_id: UUID,
    also_ids: Sequence[UUID] = (),
    contradiction: Contradiction = Contradiction.NATURAL,
    valid_to: datetime | None = None,
    at: datetime | None = None,
    reason: str = "",
) -> WriteOutcome:
    """Say that memories are no longer true (harsh: never were) and nothing takes their place; all of them, or none.

    They stay in the history, hidden from recall. `at` is when that was said, `valid_to` when they stopped being true,
    if not now. Raises InvalidInput, NotFound, Conflict, Forbidden.
    """
    reason = screened_reason(principal, reason)
    for field, moment in (("valid_to", valid_to), ("at", at)):
        if moment is not None and timezone.is_naive(moment):
            raise InvalidInput(field, "needs a time zone.")
    with owner_lock(principal):
        rows = current_rows(principal, kind, [memory_id, *also_ids], shared=True)
        said_at = at or timezone.now()
        close(rows, at=said_at, valid_to=valid_to or said_at, contradiction=contradiction)
        link(principal, rows, None, reason=reason or "retired")
        return WriteOutcome(WriteResult.SUPERSEDED, kind, memory_id, tuple(row.pk for row in rows), reason)


def _replace(
    principal: Principal,
    old_ids: Sequence[UUID],
    *,
    text: str,
    contradiction: Contradiction,
    reason: str,
    key: str | None = None,
    valid_from: datetime | None = None,
    supporting_episode_ids: Sequence[UUID] = (),
    source: Source = Source.USER_STATED,
) -> WriteOutcome:
    """One new fact for these; the caller holds the owner's lock, and notes what is refused."""
    first, *_ = olds = current_rows(principal, Kind.SEMANTIC, old_ids, shared=True)
    if any(same_wording(row.text, text) for row in olds):
        raise InvalidInput("text", "says the same as what it should replace; change the wording or leave it.")
    return remember_fact(
        principal,
        text=text,
        key=_key(first) if key is None else key,
        category=first.category,
        source=source,
        valid_from=valid_from,
        supporting_episode_ids=supporting_episode_ids,
        supersedes_ids=old_ids,
        contradiction=contradiction,
        scope=Scope(first.scope),
        task=first.task or "",
        pinned=any(isinstance(row, Fact) and row.pinned for row in olds),
        reason=reason,
    )


def _key(row: Fact | Playbook) -> str:
    return row.key if isinstance(row, Fact) else ""
