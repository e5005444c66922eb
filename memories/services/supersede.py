"""Supersede, correct and retire: a memory that is no longer (or never was) true stays, hidden, with its chain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.constants import MAX_TITLE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.text import clean_text
from memories.models import Fact, Playbook
from memories.services.facts import remember_fact
from memories.services.ownership import owner_lock
from memories.services.playbooks import remember_playbook
from memories.services.succession import close, current_rows, link, same_wording
from memories.types import Contradiction, Kind, Source, WriteOutcome, WriteResult
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
) -> WriteOutcome:
    """Replace the facts `old_ids` by one new fact. Natural: they were true until now; harsh: they never were.

    The new fact takes the key and category of the first of them unless `key` is given. Raises InvalidInput, NotFound,
    Conflict, Forbidden.
    """
    if not old_ids:
        raise InvalidInput("old_ids", "name at least one fact to replace.")
    with owner_lock(principal):
        first, *_ = olds = current_rows(principal, Kind.SEMANTIC, old_ids)
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
            pinned=any(isinstance(row, Fact) and row.pinned for row in olds),
            reason=reason,
        )


def correct(principal: Principal, *, kind: Kind, memory_id: UUID, text: str, reason: str = "") -> WriteOutcome:
    """Say that a memory was wrong and what is right: a harsh supersession that keeps key, category, title and trigger.

    For a playbook `text` holds the steps, one a line. Raises InvalidInput, NotFound, Conflict, Forbidden.
    """
    if kind is Kind.SEMANTIC:
        return supersede(
            principal, old_ids=[memory_id], text=text, contradiction=Contradiction.HARSH, reason=reason or "corrected"
        )
    with owner_lock(principal):
        (old,) = current_rows(principal, kind, [memory_id])
        if not isinstance(old, Playbook):
            raise InvalidInput("kind", "only facts and playbooks can be corrected.")
        steps = [line.strip() for line in text.splitlines() if line.strip()]
        if steps == list(old.steps):
            raise InvalidInput("text", "these are the same steps; change them or leave them.")
        return remember_playbook(
            principal,
            title=old.title,
            trigger=old.trigger,
            steps=steps,
            text=old.text,
            category=old.category,
            supersedes_ids=[memory_id],
            contradiction=Contradiction.HARSH,
            reason=reason or "corrected",
        )


def retire(principal: Principal, *, kind: Kind, memory_id: UUID, reason: str = "") -> WriteOutcome:
    """Say that a memory is no longer true and nothing takes its place. It stays in the history, hidden from recall."""
    clean_text(reason, field="reason", limit=MAX_TITLE_CHARACTERS, required=False)
    with owner_lock(principal):
        rows = current_rows(principal, kind, [memory_id])
        now = timezone.now()
        close(rows, at=now, valid_to=now, contradiction=Contradiction.NATURAL)
        link(principal, rows, None, reason=reason or "retired")
        return WriteOutcome(WriteResult.SUPERSEDED, kind, memory_id, (memory_id,), reason)


def _key(row: Fact | Playbook) -> str:
    return row.key if isinstance(row, Fact) else ""
