"""A fact to store: what is told of it, checked and screened.

Invariant: what `checked_fact` returns can be stored as it is, and holds nothing that must not be.

A playbook to store: what is told of it, checked and screened.

Invariant: what `checked_playbook` returns can be stored as it is, and holds nothing that must not be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from memories.constants import MAX_KEY_CHARACTERS, MAX_MEMORY_CHARACTERS, MAX_STEPS, MAX_TITLE_CHARACTERS
from memories.errors import InvalidInput
from memories.hygiene.junk import refuse_unmistakable
from memories.hygiene.text import clean_text, content_hash
from memories.models import Fact, Playbook
from memories.services.screening import Screen
from memories.types import Contradiction, Scope, Source


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A fact to store, checked. `learned_at` is when it came to be believed, `valid_from` when it became true.

    `penalty` is what a new row is believed less than `confidence` says; an equal one that is known is not.
    """

    text: str
    key: str
    category: str
    source: Source
    confidence: float
    valid_from: datetime | None
    valid_to: datetime | None
    learned_at: datetime
    supporting_episode_ids: tuple[UUID, ...]
    supersedes_ids: tuple[UUID, ...]
    contradiction: Contradiction
    scope: Scope
    task: str
    pinned: bool
    fact_id: UUID | None
    reason: str
    review_after: datetime | None = None
    expires_at: datetime | None = None
    last_verified_at: datetime | None = None
    # Its dates count from then if they are not given; None: from when it was learned.
    dated_from: datetime | None = None
    promoted_from: UUID | None = None
    penalty: float = 0.0
    sensitivity: Mapping[str, str] = field(default_factory=dict)


def fact_draft_of(row: Fact, *, learned_at: datetime, reason: str, **changes: Any) -> FactDraft:
    """`row` as it is told, to be stored once more in its place with these changes.

    The dates on which it is reviewed or expires, its support and its pin do not come along.
    """
    draft = FactDraft(
        text=row.text,
        key=row.key,
        category=row.category,
        source=Source(row.source),
        confidence=row.confidence,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        learned_at=learned_at,
        supporting_episode_ids=(),
        supersedes_ids=(),
        contradiction=Contradiction.NATURAL,
        scope=Scope(row.scope),
        task=row.task or "",
        pinned=False,
        fact_id=None,
        reason=reason,
        sensitivity=row.sensitivity,
    )
    return replace(draft, **changes)


def checked_fact(draft: FactDraft, screen: Screen) -> FactDraft:
    """`draft` as it may be stored. Raises InvalidInput naming what of it cannot be, Blocked."""
    clean_text(draft.text, field="text", limit=MAX_MEMORY_CHARACTERS)
    refuse_unmistakable({"text": draft.text})
    clean_text(draft.key, field="key", limit=MAX_KEY_CHARACTERS, required=False)
    clean_text(draft.category, field="category", limit=MAX_KEY_CHARACTERS, required=False)
    clean_text(draft.reason, field="reason", limit=MAX_TITLE_CHARACTERS, required=False)
    clean_text(draft.task, field="task", limit=64, required=False)
    if not 0.0 <= draft.confidence <= 1.0:
        raise InvalidInput("confidence", "must be between 0 and 1.")
    for name in ("valid_from", "valid_to", "learned_at"):
        value: datetime | None = getattr(draft, name)
        if value is not None and timezone.is_naive(value):
            raise InvalidInput(name, "needs a time zone.")
    if draft.valid_from and draft.valid_to and draft.valid_to < draft.valid_from:
        raise InvalidInput("valid_to", "lies before valid_from.")
    told = {name: getattr(draft, name) for name in ("text", "key", "category", "reason", "task")}
    words, marks = screen.memory(told)
    stored: dict[str, Any] = {**words, "sensitivity": marks}
    return replace(draft, **stored)


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
    sensitivity: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, ...]:
        """What a person would call the same procedure: the gates look at these."""
        return (self.title, self.trigger, self.text, *self.steps)

    @property
    def content_hash(self) -> str:
        """For the hash gate."""
        return content_hash(*self.parts)


def playbook_draft_of(row: Playbook, *, learned_at: datetime, reason: str, **changes: Any) -> PlaybookDraft:
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
        sensitivity=row.sensitivity,
    )
    return replace(draft, **changes)


def checked_playbook(draft: PlaybookDraft, screen: Screen) -> PlaybookDraft:
    """`draft` as it may be stored. Raises InvalidInput naming what of it cannot be, Blocked."""
    clean_text(draft.title, field="title", limit=MAX_TITLE_CHARACTERS)
    clean_text(draft.trigger, field="trigger", limit=MAX_MEMORY_CHARACTERS, required=False)
    clean_text(draft.text, field="text", limit=MAX_MEMORY_CHARACTERS, required=not draft.steps)
    clean_text(draft.category, field="category", limit=MAX_KEY_CHARACTERS, required=False)
    clean_text(draft.reason, field="reason", limit=MAX_TITLE_CHARACTERS, required=False)
    clean_text(draft.task, field="task", limit=64, required=False)
    check_steps(draft.steps)
    refuse_unmistakable({"title": draft.title, "trigger": draft.trigger, "text": draft.text})
    for step in draft.steps:
        refuse_unmistakable({"steps": step})
    if draft.success_count < 0 or draft.failure_count < 0:
        raise InvalidInput("success_count", "counts cannot be negative.")
    for name in ("learned_at", "last_success_at", "last_failure_at"):
        value: datetime | None = getattr(draft, name)
        if value is not None and timezone.is_naive(value):
            raise InvalidInput(name, "needs a time zone.")
    told = {name: getattr(draft, name) for name in ("title", "trigger", "text", "category", "reason", "task")}
    steps = {f"steps.{place}": step for place, step in enumerate(draft.steps)}
    words, marks = screen.memory(told | steps)
    stored: dict[str, Any] = {name: words[name] for name in told}
    return replace(draft, **stored, steps=tuple(words[name] for name in steps), sensitivity=marks)


def check_steps(steps: Sequence[str]) -> None:
    """Raise InvalidInput if `steps` cannot be stored."""
    if len(steps) > MAX_STEPS:
        raise InvalidInput("steps", f"has {len(steps)} steps; at most {MAX_STEPS} are allowed.")
    for step in steps:
        clean_text(step, field="steps", limit=MAX_MEMORY_CHARACTERS)
