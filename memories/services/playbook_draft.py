"""A playbook to store: what is told of it, checked and screened.

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
from memories.models import Playbook
from memories.services.screening import Screen
from memories.types import Contradiction, Scope


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
