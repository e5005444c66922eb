"""From a memory to the words that it came from, to what was learned from it, and to the answers that used it.

How memory grew: what there was by the end of each day of what was said, learned and shared, by kind.

Invariant: counted are the named tenants alone, by indexes that hold all that is asked for: no memory is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import accumulate
from uuid import UUID

from django.db.models import Count, DateField, F
from django.db.models.functions import Cast

from memories.models import CatalogEntry, Episode, Fact, Mention, Playbook, Relation
from memories.models.base import MemoryRow
from memories.selectors.history.stories import questions_of
from memories.selectors.memories import messages_using
from memories.selectors.paging import page_of
from memories.types import Kind
from tenants.principal import Principal, Right

# Words and memories that are listed on both sides of one memory.
MOST_LINKED = 50
_ALIKE = 24  # characters


@dataclass(frozen=True, slots=True)
class AnswerUse:
    """A turn in which a memory was recalled. The question is empty once it was forgotten.

    `used`: whether the answer made use of it; None if nobody can tell. `reasons`: why it came up, in words.
    """

    session_id: UUID
    turn: int
    question: str
    at: datetime
    conversation: str
    used: bool | None
    reasons: tuple[str, ...]


def uses_of(principal: Principal, memory_id: UUID, *, limit: int) -> tuple[tuple[AnswerUse, ...], bool]:
    """The latest uses, out of `limit` messages, each turn once; and whether there are more. Three queries."""
    page = page_of(messages_using(principal, memory_id).order_by("-created_at", "id"), limit=limit)
    questions = {(asked.session_id, asked.turn): asked for asked in questions_of(principal, page.rows)}
    recalled = Mention.objects.of(principal).filter(
        message__in=[message.pk for message in page.rows], memory_id=memory_id, relation=Relation.RECALLED
    )
    mentions = {mention.message_id: mention for mention in recalled.order_by("-position")}
    uses: dict[tuple[UUID, int], AnswerUse] = {}
    for message in page.rows:
        place = (message.session_id, message.turn)
        asked, mention = questions.get(place), mentions.get(message.pk)
        uses.setdefault(
            place,
            AnswerUse(
                session_id=message.session_id,
                turn=message.turn,
                question=asked.text if asked else "",
                at=message.created_at,
                conversation=_title(message.session.title, asked.text if asked else ""),
                used=mention.used if mention else None,
                reasons=tuple(mention.reasons) if mention else (),
            ),
        )
    return tuple(uses.values()), bool(page.next_cursor)


def _title(title: str, question: str) -> str:
    """The name of a conversation, unless it only repeats how the question begins."""
    return "" if question.startswith(title.rstrip("….")[:_ALIKE]) else title


def words_behind(principal: Principal, row: Fact | Playbook) -> tuple[Episode, ...]:
    """The principal's episodes that a fact or playbook was learned from, oldest first, with their `turn`; one query."""
    principal.require(Right.READ)
    supported = {"supports": row.pk} if isinstance(row, Fact) else {"supports_playbooks": row.pk}
    episodes = Episode.objects.of(principal).filter(**supported).annotate(turn=F("message__turn"))
    return tuple(episodes.order_by("happened_at", "sequence", "pk")[:MOST_LINKED])


def learned_from(principal: Principal, episode: Episode) -> tuple[Fact | Playbook, ...]:
    """The principal's facts and playbooks that were learned from an episode, newest first; two queries."""
    principal.require(Right.READ)
    found: list[Fact | Playbook] = [
        row
        for model in (Fact, Playbook)
        for row in model.objects.of(principal).filter(supporting_episodes=episode).order_by("-learned_at")[:MOST_LINKED]
    ]
    return tuple(found)


# When a memory of each kind began: an episode when it was said, not when it was imported.
_BEGAN: tuple[tuple[type[MemoryRow], str], ...] = (
    (Episode, "happened_at"),
    (Fact, "learned_at"),
    (Playbook, "learned_at"),
    (CatalogEntry, "created_at"),
)


def kept_by_day(tenants: Collection[UUID], days: Sequence[date]) -> Mapping[Kind, list[int]]:
    """How many memories of each kind there were at the end of each of these days (UTC), in a row; two queries a kind.

    Counted is what is kept now, by when it began; erased memories are not counted.
    """
    found: dict[Kind, list[int]] = {}
    since = datetime.combine(days[0], time(), UTC)
    for model, column in _BEGAN:
        rows = model.objects.unscoped("staff look at their tenants").filter(tenant_id__in=list(tenants)).order_by()
        late = rows.filter(**{f"{column}__gte": since}).annotate(day=Cast(column, DateField()))
        new = dict(late.values_list("day").annotate(count=Count("*")))
        before = rows.filter(**{f"{column}__lt": since}).count()
        found[model.kind] = list(accumulate((new.get(day, 0) for day in days), initial=before))[1:]
    return found
