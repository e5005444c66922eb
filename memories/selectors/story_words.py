"""From which words the states of a chain came, and by which they ended.

Invariant: only the principal's own episodes are quoted, and only under what is the principal's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import F, Q

from memories.models import ConsolidationRun, Episode, Mention, Relation
from memories.selectors.stories import Story
from memories.types import Kind
from tenants.principal import Principal, Right

# A run ends in the transaction that writes what it decided.
_ONE_TRANSACTION = timedelta(minutes=1)
_SUPPORTS = {Kind.SEMANTIC: "supports", Kind.PROCEDURAL: "supports_playbooks"}

Words = Mapping[UUID, tuple[Episode, ...]]


@dataclass(frozen=True, slots=True)
class StoryWords:
    """By state: the episodes that it was learned from, and those by which it ended."""

    learned_from: Words
    ended_by: Words


def words_of(principal: Principal, story: Story) -> StoryWords:
    """The words behind each state of a chain of the principal's own."""
    principal.require(Right.READ)
    support = _support(principal, story)
    ended: dict[UUID, dict[UUID, Episode]] = defaultdict(dict)
    # What an undo brought back has the words that it had before; those did not end what it took the place of.
    brought_back = {row.pk for row in story.rows if row.restores is not None}
    for row in story.rows:
        if row.superseded_by_id in support and row.superseded_by_id not in brought_back:
            own = {episode.pk for episode in support.get(row.pk, ())}
            ended[row.pk] |= {each.pk: each for each in support[row.superseded_by_id] if each.pk not in own}
    retired = [row.pk for row in story.rows if row.superseded_at is not None and row.superseded_by_id is None]
    if retired:
        for found in (_said_in_chat(principal, retired), _consolidated(principal, story, retired)):
            for pk, episodes in found.items():
                ended[pk] |= {each.pk: each for each in episodes}
    return StoryWords(support, {pk: _in_order(each.values()) for pk, each in ended.items()})


def _support(principal: Principal, story: Story) -> dict[UUID, tuple[Episode, ...]]:
    supports = _SUPPORTS[story.kind]
    episodes = (
        Episode.objects.of(principal)
        .filter(**{f"{supports}__in": [row.pk for row in story.rows]})
        .annotate(state=F(supports))
        .order_by("happened_at", "sequence")
    )
    found: dict[UUID, list[Episode]] = defaultdict(list)
    for episode in episodes:
        found[episode.state].append(episode)
    return {pk: tuple(each) for pk, each in found.items()}


def _said_in_chat(principal: Principal, retired: Collection[UUID]) -> dict[UUID, list[Episode]]:
    """What was said in the turns in which the agent retired these."""
    mentions = Mention.objects.of(principal).filter(memory_id__in=retired, relation=Relation.REPLACED)
    turns = {
        (each.memory_id, each.message.session_id, each.message.turn) for each in mentions.select_related("message")
    }
    if not turns:
        return {}
    anywhere = Q(pk__in=[])
    for _, session_id, turn in turns:
        anywhere |= Q(message__session_id=session_id, message__turn=turn)
    said: dict[tuple[UUID, int], list[Episode]] = defaultdict(list)
    for episode in Episode.objects.of(principal).filter(anywhere).select_related("message"):
        if episode.message is not None:
            said[episode.message.session_id, episode.message.turn].append(episode)
    return {memory_id: said[session_id, turn] for memory_id, session_id, turn in turns}


def _consolidated(principal: Principal, story: Story, retired: Collection[UUID]) -> dict[UUID, list[Episode]]:
    """What a consolidation had read when it retired these: its record names the episodes."""
    times = [event.created_at for pk in retired for event in story.events.get(pk, ()) if _ends(event.action)]
    near = Q(pk__in=[])
    for moment in times:
        near |= Q(ended_at__range=(moment - _ONE_TRANSACTION, moment + _ONE_TRANSACTION))
    cited: dict[UUID, set[str]] = defaultdict(set)
    wanted = {str(pk): pk for pk in retired}
    for run in ConsolidationRun.objects.of(principal).filter(near).only("decisions"):
        for line in run.decisions:
            if line.get("what") == "end":
                for named in {line.get("memory_id"), *line.get("superseded_ids", ())} & wanted.keys():
                    cited[wanted[named]] |= set(line.get("episode_ids", ()))
    ids = {pk for each in cited.values() for pk in each}
    known = {str(each.pk): each for each in Episode.objects.of(principal).filter(pk__in=ids)} if ids else {}
    return {pk: [known[each] for each in named if each in known] for pk, named in cited.items()}


def _ends(action: str) -> bool:
    return action.endswith((".retired", ".retracted"))


def _in_order(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    return tuple(sorted(episodes, key=lambda each: (each.happened_at, each.sequence)))
