"""Outcomes: whether a playbook worked. Counted with its last times, and a better way of doing it is a new version.

Invariant: an episode counts once for a playbook, whatever version it has by then; times never move back; the counts of
a version say how often these steps worked, or steps that worked and were only improved since.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.errors import Conflict, InvalidInput, NotFound
from memories.hygiene.text import content_hash
from memories.models import Playbook
from memories.services.facts.drafts import PlaybookDraft, check_steps, checked, draft_of
from memories.services.facts.junk import refuse_junk_playbook
from memories.services.ownership import own_episodes
from memories.services.playbooks import store_playbook
from memories.services.screening import Screen, screened_reason
from memories.services.write import Write, write
from memories.types import CURRENT, Contradiction, Kind, Status, WriteOutcome, WriteResult
from tenants.principal import Principal

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
    """Count that a playbook worked or failed; with `refined_steps`, these take its place.

    Of a replaced playbook it is the current version that counts. With episodes, only those that were neither counted
    for it nor taught it make a difference; without any, every call counts. Raises InvalidInput, NotFound (a playbook or
    an episode that is not the owner's), Conflict (it was retired), Forbidden; nothing is stored then.
    """
    reason = screened_reason(principal, reason)
    check_steps(refined_steps)
    # Before the lock: the model that suspicious words are put before is never waited for while one is held, and the
    # note that they were refused would be taken back with the transaction.
    screen = Screen(principal)
    screen.memory({f"refined_steps.{place}": step for place, step in enumerate(refined_steps)})
    if at is not None and timezone.is_naive(at):
        raise InvalidInput("at", "needs a time zone.")
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


def _current_version(principal: Principal, playbook_id: UUID) -> Playbook:
    """The owner's playbook or what took its place. Raises NotFound, Conflict."""
    own = Playbook.objects.of(principal)
    playbook = own.filter(pk=playbook_id).first()
    if playbook is None:
        raise NotFound("playbook")
    while playbook.status not in CURRENT:
        if playbook.status != Status.SUPERSEDED or playbook.superseded_by_id is None:
            raise Conflict("This playbook was retired or has expired; store it anew if it is used again.")
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
    """One more success or failure. What was stale and works is fresh again."""
    before = _record(playbook)
    if success:
        playbook.success_count += 1
        playbook.last_success_at = max(at, playbook.last_success_at or at)
        playbook.status, playbook.staleness = Status.ACTIVE, 0.0
    else:
        playbook.failure_count += 1
        playbook.last_failure_at = max(at, playbook.last_failure_at or at)
    playbook.version += 1
    playbook.save()
    after = _record(playbook) | {"at": at.isoformat(), "episode_ids": [str(pk) for pk in episode_ids]}
    w.audit(".succeeded" if success else ".failed", playbook, reason=reason, before=before, after=after)
    w.index(playbook)


def _record(playbook: Playbook) -> dict[str, object]:
    """How often it worked, for the audit: numbers and times, no words."""
    return {
        "success_count": playbook.success_count,
        "failure_count": playbook.failure_count,
        "last_success_at": playbook.last_success_at.isoformat() if playbook.last_success_at else None,
        "last_failure_at": playbook.last_failure_at.isoformat() if playbook.last_failure_at else None,
    }


def _refine(
    w: Write, old: Playbook, screen: Screen, steps: Sequence[str], *, success: bool, at: datetime, reason: str
) -> WriteOutcome:
    """A new version with `steps`. After a success it keeps the record: it is what worked, done a little better.

    After a failure it begins with none: neither the failures nor the successes of the old steps say anything of what
    was changed because of them. The old version keeps what it had, in the chain.
    """
    draft: PlaybookDraft = draft_of(
        old,
        # A version never begins before the one that it replaces.
        learned_at=max(at, old.learned_at),
        reason=reason or "refined",
        steps=tuple(steps),
        supersedes_ids=[old.pk],
        # Steps that only ever failed were never right; the others were, until the better ones.
        contradiction=Contradiction.NATURAL if success or old.success_count else Contradiction.HARSH,
        supporting_episode_ids=list(old.supporting_episodes.values_list("pk", flat=True)),
    )
    if not success:
        draft = replace(draft, success_count=0, failure_count=0, last_success_at=None, last_failure_at=None)
    draft = checked(draft, screen)
    refuse_junk_playbook(w.principal, draft)
    return store_playbook(w, draft, [old])
