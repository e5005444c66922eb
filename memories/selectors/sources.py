"""Reading where facts come from: the words that support them, and their lists by category.

Invariant: only the principal's own episodes are ever quoted, also under a fact that is shared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet

from memories.models import Episode, Fact, Message
from memories.selectors.memories import list_memories
from memories.types import Kind, Status
from tenants.principal import Principal, Right


def supporting_episodes(principal: Principal, fact_ids: Iterable[UUID]) -> Mapping[UUID, tuple[Episode, ...]]:
    """The episodes that each of these facts was learned from, oldest first, by fact; one query."""
    principal.require(Right.READ)
    episodes = (
        Episode.objects.of(principal)
        .filter(supports__in=set(fact_ids))
        .annotate(fact_id=F("supports"))
        .order_by("happened_at", "sequence")
    )
    found: dict[UUID, list[Episode]] = defaultdict(list)
    for episode in episodes:
        found[episode.fact_id].append(episode)
    return {fact_id: tuple(rows) for fact_id, rows in found.items()}


def questions_of(principal: Principal, messages: Iterable[Message]) -> tuple[Message, ...]:
    """The user's message of the turn that each of these belongs to, in their order, each turn once; one query."""
    principal.require(Right.READ)
    turns = list(dict.fromkeys((message.session_id, message.turn) for message in messages))
    asked = Message.objects.of(principal).filter(
        step=0, session_id__in={session for session, _ in turns}, turn__in={turn for _, turn in turns}
    )
    by_turn = {(message.session_id, message.turn): message for message in asked}
    return tuple(by_turn[turn] for turn in turns if turn in by_turn)


def supported_facts(principal: Principal, episode_id: UUID) -> QuerySet[Fact]:
    """The principal's facts that were learned from an episode, newest first."""
    principal.require(Right.READ)
    return Fact.objects.of(principal).filter(supporting_episodes=episode_id).order_by("-learned_at", "id")


def facts_by_category(
    principal: Principal, *, query: str = "", status: Iterable[Status] | None = None
) -> QuerySet[Fact]:
    """The principal's facts as a person reads them: pinned ones first, then by category, newest first in each.

    Facts without a category come last.
    """
    facts: QuerySet[Fact] = list_memories(principal, Kind.SEMANTIC, query=query, status=status)  # type: ignore[assignment]  # of this kind
    last = ExpressionWrapper(Q(category=""), output_field=BooleanField())
    return facts.annotate(uncategorised=last).order_by("-pinned", "uncategorised", "category", "-learned_at", "id")
