"""Correcting the past: what was replaced already turns out to have been wrong even while it was believed.

Invariant: what was believed when stays as it was. The corrected row takes its place in the chain at the moment when the
wrong one ended, so it was believed at no time: `as_of` goes on answering with what was believed, and the row's
`created_at` and the audit say when the correction came.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from memories.constants import HARSH_PENALTY, MAX_MEMORY_CHARACTERS
from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text
from memories.models import Fact, Playbook
from memories.services import fact_draft, playbook_draft
from memories.services.fact_draft import FactDraft, checked_fact
from memories.services.facts import create_fact
from memories.services.ownership import owner_columns
from memories.services.playbook_draft import PlaybookDraft, checked_playbook
from memories.services.playbooks import create_playbook
from memories.services.screening import Screen
from memories.services.succession import Supersedable, link, own_row, same_wording, snapshot
from memories.types import (
    CONFIDENCE_OF_SOURCE,
    Contradiction,
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
    return fact_draft.draft_of(
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
    return playbook_draft.draft_of(
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
