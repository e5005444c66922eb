"""Playbooks: store what works. The same procedure again merges its outcomes; a changed one is a new version.

Invariant: an owner has one current playbook for each wording of title, trigger and steps, and for what only says the
same in other words.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypedDict, Unpack
from uuid import UUID

from django.utils import timezone

from memories.consolidation.rules import likeness
from memories.models import Playbook
from memories.services.facts.closing import (
    Supersedable,
    close,
    current_rows,
    record_ended,
    require_place,
    snapshot,
)
from memories.services.facts.drafts import PlaybookDraft, checked
from memories.services.facts.duplicates import IN_OTHER_WORDS, alike_playbook
from memories.services.facts.junk import refuse_junk_playbook
from memories.services.ownership import SHARED, own_episodes, owner_columns
from memories.services.screening import Screen
from memories.services.write import Write, write
from memories.types import Contradiction, Kind, Scope, WriteOutcome, WriteResult
from tenants.principal import Principal


class PlaybookDetails(TypedDict, total=False):
    """What `remember_playbook` takes besides the title; see `PlaybookDraft`."""

    trigger: str
    steps: Sequence[str]
    text: str
    category: str
    supporting_episode_ids: Sequence[UUID]
    supersedes_ids: Sequence[UUID]
    contradiction: Contradiction
    success_count: int
    failure_count: int
    last_success_at: datetime | None
    last_failure_at: datetime | None
    scope: Scope
    task: str
    reason: str


def remember_playbook(
    principal: Principal,
    *,
    title: str,
    learned_at: datetime | None = None,
    playbook_id: UUID | None = None,
    **details: Unpack[PlaybookDetails],
) -> WriteOutcome:
    """Store a playbook: created, merged into an equal one, or superseding `supersedes_ids`.

    It needs a title, and steps or a text. Raises InvalidInput, NotFound, Conflict, Blocked, Forbidden; nothing is
    stored then.
    """
    draft = PlaybookDraft(title=title, learned_at=learned_at or timezone.now(), memory_id=playbook_id, **details)
    draft = checked(draft, Screen(principal))
    refuse_junk_playbook(principal, draft)
    with write(principal, draft.scope) as w:
        return store_playbook(w, draft)


def store_playbook(w: Write, draft: PlaybookDraft, named: Sequence[Supersedable] | None = None) -> WriteOutcome:
    """Pass a checked draft through the gates (hash, then likeness) and write it.

    `named` are the current rows of `supersedes_ids`, if the caller has read them.
    """
    place = owner_columns(w.principal, draft.scope, draft.task)
    rows = Playbook.objects.in_place(place)
    if draft.memory_id and rows.filter(pk=draft.memory_id).exists():
        return WriteOutcome(WriteResult.MERGED, Kind.PROCEDURAL, draft.memory_id, reason="It is stored already.")
    support = own_episodes(w.principal, draft.supporting_episode_ids)
    equal = rows.current().filter(content_hash=draft.content_hash).first()
    if equal is None:
        equal = alike_playbook(place, draft.parts, not_ids=draft.supersedes_ids)
        draft = replace(draft, reason=draft.reason or IN_OTHER_WORDS) if equal else draft
    if named is None:
        named = current_rows(w, Kind.PROCEDURAL, draft.supersedes_ids, shared=draft.scope in SHARED)
    replaced = [row for row in named if row != equal]
    require_place(replaced, draft.scope, draft.task)
    draft = replace(draft, memory_id=draft.memory_id or uuid.uuid4())
    ended = close(
        replaced,
        at=draft.learned_at,
        valid_to=draft.learned_at,
        contradiction=draft.contradiction,
        successor_id=equal.pk if equal else draft.memory_id,
    )
    if equal is not None:
        playbook, result = _merge(w, equal, draft), WriteResult.MERGED
    else:
        playbook = insert_playbook(w, place, draft)
        result = WriteResult.SUPERSEDED if replaced else WriteResult.CREATED
    if support:
        playbook.supporting_episodes.add(*support)
    record_ended(w, ended, playbook, reason=draft.reason)
    return WriteOutcome(result, Kind.PROCEDURAL, playbook.pk, tuple(row.pk for row in replaced), draft.reason)


def insert_playbook(w: Write, columns: Mapping[str, object], draft: PlaybookDraft) -> Playbook:
    """Store a checked draft past the gates; `columns` say whose it is (`owner_columns`) and may override the draft."""
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
    playbook = Playbook(pk=draft.memory_id or uuid.uuid4(), **values | dict(columns))
    playbook.save(force_insert=True)
    w.audit(".created", playbook, reason=draft.reason, after=snapshot(playbook))
    w.index(playbook)
    return playbook


def _merge(w: Write, playbook: Playbook, draft: PlaybookDraft) -> Playbook:
    """Add the outcomes of an equal procedure; the older wording stays."""
    before = snapshot(playbook)
    playbook.success_count += draft.success_count
    playbook.failure_count += draft.failure_count
    playbook.last_success_at = _later(playbook.last_success_at, draft.last_success_at)
    playbook.last_failure_at = _later(playbook.last_failure_at, draft.last_failure_at)
    playbook.version += 1
    playbook.save()
    said_in = {"told_in": [str(pk) for pk in dict.fromkeys(draft.supporting_episode_ids)]}
    w.audit(".merged", playbook, reason=draft.reason, before=before, after=snapshot(playbook) | said_in)
    w.index(playbook)
    return playbook


def _later(left: datetime | None, right: datetime | None) -> datetime | None:
    return max(filter(None, (left, right)), default=None)
