"""Drafts: validated values of a fact or playbook to be stored. `checked` returns a draft that is safe to store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.constants import (
    MAX_APP_CHARACTERS,
    MAX_KEY_CHARACTERS,
    MAX_MEMORY_CHARACTERS,
    MAX_STEPS,
    MAX_TASK_CHARACTERS,
    MAX_TITLE_CHARACTERS,
)
from memories.errors import InvalidInput
from memories.hygiene.junk import refuse_unmistakable
from memories.hygiene.text import clean_text, content_hash
from memories.models import Fact, Playbook
from memories.services.screening import Screen, joined, refuse_kept_out
from memories.types import CONFIDENCE_OF_SOURCE, Contradiction, Scope, Source

# Character limits by field.
_LIMITS = {
    "title": MAX_TITLE_CHARACTERS,
    "trigger": MAX_MEMORY_CHARACTERS,
    "text": MAX_MEMORY_CHARACTERS,
    "key": MAX_KEY_CHARACTERS,
    "category": MAX_KEY_CHARACTERS,
    "reason": MAX_TITLE_CHARACTERS,
    "task": MAX_TASK_CHARACTERS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The fields that facts and playbooks share.

    `learned_at` is when it came to be believed; `memory_id` is for a new row. Without an `app` (None) the new row gets
    that of the principal.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ()
    TIMES: ClassVar[tuple[str, ...]] = ()

    text: str = ""
    category: str = ""
    supporting_episode_ids: Sequence[UUID] = ()
    supersedes_ids: Sequence[UUID] = ()
    contradiction: Contradiction = Contradiction.NATURAL
    learned_at: datetime = field(default_factory=timezone.now)
    scope: Scope = Scope.USER
    task: str = ""
    memory_id: UUID | None = None
    reason: str = ""
    promoted_from: UUID | None = None
    sensitivity: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    app: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDraft(Draft):
    """A fact to be stored. `valid_from` is when it became true; without `confidence` the source's value applies.

    `penalty` is subtracted from the confidence of a new row, but not from that of a known equal one. Review and expiry
    dates that are not given count from `dated_from`, or without it from `learned_at`.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ("text", "key", "category", "reason", "task")
    TIMES: ClassVar[tuple[str, ...]] = ("valid_from", "valid_to", "learned_at")

    key: str = ""
    source: Source = Source.USER_STATED
    confidence: float | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    pinned: bool = False
    review_after: datetime | None = None
    expires_at: datetime | None = None
    last_verified_at: datetime | None = None
    dated_from: datetime | None = None
    penalty: float = 0.0

    @property
    def certainty(self) -> float:
        """The confidence before any penalty."""
        return CONFIDENCE_OF_SOURCE[self.source] if self.confidence is None else self.confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookDraft(Draft):
    """A playbook to be stored. Counts and times describe the outcomes so far; `proposed` as in `Playbook`."""

    TEXTS: ClassVar[tuple[str, ...]] = ("title", "trigger", "text", "category", "reason", "task")
    TIMES: ClassVar[tuple[str, ...]] = ("learned_at", "last_success_at", "last_failure_at")

    title: str
    trigger: str = ""
    steps: Sequence[str] = ()
    success_count: int = 0
    failure_count: int = 0
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None
    proposed: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts that the gates compare."""
        return (self.title, self.trigger, self.text, *self.steps)

    @property
    def content_hash(self) -> str:
        """The hash that the hash gate compares."""
        return content_hash(*self.parts)


AnyDraft = TypeVar("AnyDraft", FactDraft, PlaybookDraft)
# Columns that a draft copies from a row. Support, pin, dates and links are not copied.
_TAKEN_OVER = frozenset(
    {"text", "key", "category", "confidence", "valid_from", "valid_to", "sensitivity", "title", "trigger", "steps"}
    | {"success_count", "failure_count", "last_success_at", "last_failure_at", "proposed"}
    | {"metadata", "app"}
)


def draft_of(row: Fact | Playbook, *, learned_at: datetime, reason: str, **changes: Any) -> Any:
    """A draft of `row` with `changes`, in the row's scope and task."""
    kind: type[FactDraft | PlaybookDraft] = FactDraft if isinstance(row, Fact) else PlaybookDraft
    own: dict[str, Any] = {each.name: getattr(row, each.name) for each in fields(kind) if each.name in _TAKEN_OVER}
    if isinstance(row, Fact):
        own["source"] = Source(row.source)
    place = {"scope": Scope(row.scope), "task": row.task or "", "learned_at": learned_at, "reason": reason}
    return kind(**own | place | changes)


def checked(draft: AnyDraft, screen: Screen) -> AnyDraft:
    """Validate and screen `draft`; return it as it may be stored. Raises InvalidInput naming the field, Blocked."""
    if not getattr(draft, "steps", True) and not draft.text:
        raise InvalidInput("steps", _("is empty: give the steps, or a text."))
    required = {"title": True, "text": not getattr(draft, "steps", ())}
    for name in sorted(draft.TEXTS, key=list(_LIMITS).index):
        clean_text(getattr(draft, name), field=name, limit=_LIMITS[name], required=required.get(name, False))
    for name in draft.TIMES:
        value: datetime | None = getattr(draft, name)
        if value is not None and timezone.is_naive(value):
            raise InvalidInput(name, _("needs a time zone."))
    steps: dict[str, str] = {}
    if isinstance(draft, FactDraft):
        refuse_unmistakable({"text": draft.text})
        if not 0.0 <= draft.certainty <= 1.0:
            raise InvalidInput("confidence", _("must be between 0 and 1."))
        if draft.valid_from and draft.valid_to and draft.valid_to < draft.valid_from:
            raise InvalidInput("valid_to", _("lies before valid_from."))
    else:
        check_steps(draft.steps)
        refuse_unmistakable({"title": draft.title, "trigger": draft.trigger, "text": draft.text})
        for step in draft.steps:
            refuse_unmistakable({"steps": step})
        if draft.success_count < 0 or draft.failure_count < 0:
            raise InvalidInput("success_count", _("counts cannot be negative."))
        steps = {f"steps.{place}": step for place, step in enumerate(draft.steps)}
    metadata, more = screen.metadata(draft.metadata) if draft.metadata else ({}, {})
    clean_text(draft.app or "", field="app", limit=MAX_APP_CHARACTERS, required=False)
    app: dict[str, str] = {"app": draft.app} if draft.app else {}
    refuse_kept_out(screen.policy, {name: getattr(draft, name) for name in draft.TEXTS} | steps)
    words, marks = screen.memory({name: getattr(draft, name) for name in draft.TEXTS} | steps | app)
    # The label of a masked value may be longer than the value.
    stored: dict[str, Any] = {name: words[name][: _LIMITS[name]] for name in draft.TEXTS}
    stored |= {"sensitivity": joined(marks, more), "metadata": metadata}
    stored |= {name: words[name][:MAX_APP_CHARACTERS] for name in app}
    if steps:
        stored["steps"] = tuple(words[name] for name in steps)
    return replace(draft, **stored)


def check_steps(steps: Sequence[str]) -> None:
    """Raise InvalidInput if `steps` cannot be stored."""
    if len(steps) > MAX_STEPS:
        raise InvalidInput(
            "steps",
            _("has %(count)s steps; at most %(max_steps)s are allowed.")
            % {"count": len(steps), "max_steps": MAX_STEPS},
        )
    for step in steps:
        clean_text(step, field="steps", limit=MAX_MEMORY_CHARACTERS)
