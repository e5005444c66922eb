"""Playbooks: store what works. The same procedure again merges its outcomes; a changed one is a new version.

Invariant: an owner has one current playbook for each wording of title, trigger and steps, and for what only says the
same in other words.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from memories.constants import MAX_KEY_CHARACTERS, MAX_MEMORY_CHARACTERS, MAX_STEPS, MAX_TITLE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.dedup import likeness
from memories.hygiene.text import clean_text, content_hash
from memories.models import Playbook
from memories.search.outbox import enqueue
from memories.services.duplicates import IN_OTHER_WORDS, alike_playbook
from memories.services.ownership import SHARED, own_episodes, owner_columns, owner_lock
from memories.services.succession import close, current_rows, link, require_place, snapshot
from memories.types import Contradiction, Kind, Scope, WriteOutcome, WriteResult
from tenants.audit import record_event
from tenants.principal import Principal


@dataclass(frozen=True, slots=True)
class PlaybookDraft:
    """A playbook to store; outcomes are what is known of it so far."""

    title: str
    trigger: str
    steps: tuple[str, ...]
    text: str
    category: str
    supersedes_ids: tuple[UUID, ...]
    contradiction: Contradiction
    success_count: int
    failure_count: int
    last_success_at: datetime | None
    last_failure_at: datetime | None
    learned_at: datetime
    scope: Scope
    task: str
    playbook_id: UUID | None
    reason: str
    supporting_episode_ids: tuple[UUID, ...] = ()
    promoted_from: UUID | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """What a person would call the same procedure: the gates look at these."""
        return (self.title, self.trigger, self.text, *self.steps)

    @property
    def content_hash(self) -> str:
        """For the hash gate."""
        return content_hash(*self.parts)


def draft_of(row: Playbook, *, learned_at: datetime, reason: str, **changes: Any) -> PlaybookDraft:
    """`row` as it is told, to be stored once more in its place with these changes; its record comes along."""
    draft = PlaybookDraft(
        title=row.title,
        trigger=row.trigger,
        steps=tuple(row.steps),
        text=row.text,
        category=row.category,
        supersedes_ids=(),
        contradiction=Contradiction.NATURAL,
        success_count=row.success_count,
        failure_count=row.failure_count,
        last_success_at=row.last_success_at,
        last_failure_at=row.last_failure_at,
        learned_at=learned_at,
        scope=Scope(row.scope),
        task=row.task or "",
        playbook_id=None,
        reason=reason,
    )
    return replace(draft, **changes)


def remember_playbook(
    principal: Principal,
    *,
    title: str,
    trigger: str = "",
    steps: Sequence[str] = (),
    text: str = "",
    category: str = "",
    supporting_episode_ids: Sequence[UUID] = (),
    supersedes_ids: Sequence[UUID] = (),
    contradiction: Contradiction = Contradiction.NATURAL,
    success_count: int = 0,
    failure_count: int = 0,
    last_success_at: datetime | None = None,
    last_failure_at: datetime | None = None,
    learned_at: datetime | None = None,
    scope: Scope = Scope.USER,
    task: str = "",
    playbook_id: UUID | None = None,
    reason: str = "",
) -> WriteOutcome:
    """Store a playbook: created, merged into an equal one, or superseding `supersedes_ids`.

    It needs a title, and steps or a text. Raises InvalidInput, NotFound, Conflict, Forbidden; nothing is stored then.
    """
    draft = checked_playbook(
        PlaybookDraft(
            title=title,
            trigger=trigger,
            steps=tuple(steps),
            text=text,
            category=category,
            supersedes_ids=tuple(dict.fromkeys(supersedes_ids)),
            contradiction=contradiction,
            success_count=success_count,
            failure_count=failure_count,
            last_success_at=last_success_at,
            last_failure_at=last_failure_at,
            learned_at=learned_at or timezone.now(),
            scope=scope,
            task=task,
            playbook_id=playbook_id,
            reason=reason,
            supporting_episode_ids=tuple(dict.fromkeys(supporting_episode_ids)),
        )
    )
    with owner_lock(principal, scope):
        return write_playbook(principal, draft)


def write_playbook(principal: Principal, draft: PlaybookDraft) -> WriteOutcome:
    """Pass the gates (hash, then likeness) and write; the caller holds the owner's lock and has checked the draft."""
    columns = owner_columns(principal, draft.scope, draft.task)
    if draft.playbook_id and Playbook.objects.filter(**columns, pk=draft.playbook_id).exists():
        return WriteOutcome(WriteResult.MERGED, Kind.PROCEDURAL, draft.playbook_id, reason="It is stored already.")
    support = own_episodes(principal, draft.supporting_episode_ids)
    equal = Playbook.objects.filter(**columns).current().filter(content_hash=draft.content_hash).first()
    if equal is None:
        equal = alike_playbook(columns, draft.parts, not_ids=draft.supersedes_ids)
        draft = replace(draft, reason=draft.reason or IN_OTHER_WORDS) if equal else draft
    named = current_rows(principal, Kind.PROCEDURAL, draft.supersedes_ids, shared=draft.scope in SHARED)
    replaced = [row for row in named if row != equal]
    require_place(replaced, draft.scope, draft.task)
    close(replaced, at=draft.learned_at, valid_to=draft.learned_at, contradiction=draft.contradiction)
    if equal is not None:
        playbook, result = _merge(principal, equal, draft), WriteResult.MERGED
    else:
        playbook = create_playbook(principal, columns, draft)
        result = WriteResult.SUPERSEDED if replaced else WriteResult.CREATED
    if support:
        playbook.supporting_episodes.add(*support)
    link(principal, replaced, playbook, reason=draft.reason)
    return WriteOutcome(result, Kind.PROCEDURAL, playbook.pk, tuple(row.pk for row in replaced), draft.reason)


def checked_playbook(draft: PlaybookDraft) -> PlaybookDraft:
    """`draft`, or InvalidInput naming what of it cannot be stored."""
    clean_text(draft.title, field="title", limit=MAX_TITLE_CHARACTERS)
    clean_text(draft.trigger, field="trigger", limit=MAX_MEMORY_CHARACTERS, required=False)
    clean_text(draft.text, field="text", limit=MAX_MEMORY_CHARACTERS, required=not draft.steps)
    clean_text(draft.category, field="category", limit=MAX_KEY_CHARACTERS, required=False)
    clean_text(draft.reason, field="reason", limit=MAX_TITLE_CHARACTERS, required=False)
    clean_text(draft.task, field="task", limit=64, required=False)
    check_steps(draft.steps)
    if draft.success_count < 0 or draft.failure_count < 0:
        raise InvalidInput("success_count", "counts cannot be negative.")
    for field in ("learned_at", "last_success_at", "last_failure_at"):
        value: datetime | None = getattr(draft, field)
        if value is not None and timezone.is_naive(value):
            raise InvalidInput(field, "needs a time zone.")
    return draft


def check_steps(steps: Sequence[str]) -> None:
    """Raise InvalidInput if `steps` cannot be stored."""
    if len(steps) > MAX_STEPS:
        raise InvalidInput("steps", f"has {len(steps)} steps; at most {MAX_STEPS} are allowed.")
    for step in steps:
        clean_text(step, field="steps", limit=MAX_MEMORY_CHARACTERS)


def create_playbook(principal: Principal, columns: Mapping[str, object], draft: PlaybookDraft) -> Playbook:
    """Store a checked draft past the gate; the caller holds the owner's lock and has seen to what the gate sees to.

    `columns` say whose it is (`owner_columns`) and may override the draft.
    """
    values: dict[str, object] = {
        "title": draft.title,
        "trigger": draft.trigger,
        "steps": list(draft.steps),
        "text": draft.text,
        "content_hash": draft.content_hash,
        "likeness": likeness(*draft.parts),
        "category": draft.category,
        "success_count": draft.success_count,
        "failure_count": draft.failure_count,
        "last_success_at": draft.last_success_at,
        "last_failure_at": draft.last_failure_at,
        "learned_at": draft.learned_at,
        "promoted_from": draft.promoted_from,
    }
    playbook = Playbook(pk=draft.playbook_id or uuid.uuid4(), **values | dict(columns))
    playbook.save(force_insert=True)
    record_event(
        principal,
        action="playbook.created",
        target_kind=Kind.PROCEDURAL.value,
        target_id=playbook.pk,
        reason=draft.reason,
        after=snapshot(playbook),
    )
    enqueue(playbook)
    return playbook


def _merge(principal: Principal, playbook: Playbook, draft: PlaybookDraft) -> Playbook:
    """Add the outcomes of an equal procedure; the older wording stays."""
    before = snapshot(playbook)
    playbook.success_count += draft.success_count
    playbook.failure_count += draft.failure_count
    playbook.last_success_at = _later(playbook.last_success_at, draft.last_success_at)
    playbook.last_failure_at = _later(playbook.last_failure_at, draft.last_failure_at)
    playbook.version += 1
    playbook.save()
    record_event(
        principal,
        action="playbook.merged",
        target_kind=Kind.PROCEDURAL.value,
        target_id=playbook.pk,
        reason=draft.reason,
        before=before,
        after=snapshot(playbook) | {"told_in": list(map(str, draft.supporting_episode_ids))},
    )
    enqueue(playbook)
    return playbook


def _later(left: datetime | None, right: datetime | None) -> datetime | None:
    return max(filter(None, (left, right)), default=None)
