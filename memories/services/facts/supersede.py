"""Supersede, correct and retire memories that are no longer true or never were. Their rows stay as history.

Natural: the fact was true until now. Harsh: it never was, so it is marked `retracted` and its replacement's confidence
is lower by HARSH_PENALTY. Only principals who may write in a shared scope can change its memories
(`write.shared_scopes`); for others these do not exist.

A superseded row can be corrected too. The correction takes its place in the chain at the moment the wrong row ended, so
it was believed at no time: `as_of` still answers with what was believed then, and the row's `created_at` and the audit
log show when the correction came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import HARSH_PENALTY, MAX_MEMORY_CHARACTERS
from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text
from memories.models import Fact, Playbook
from memories.services.facts.closing import (
    Ended,
    Supersedable,
    close,
    current_rows,
    own_row,
    record_ended,
    same_wording,
    snapshot,
)
from memories.services.facts.drafts import FactDraft, checked, draft_of
from memories.services.facts.gates import refuse_junk_fact, refuse_junk_playbook
from memories.services.facts.remember import insert_facts, store_fact
from memories.services.playbooks import insert_playbook, store_playbook
from memories.services.screening import Screen, screened_reason
from memories.services.write import Write, owner_columns, write
from memories.types import CURRENT, Contradiction, Kind, Scope, Source, Status, WriteOutcome, WriteResult
from tenants.principal import Principal


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
    metadata: Mapping[str, Any] | None = None,
) -> WriteOutcome:
    """Replace the facts `old_ids` by one new fact. Natural: they were true until now. Harsh: they never were.

    The new fact takes the scope, task, category and (unless given) the key and metadata of the first, and its app;
    all must be of one scope and task. Raises InvalidInput, NotFound, Conflict, Forbidden;
    then none is replaced.
    """
    if not old_ids:
        raise InvalidInput("old_ids", _("name at least one fact to replace."))
    # Screened before the lock, because suspicious values may need a model call.
    screen = Screen(principal)
    screen.memory({"text": text, "key": key or "", "reason": reason})
    screen.metadata(metadata or {})
    draft = FactDraft(
        text=text,
        key=key or "",
        source=source,
        valid_from=valid_from,
        supporting_episode_ids=supporting_episode_ids,
        contradiction=contradiction,
        reason=reason,
    )
    with write(principal) as w:
        olds = current_rows(w, Kind.SEMANTIC, old_ids, shared=True)
        return _replace(w, olds, draft, screen, key=key, metadata=metadata)


def correct(
    principal: Principal,
    *,
    kind: Kind,
    memory_id: UUID,
    text: str,
    reason: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> WriteOutcome:
    """Correct a wrong memory: a harsh supersession that keeps key, category, title and trigger.

    It also keeps the app and, without `metadata`, the metadata.

    A superseded fact is corrected at its position in the history. For a playbook `text` holds the steps, one per line.
    Raises InvalidInput, NotFound, Conflict, Forbidden.
    """
    screen = Screen(principal)
    screen.memory({"text": text, "reason": reason})
    screen.metadata(metadata or {})
    reason = reason or "corrected"
    with write(principal) as w:
        old = own_row(w, kind, memory_id, shared=True)
        if old.status == Status.SUPERSEDED:
            return _correct_past(w, old, text, screen, reason=reason, changes=_changes(old, metadata))
        if old.status not in CURRENT:
            raise Conflict(_("This memory expired and was removed; restore it first."))
        if isinstance(old, Fact):
            draft = FactDraft(text=text, contradiction=Contradiction.HARSH, reason=reason)
            return _replace(w, [old], draft, screen, key=None, metadata=metadata)
        draft = draft_of(
            old,
            learned_at=timezone.now(),
            reason=reason,
            steps=_steps_of(old, text),
            supersedes_ids=[old.pk],
            contradiction=Contradiction.HARSH,
            success_count=0,
            failure_count=0,
            last_success_at=None,
            last_failure_at=None,
            proposed=False,
            **_changes(old, metadata),
        )
        if old.scope != Scope.USER:
            _require_scope(w, old)
        draft = checked(draft, screen)
        refuse_junk_playbook(principal, draft)
        return store_playbook(w, draft, [old])


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
    """End memories without a replacement, because they are no longer true (harsh: never were); all of them, or none.

    They stay in the history, hidden from recall. `at` is when this was said, `valid_to` when they stopped being true;
    both default to now. Raises InvalidInput, NotFound, Conflict, Forbidden.
    """
    reason = screened_reason(principal, reason)
    for field, moment in (("valid_to", valid_to), ("at", at)):
        if moment is not None and timezone.is_naive(moment):
            raise InvalidInput(field, _("needs a time zone."))
    with write(principal) as w:
        rows = current_rows(w, kind, [memory_id, *also_ids], shared=True)
        said_at = at or timezone.now()
        ended = close(rows, at=said_at, valid_to=valid_to or said_at, contradiction=contradiction)
        record_ended(w, ended, None, reason=reason or "retired")
        return WriteOutcome(WriteResult.SUPERSEDED, kind, memory_id, tuple(row.pk for row in rows), reason)


def _replace(
    w: Write,
    olds: Sequence[Supersedable],
    draft: FactDraft,
    screen: Screen,
    *,
    key: str | None,
    metadata: Mapping[str, Any] | None,
) -> WriteOutcome:
    """Store the draft in place of these current facts. Without `key` or `metadata` it takes those of the first."""
    facts = [row for row in olds if isinstance(row, Fact)]
    if any(same_wording(row.text, draft.text) for row in facts):
        raise InvalidInput("text", _("says the same as what it should replace; change the wording or leave it."))
    first = facts[0]
    _require_scope(w, first)
    draft = checked(
        replace(
            draft,
            key=first.key if key is None else key,
            category=first.category,
            scope=Scope(first.scope),
            task=first.task or "",
            pinned=any(row.pinned for row in facts),
            supersedes_ids=[row.pk for row in facts],
            **_changes(first, metadata),
        ),
        screen,
    )
    refuse_junk_fact(w.principal, draft)
    return store_fact(w, draft, facts)


def _changes(old: Supersedable, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The metadata and app of the successor of `old`."""
    return {"metadata": old.metadata if metadata is None else metadata, "app": old.app}


def _require_scope(w: Write, row: Supersedable) -> None:
    """Raise Forbidden unless the principal may write in the row's scope. Locks the tenant for a shared row."""
    with write(w.principal, Scope(row.scope)):
        return


def _correct_past(
    w: Write, old: Supersedable, text: str, screen: Screen, *, reason: str, changes: Mapping[str, Any]
) -> WriteOutcome:
    """Retract a superseded row and insert the correction between it and its successor.

    Raises InvalidInput, Conflict (it is marked as wrong already).
    """
    if old.retracted:
        raise Conflict(_("This memory was marked as wrong already; correct the current one in its history."))
    if old.superseded_at is None:
        raise Conflict(_("This memory is current; correct it directly."))
    successor = own_row(w, old.kind, old.superseded_by_id, shared=True) if old.superseded_by_id else None
    columns = {
        **owner_columns(w.principal, Scope(old.scope), old.task or ""),
        "status": Status.SUPERSEDED,
        "superseded_at": old.superseded_at,
        "contradiction": old.contradiction or Contradiction.NATURAL,
    }
    shared: dict[str, object] = {"contradiction": Contradiction.HARSH, **changes}
    right: Supersedable
    if isinstance(old, Fact):
        clean_text(text, field="text", limit=MAX_MEMORY_CHARACTERS)
        if same_wording(old.text, text):
            raise InvalidInput("text", _("says the same as what it should replace; change the wording or leave it."))
        corrected = {"text": text, "source": Source.USER_STATED, "confidence": None, "penalty": HARSH_PENALTY}
        draft = draft_of(old, learned_at=old.superseded_at, reason=reason, **shared | corrected)
        (right,) = insert_facts(w, [checked(draft, screen)], [columns], [()])
    else:
        # The outcomes of the corrected steps are unknown.
        counts = {"success_count": 0, "failure_count": 0, "last_success_at": None, "last_failure_at": None}
        steps = {"steps": _steps_of(old, text), "proposed": False}
        draft = draft_of(old, learned_at=old.superseded_at, reason=reason, **shared | counts | steps)
        right = insert_playbook(w, columns, checked(draft, screen))
    ended = Ended(old, snapshot(old))
    old.contradiction = Contradiction.HARSH
    old.retracted = True
    old.superseded_by_id = right.pk
    old.version += 1
    old.save(update_fields=["contradiction", "retracted", "superseded_by", "version", "updated_at"])
    record_ended(w, [ended], right, reason=reason)
    record_ended(w, [Ended(right)], successor, reason=reason)
    return WriteOutcome(WriteResult.SUPERSEDED, old.kind, right.pk, (old.pk,), reason)


def _steps_of(playbook: Playbook, text: str) -> tuple[str, ...]:
    """The steps of a correction, one per line. Raises InvalidInput if they equal the playbook's steps."""
    steps = tuple(line.strip() for line in text.splitlines() if line.strip())
    if steps == tuple(playbook.steps):
        raise InvalidInput("text", _("these are the same steps; change them or leave them."))
    return steps
