"""Gathers the material of a batch: its episodes and the owner's memories that they may affect.

Only the owner's own memories of user scope are gathered, because a member cannot supersede shared ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.utils import timezone

from memories.consolidation.material import EpisodeText, Guidance, KnownFact, KnownPlaybook, Material
from memories.errors import SearchForbidden
from memories.hygiene.text import content_hash
from memories.models import (
    Episode,
    Fact,
    Mention,
    Message,
    MessageRole,
    Playbook,
    Relation,
)
from memories.models.base import MemoryQuerySet
from memories.recall.pipeline import recall
from memories.selectors.policies import policy_of
from memories.selectors.speakers import own_names
from memories.types import Kind, Recalled, Scope, Source, Status
from memories.words import folded
from tenants.principal import Principal

# Recalled facts and playbooks per episode, and the most keyed facts that are added.
NEAREST = 8
MAX_SLOTS = 100
# Characters of the preceding answer that are kept as context for a "yes, that worked".
BEFORE_CHARACTERS = 4_000


def gather(principal: Principal, episodes: Sequence[Episode]) -> Material:
    """The material of a batch: its episodes and the facts and playbooks that they may change.

    Episodes from which nothing may be learned are left out. The owner's own are those of the owner's messages, and
    those under any name of the owner's, however they came.
    """
    texts = _texts(principal, episodes)
    nearest = _nearest(principal, [episode for episode in texts if episode.own])
    mentioned = {pk for episode in texts for pk in episode.recalled}
    apps = {episode.app for episode in episodes}
    policy = policy_of(principal.tenant_id).in_app(apps.pop() if len(apps) == 1 else "")
    return Material(
        speaker=principal.speaker,
        guidance=Guidance(policy.instructions, policy.categories, (*policy.never_topics, *policy.never_words)),
        episodes=tuple(texts),
        facts=tuple(_facts(principal, [episode.pk for episode in episodes], nearest[Kind.SEMANTIC] | mentioned)),
        playbooks=tuple(_playbooks(principal, nearest[Kind.PROCEDURAL] | mentioned)),
    )


def of_same_wording(principal: Principal, texts: Iterable[str], batch: Iterable[UUID]) -> list[KnownFact]:
    """The owner's facts with these exact texts (by content hash), ended ones included."""
    hashes = {content_hash(text) for text in texts}
    rows = _own_facts(principal).filter(content_hash__in=hashes).exclude(status=Status.EVICTED)
    return _known(rows, set(batch))


def _texts(principal: Principal, episodes: Sequence[Episode]) -> list[EpisodeText]:
    messages = {
        message.pk: message
        for message in Message.objects.of(principal).filter(pk__in=[row.message_id for row in episodes])
    }
    turns = {(message.session_id, message.turn) for message in messages.values()}
    recalled = _recalled(principal, turns)
    before = _before(principal, turns)
    own = own_names(principal)
    texts = []
    for row in episodes:
        message = messages.get(row.message_id) if row.message_id else None
        if message and (message.learn is False or message.replaced_by is not None):
            continue
        place = (message.session_id, message.turn) if message else (row.session_id, 0)
        texts.append(
            EpisodeText(
                id=row.pk,
                ordinal=row.ordinal,
                session_id=row.session_id,
                text=row.text,
                speaker=row.speaker,
                own=bool(message and message.own) or not row.speaker or folded(row.speaker).strip() in own,
                happened_at=row.happened_at,
                before=before.get(place, ""),
                recalled=tuple(recalled.get(place, ())),
            )
        )
    return texts


def _recalled(principal: Principal, turns: set[tuple[UUID, int]]) -> dict[tuple[UUID, int], list[UUID]]:
    """The memories recalled in each of these turns and in the turn before it."""
    wanted = turns | {(session_id, turn - 1) for session_id, turn in turns}
    mentions = (
        Mention.objects.of(principal)
        .filter(relation=Relation.RECALLED, message__session_id__in={session_id for session_id, _ in turns})
        .values_list("message__session_id", "message__turn", "memory_id")
        .order_by("id")
    )
    by_turn: dict[tuple[UUID, int], list[UUID]] = defaultdict(list)
    for session_id, turn, memory_id in mentions:
        if (session_id, turn) in wanted:
            by_turn[session_id, turn].append(memory_id)
    return {
        (session_id, turn): list(dict.fromkeys(by_turn[session_id, turn - 1] + by_turn[session_id, turn]))
        for session_id, turn in turns
    }


def _before(principal: Principal, turns: set[tuple[UUID, int]]) -> dict[tuple[UUID, int], str]:
    """The final answer of the turn before each of these turns."""
    answers = (
        Message.objects.of(principal)
        .filter(
            role=MessageRole.ASSISTANT,
            tool_calls=[],
            replaced_by=None,
            session_id__in={session_id for session_id, _ in turns},
            turn__in={turn - 1 for _, turn in turns},
        )
        .order_by("turn", "step")
        .values_list("session_id", "turn", "text")
    )
    return {(session_id, turn + 1): text[:BEFORE_CHARACTERS] for session_id, turn, text in answers if text}


def _nearest(principal: Principal, episodes: Sequence[EpisodeText]) -> dict[Kind, set[UUID]]:
    """Ids of the facts and playbooks that a recall by each episode's text returns; partial if search is forbidden.

    Superseded facts are recalled too, because the owner may say that one of them was never true.
    """
    found: dict[Kind, set[UUID]] = defaultdict(set)
    has_past = Fact.objects.of(principal).filter(status=Status.SUPERSEDED).exists()
    for episode in episodes:
        if not episode.text.strip():
            continue
        try:
            items = _recalled_items(principal, episode.text, past=False)
            items += _recalled_items(principal, episode.text, past=True) if has_past else ()
        except SearchForbidden:
            return found  # keyed facts and the gates of every write still come from the database
        for item in items:
            if item.scope is Scope.USER:
                found[item.kind].add(item.id)
    return found


def _recalled_items(principal: Principal, text: str, *, past: bool) -> tuple[Recalled, ...]:
    kinds = (Kind.SEMANTIC,) if past else (Kind.SEMANTIC, Kind.PROCEDURAL)
    answer = recall(principal, text, types=kinds, limit=NEAREST, include_superseded=past, record=False, stored=True)
    return answer.items


def _facts(principal: Principal, batch: Sequence[UUID], nearest: set[UUID]) -> list[KnownFact]:
    own = _own_facts(principal)
    slots = own.current().exclude(key="").order_by("-learned_at").values_list("pk", flat=True)[:MAX_SLOTS]
    learned = own.filter(supporting_episodes__in=batch).values_list("pk", flat=True)
    wanted = nearest | set(slots) | set(learned)
    return _known(own.filter(pk__in=wanted).exclude(status=Status.EVICTED).order_by("learned_at", "pk"), set(batch))


def _own_facts(principal: Principal) -> MemoryQuerySet[Fact]:
    """The owner's unexpired facts of user scope. An expired fact is learned again when the owner repeats it."""
    return Fact.objects.of(principal).filter(scope=Scope.USER).unexpired(timezone.now())


def _known(rows: Iterable[Fact], batch: set[UUID]) -> list[KnownFact]:
    facts = list(rows)
    links = Fact.supporting_episodes.through.objects.filter(
        fact_id__in=[fact.pk for fact in facts], episode_id__in=batch
    ).values_list("fact_id", "episode_id")
    learned_from: dict[UUID, set[UUID]] = defaultdict(set)
    for fact_id, episode_id in links:
        learned_from[fact_id].add(episode_id)
    return [
        KnownFact(
            id=fact.pk,
            text=fact.text,
            key=fact.key,
            category=fact.category,
            source=Source(fact.source),
            confidence=fact.confidence,
            status=Status(fact.status),
            learned_at=fact.learned_at,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
            retracted=fact.retracted,
            superseded_at=fact.superseded_at,
            learned_from=frozenset(learned_from[fact.pk]),
        )
        for fact in facts
    ]


def _playbooks(principal: Principal, ids: set[UUID]) -> list[KnownPlaybook]:
    rows = Playbook.objects.of(principal).current().filter(scope=Scope.USER, pk__in=ids).order_by("title", "pk")
    return [
        KnownPlaybook(row.pk, row.title, row.trigger, tuple(row.steps), row.success_count, row.failure_count)
        for row in rows
    ]
