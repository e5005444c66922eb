"""A turn as the chat shows it: who said what, how the answer ended, and which memories it used and changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse

from memories.chat.presenting import OWN_NAME, cards_of, speaker_name
from memories.hygiene.sensitivity.telling import taken_out
from memories.models import MessageState, Relation
from memories.presenting.lines import RELATIONS, usage_of, words_of
from memories.presenting.memory import MemoryView
from memories.selectors.sessions import MentionView, TurnView
from memories.types import Kind
from tenants.principal import Principal


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn with what the template needs beyond it. `usage` is the quiet line under the answer, in parts."""

    view: TurnView
    speaker: str
    usage: tuple[str, ...]
    is_last: bool

    @property
    def taken_out(self) -> str:
        """The kinds of values that were not stored, as a sentence; empty if there were none."""
        return taken_out(self.view.masked)

    @property
    def can_retry(self) -> bool:
        """The last turn, unless it has a whole answer or was forgotten, or somebody else said it."""
        if self.view.answer_state is None and self.speaker != OWN_NAME:
            return False
        return self.is_last and self.view.answer_state not in (MessageState.COMPLETE, MessageState.REDACTED)

    @property
    def has_answer(self) -> bool:
        """Whether there is an answer, or one is due; an imported message may have none."""
        return self.view.answer_state is not None or self.can_retry


@dataclass(frozen=True, slots=True)
class PanelSection:
    """Memories of one relation to the answer.

    `gone` are the kinds of those that were forgotten since; `above` counts those that an earlier section shows.
    """

    relation: Relation
    title: str
    cards: tuple[MemoryView, ...]
    gone: tuple[Kind, ...]
    above: int

    @property
    def count(self) -> int:
        """How many memories in all."""
        return len(self.cards) + len(self.gone) + self.above


@dataclass(frozen=True, slots=True)
class Panel:
    """The memories shown beside an answer; `back` is the address that shows them again."""

    turn: int
    back: str
    sections: tuple[PanelSection, ...]
    usage: tuple[str, ...]
    degraded: bool


def shown_turns(principal: Principal, turns: Iterable[TurnView]) -> tuple[ShownTurn, ...]:
    """The turns of a transcript, ready to show."""
    views = tuple(turns)
    return tuple(
        ShownTurn(view, speaker_name(principal, view.speaker), usage_of(view), is_last=view is views[-1])
        for view in views
    )


def panel_of(principal: Principal, view: TurnView) -> Panel:
    """The memories of one turn, what changed first."""
    by_relation = {relation: view.having(relation) for relation, _, _ in RELATIONS}
    cards = _cards(principal, [mention for mentions in by_relation.values() for mention in mentions])
    sections = []
    shown: set[UUID] = set()
    for relation, _, _ in RELATIONS:
        if mentions := by_relation[relation]:
            fresh = [mention for mention in mentions if mention.memory_id not in shown]
            sections.append(
                PanelSection(
                    relation,
                    words_of(view, relation)[0],
                    cards=tuple(cards[m.memory_id] for m in fresh if m.memory_id in cards),
                    gone=tuple(m.kind for m in fresh if m.memory_id not in cards),
                    above=len(mentions) - len(fresh),
                )
            )
            shown |= {mention.memory_id for mention in fresh}
    back = f"{reverse('chat:session', args=[view.session_id])}?turn={view.turn}"
    return Panel(view.turn, back, tuple(sections), usage_of(view), view.degraded)


def _cards(principal: Principal, mentions: Iterable[MentionView]) -> Mapping[UUID, MemoryView]:
    """One card for each memory that is still there, with the reasons of its first recall."""
    rows = {mention.memory_id: mention.memory for mention in mentions if mention.memory is not None}
    reasons = {mention.memory_id: mention.reasons for mention in mentions if mention.reasons}
    cards = cards_of(principal, list(rows.values()), reasons=reasons, quotes=True)
    return {card.id: card for card in cards}
