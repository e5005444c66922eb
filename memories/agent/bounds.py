"""The bounds of a model in one turn: what the user's own words of the turn allow it to store, replace, end or propose.

The code decides, because a model may be misled by any text in its prompt. What exceeds the bounds waits for the member
as a review, or is stored as the agent's own conclusion. The rule set's responder is not bounded: it reads nothing but
the user's message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from memories.consolidation.grounding import ended_by, mentions, names, states
from memories.consolidation.material import KnownFact
from memories.consolidation.rules import content_words
from memories.models import Fact, Mention, Playbook
from memories.models.base import MemoryRow
from memories.selectors.sessions import conversation
from memories.services.facts.gates import MACHINE_MADE
from memories.services.reviews.queue import open_contradiction, open_eviction
from memories.services.write import Write, write
from memories.types import Source, Status
from tenants.principal import Principal

# Memories that a turn may end without a successor, and questions that it may raise for the member.
MAX_RETIRED_IN_A_TURN = 2
MAX_REVIEWS_IN_A_TURN = 5
NOT_SAID = "the agent would end it, and the user's words do not say so"
EVIDENCE = {"judge": "agent", "found": "chat"}
Row = TypeVar("Row", Fact, Fact | Playbook)


@dataclass(slots=True)
class TurnBounds:
    """The bounds of one turn in which the user said `own`."""

    principal: Principal
    own: str
    session_id: UUID | None
    turn: int
    unbounded: bool = False
    retired: int = 0
    reviews: int = 0
    shown: set[UUID] = field(default_factory=set)

    def states(self, *texts: str) -> bool:
        """Whether the user stated each of these texts in this turn."""
        return self.unbounded or all(states(text, self.own) for text in texts if text.strip())

    def may_propose(self, row: MemoryRow) -> bool:
        """Whether it may be proposed to forget `row`: this turn or the one before showed it, or the user named it."""
        if self.unbounded or row.pk in self.shown or mentions(row.searchable_text, self.own):
            return True
        if self.session_id is None:
            return False
        last = Mention.objects.of(self.principal).filter(message__session=self.session_id, message__turn=self.turn - 1)
        return last.filter(memory_id=row.pk).exists()

    def ended(self, rows: Sequence[MemoryRow]) -> set[UUID]:
        """Those of `rows` that the user's words of this turn end: by naming them, or by the rule set."""
        if self.unbounded:
            return {row.pk for row in rows}
        named = {row.pk for row in rows if names(row.searchable_text, self.own)}
        facts = [_known(row) for row in rows if isinstance(row, Fact) and row.pk not in named]
        return named | ended_by(self.own, facts, before=self._before(), at=timezone.now())

    def to_retire(self, rows: Sequence[MemoryRow]) -> list[MemoryRow]:
        """Those of `rows` that may be retired; counts them."""
        ended = self.ended(rows)
        may = [row for row in rows if row.pk in ended]
        if not self.unbounded:
            may = may[: MAX_RETIRED_IN_A_TURN - self.retired]
            self.retired += len(may)
        return may

    def to_replace(
        self, text: str, ids: Collection[UUID], key: str, *, stated: bool
    ) -> tuple[list[UUID], str, list[Fact]]:
        """Of the facts `ids` and the one of `key`: the ids that `text` replaces, the key to use, the facts held back.

        What the user stated replaces the facts that the user's words end, and the fact of its key if the two share a
        word, as two values of one slot do. The agent's own conclusion replaces only such conclusions, and none that the
        member pinned. Unknown ids are passed on.
        """
        if self.unbounded or not (ids or key):
            return [*ids], key, []
        current = Fact.objects.of(self.principal).current().filter(task=None)
        rows = list(current.filter(Q(pk__in=ids) | (Q(key=key) & ~Q(key=""))).defer("embedding", "token_ids"))
        slot = {row.pk for row in rows if key and row.key == key}
        words = content_words(text)
        same = {row.pk for row in rows if row.pk in slot and words & content_words(row.text)}
        may = same | self.ended([row for row in rows if row.pk not in same])
        held = [row for row in rows if row.pk not in may or not (stated or _is_conclusion(row))]
        held_ids = {row.pk for row in held}
        return [pk for pk in ids if pk not in held_ids], "" if slot & held_ids else key, held

    def ask_which(self, held: Sequence[Fact], new_id: UUID) -> int:
        """Ask the member about the facts that a new one would have replaced; returns how many questions."""
        new = Fact.objects.of(self.principal).current().filter(pk=new_id).first() if held else None
        if new is None:
            return 0
        return self._ask(held, lambda w, old: open_contradiction(w, old, new, reason=NOT_SAID, evidence=EVIDENCE))

    def ask_to_end(self, rows: Iterable[MemoryRow]) -> int:
        """Ask the member whether these memories end; returns how many questions."""
        settled = [row for row in rows if isinstance(row, Fact | Playbook)]
        return self._ask(settled, lambda w, row: open_eviction(w, row, reason=NOT_SAID, evidence=EVIDENCE))

    def _ask(self, rows: Sequence[Row], ask: Callable[[Write, Row], object]) -> int:
        opened = 0
        with write(self.principal) as w:
            for row in rows[: MAX_REVIEWS_IN_A_TURN - self.reviews]:
                opened += ask(w, row) is not None
        self.reviews += opened
        return opened

    def _before(self) -> str:
        """The answer of the turn before."""
        if self.session_id is None or self.turn <= 1:
            return ""
        last = conversation(self.principal, self.session_id, last=1, before=self.turn)
        return last[0].answer if last else ""


def _is_conclusion(row: Fact) -> bool:
    return row.source in MACHINE_MADE and not row.pinned


def _known(row: Fact) -> KnownFact:
    return KnownFact(
        row.pk, row.text, row.key, row.category, Source(row.source), row.confidence, Status(row.status),
        row.learned_at, row.valid_from, row.valid_to, row.retracted, row.superseded_at,
    )  # fmt: skip
