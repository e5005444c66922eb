"""Playbooks: store what works. The same procedure again merges its outcomes; a changed one is a new version.

Invariant: an owner has one current playbook for each wording of title, trigger and steps, and for what only says the
same in other words.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.consolidation.rules import likeness
from memories.models import Playbook
from memories.search.outbox import enqueue
from memories.selectors.history.row_record import record_of
from memories.services.facts.closing import close, current_rows, link, require_place, snapshot
from memories.services.facts.drafts import PlaybookDraft, checked_playbook
from memories.services.facts.duplicates import IN_OTHER_WORDS, alike_playbook
from memories.services.facts.junk import refuse_junk_playbook
from memories.services.ownership import SHARED, own_episodes, owner_columns, owner_lock
from memories.services.screening import Screen
from memories.types import Contradiction, Kind, Scope, WriteOutcome, WriteResult
from tenants.audit.chain import record_event
from tenants.principal import Principal


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

    It needs a title, and steps or a text. Raises InvalidInput, NotFound, Conflict, Blocked, Forbidden; nothing is
    stored then.
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
        ),
        Screen(principal),
    )
    refuse_junk_playbook(principal, draft)
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
        "sensitivity": dict(draft.sensitivity),
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
        row=record_of(playbook),
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
        row=record_of(playbook),
    )
    enqueue(playbook)
    return playbook


def _later(left: datetime | None, right: datetime | None) -> datetime | None:
    return max(filter(None, (left, right)), default=None)
