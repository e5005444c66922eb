"""Playbooks: store procedures and count their outcomes.

An equal procedure merges its outcomes; a changed one becomes a new version. An owner has one current playbook per text
of title, trigger and steps. An episode counts once per playbook, across versions. The counts of a version cover its own
steps, and steps that worked and were only refined since.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict, Unpack
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.attributes.metadata import joined_metadata
from memories.consolidation.rules import likeness
from memories.errors import Conflict, InvalidInput, existing
from memories.hygiene.text import content_hash
from memories.models import Playbook
from memories.services.facts.closing import (
    Supersedable,
    close,
    current_rows,
    record_ended,
    require_place,
    snapshot,
)
from memories.services.facts.drafts import PlaybookDraft, check_steps, checked, draft_of
from memories.services.facts.gates import IN_OTHER_WORDS, alike_playbooks, refuse_junk_playbook, same_app
from memories.services.screening import Screen, joined, screened_reason
from memories.services.write import SHARED, Write, app_of, own_episodes, owner_columns, require_person, write
from memories.types import CURRENT, Contradiction, Kind, Scope, Status, WriteOutcome, WriteResult
from tenants.principal import Principal


class PlaybookDetails(TypedDict, total=False):
    """The optional arguments of `remember_playbook`; see `PlaybookDraft`."""

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
    proposed: bool
    metadata: Mapping[str, Any]


def remember_playbook(
    principal: Principal,
    *,
    title: str,
    learned_at: datetime | None = None,
    playbook_id: UUID | None = None,
    **details: Unpack[PlaybookDetails],
) -> WriteOutcome:
    """Store a playbook: created, merged into an equal one, or superseding `supersedes_ids`.

    It needs a title, and steps or a text. Raises InvalidInput, NotFound, Conflict, Blocked, Forbidden; then nothing is
    stored.
    """
    draft = PlaybookDraft(title=title, learned_at=learned_at or timezone.now(), memory_id=playbook_id, **details)
    draft = checked(draft, Screen(principal))
    refuse_junk_playbook(principal, draft)
    with write(principal, draft.scope) as w:
        return store_playbook(w, draft)


def store_playbook(w: Write, draft: PlaybookDraft, named: Sequence[Supersedable] | None = None) -> WriteOutcome:
    """Pass a checked draft through the gates (hash, then likeness) and write it.

    `named` are the current rows of `supersedes_ids`, if the caller has already read them.
    """
    w.require_learning(draft.scope)
    place = owner_columns(w.principal, draft.scope, draft.task)
    rows = Playbook.objects.in_place(place)
    if draft.memory_id and rows.filter(pk=draft.memory_id).exists():
        return WriteOutcome(WriteResult.MERGED, Kind.PROCEDURAL, draft.memory_id, reason="It is stored already.")
    support = own_episodes(w.principal, draft.supporting_episode_ids)
    app = app_of(w) if draft.app is None else draft.app
    equal = next(iter(same_app(w, app, rows.current().filter(content_hash=draft.content_hash))), None)
    if equal is None:
        alike = same_app(w, app, alike_playbooks(place, draft.parts, not_ids=draft.supersedes_ids))
        equal = next(iter(alike), None)
        draft = replace(draft, reason=draft.reason or IN_OTHER_WORDS) if equal else draft
    if named is None:
        shared = draft.scope in SHARED
        named = current_rows(w, Kind.PROCEDURAL, draft.supersedes_ids, shared=shared, field="supersedes_ids")
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
    """Insert a checked draft without the gates; `columns` hold the owner (`owner_columns`) and override the draft."""
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
        "proposed": draft.proposed,
        "sensitivity": dict(draft.sensitivity),
        "metadata": dict(draft.metadata),
        "app": app_of(w) if draft.app is None else draft.app,
    }
    playbook = Playbook(pk=draft.memory_id or uuid.uuid4(), **values | dict(columns))
    playbook.save(force_insert=True)
    w.audit(".created", playbook, reason=draft.reason, after=snapshot(playbook))
    w.index(playbook)
    return playbook


def _merge(w: Write, playbook: Playbook, draft: PlaybookDraft) -> Playbook:
    """Add the outcomes of an equal procedure; the older text stays."""
    before = snapshot(playbook)
    playbook.proposed = playbook.proposed and draft.proposed
    playbook.success_count += draft.success_count
    playbook.failure_count += draft.failure_count
    playbook.last_success_at = _later(playbook.last_success_at, draft.last_success_at)
    playbook.last_failure_at = _later(playbook.last_failure_at, draft.last_failure_at)
    playbook.metadata = joined_metadata(playbook.metadata, draft.metadata)
    playbook.sensitivity = joined(playbook.sensitivity, draft.sensitivity) if draft.metadata else playbook.sensitivity
    playbook.version += 1
    playbook.save()
    said_in = {"told_in": [str(pk) for pk in dict.fromkeys(draft.supporting_episode_ids)]}
    w.audit(".merged", playbook, reason=draft.reason, before=before, after=snapshot(playbook) | said_in)
    w.index(playbook)
    return playbook


def _later(left: datetime | None, right: datetime | None) -> datetime | None:
    return max(filter(None, (left, right)), default=None)


COUNTED = "It was counted already."


def record_outcome(
    principal: Principal,
    *,
    playbook_id: UUID,
    success: bool,
    refined_steps: Sequence[str] = (),
    supporting_episode_ids: Sequence[UUID] = (),
    at: datetime | None = None,
    reason: str = "",
) -> WriteOutcome:
    """Count a success or failure of a playbook. `refined_steps` create a new version.

    For a superseded playbook, the current version is counted. If episodes are given, the outcome counts only if one of
    them neither was counted for the playbook nor taught it; without episodes every call counts. Raises InvalidInput,
    NotFound (a playbook or episode that is not the owner's), Conflict (it was retired), Forbidden; then nothing is
    stored.
    """
    reason = screened_reason(principal, reason)
    check_steps(refined_steps)
    # Screened before the lock, because suspicious values may need a model call, and the record of a refusal would be
    # rolled back with the transaction.
    screen = Screen(principal)
    screen.memory({f"refined_steps.{place}": step for place, step in enumerate(refined_steps)})
    if at is not None and timezone.is_naive(at):
        raise InvalidInput("at", _("needs a time zone."))
    with write(principal) as w:
        playbook = _current_version(principal, playbook_id)
        episodes = own_episodes(principal, supporting_episode_ids)
        counted = _episodes_of(playbook)
        fresh = [episode for episode in episodes if episode.pk not in counted]
        if episodes and not fresh:
            return WriteOutcome(WriteResult.MERGED, Kind.PROCEDURAL, playbook.pk, reason=COUNTED)
        moment = at or timezone.now()
        _count(w, playbook, success=success, at=moment, reason=reason, episode_ids=[each.pk for each in fresh])
        playbook.supporting_episodes.add(*fresh)
        if not refined_steps or content_hash(*refined_steps) == content_hash(*playbook.steps):
            return WriteOutcome(WriteResult.MERGED, Kind.PROCEDURAL, playbook.pk, reason=reason)
        return _refine(w, playbook, screen, refined_steps, success=success, at=moment, reason=reason)


def accept_playbook(principal: Principal, *, playbook_id: UUID) -> None:
    """Accept an agent's proposed playbook, so that it is recalled like others.

    Raises NotFound, Forbidden (an agent cannot), Conflict (it was retired or has expired).
    """
    require_person(principal)
    with write(principal) as w:
        playbook = _current_version(principal, playbook_id)
        if playbook.proposed:
            playbook.proposed = False
            playbook.version += 1
            playbook.save(update_fields=["proposed", "version", "updated_at"])
            w.audit(".accepted", playbook)
            w.index(playbook)


def _current_version(principal: Principal, playbook_id: UUID) -> Playbook:
    """The owner's playbook, or its current successor. Raises NotFound, Conflict."""
    own = Playbook.objects.of(principal)
    playbook = existing(own.filter(pk=playbook_id).first(), "playbook")
    while playbook.status not in CURRENT:
        if playbook.status != Status.SUPERSEDED or playbook.superseded_by_id is None:
            raise Conflict(_("This playbook was retired or has expired; store it anew if it is used again."))
        playbook = own.get(pk=playbook.superseded_by_id)
    return playbook


def _episodes_of(playbook: Playbook) -> Collection[UUID]:
    """The episodes that taught this playbook or were counted for it, in any version."""
    known: set[UUID] = set()
    versions = [playbook.pk]
    while versions:
        links = Playbook.supporting_episodes.through.objects.filter(playbook_id__in=versions)
        known.update(links.values_list("episode_id", flat=True))
        versions = list(
            Playbook.objects.unscoped("rows by ids under the lock")
            .filter(superseded_by__in=versions)
            .values_list("pk", flat=True)
        )
    return known


def _count(
    w: Write, playbook: Playbook, *, success: bool, at: datetime, reason: str, episode_ids: Sequence[UUID]
) -> None:
    """Count a success or a failure. A stale playbook that succeeds becomes active again."""
    before = _record(playbook)
    if success:
        playbook.success_count += 1
        playbook.last_success_at = max(at, playbook.last_success_at or at)
        playbook.status, playbook.staleness, playbook.proposed = Status.ACTIVE, 0.0, False
    else:
        playbook.failure_count += 1
        playbook.last_failure_at = max(at, playbook.last_failure_at or at)
    playbook.version += 1
    playbook.save()
    after = _record(playbook) | {"at": at.isoformat(), "episode_ids": [str(pk) for pk in episode_ids]}
    w.audit(".succeeded" if success else ".failed", playbook, reason=reason, before=before, after=after)
    w.index(playbook)


def _record(playbook: Playbook) -> dict[str, object]:
    """The outcome counts and times for the audit event, without texts."""
    return {
        "success_count": playbook.success_count,
        "failure_count": playbook.failure_count,
        "last_success_at": playbook.last_success_at.isoformat() if playbook.last_success_at else None,
        "last_failure_at": playbook.last_failure_at.isoformat() if playbook.last_failure_at else None,
    }


def _refine(
    w: Write, old: Playbook, screen: Screen, steps: Sequence[str], *, success: bool, at: datetime, reason: str
) -> WriteOutcome:
    """Store a new version with `steps`. After a success it inherits the counts.

    After a failure it starts at zero, because the counts of the old steps say nothing about the changed ones. The old
    version keeps its counts.
    """
    draft: PlaybookDraft = draft_of(
        old,
        # A version must not begin before the one that it replaces.
        learned_at=max(at, old.learned_at),
        reason=reason or "refined",
        steps=tuple(steps),
        supersedes_ids=[old.pk],
        # Steps that never succeeded were never right; others were right until the refinement.
        contradiction=Contradiction.NATURAL if success or old.success_count else Contradiction.HARSH,
        supporting_episode_ids=list(old.supporting_episodes.values_list("pk", flat=True)),
    )
    if not success:
        draft = replace(draft, success_count=0, failure_count=0, last_success_at=None, last_failure_at=None)
    draft = checked(draft, screen)
    refuse_junk_playbook(w.principal, draft)
    return store_playbook(w, draft, [old])
