"""What an answer was made from, and the newer facts of the same subject that it was not made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from memories.models import Episode, Fact, Relation
from memories.selectors.memories import Memory
from memories.selectors.staff.conversations import TurnRecord
from tenants.principal import Principal


@dataclass(frozen=True, slots=True)
class NewerFact:
    """A fact that says something newer about what `used` says. `rank`: its place in the recall, if it was recorded.

    `too_late`: it was learned only after the answer.
    """

    used: Memory
    fact: Fact
    rank: int | None
    too_late: bool


@dataclass(frozen=True, slots=True)
class AnswerSources:
    """The memories that an answer used, of the `recalled` ones, and the newer facts that it did not use.

    `known`: at least for one recalled memory it can be said whether the answer used it.
    """

    used: tuple[Memory, ...]
    recalled: int
    known: bool
    newer: tuple[NewerFact, ...]


def sources_of(principal: Principal, record: TurnRecord) -> AnswerSources:
    """The sources of a turn's answer; two queries if it used facts or events."""
    recalled = record.view.having(Relation.RECALLED, Relation.SHOWN)
    used = tuple(each.memory for each in record.view.made_from if each.memory is not None)
    return AnswerSources(
        used=used,
        recalled=len(recalled),
        known=any(each.used is not None for each in recalled),
        newer=tuple(_newer(principal, record, used, {each.memory_id for each in recalled})),
    )


def _newer(principal: Principal, record: TurnRecord, used: Iterable[Memory], given: set[UUID]) -> Iterable[NewerFact]:
    """The latest fact under the key of each used one that was not given; for an event, of the facts learned from it."""
    keys = _keys_of(principal, used)
    facts = Fact.objects.of(principal).filter(key__in={key for found in keys.values() for key in found})
    latest = list(facts.exclude(pk__in=given).filter(Q(retracted=False)).order_by("-learned_at", "pk")) if keys else []
    ranks = {line["id"]: int(line["rank"]) for each in record.recalls.values() for line in each.trace.candidates}
    for memory in used:
        since = memory.happened_at if isinstance(memory, Episode) else getattr(memory, "learned_at", None)
        newer = (fact for fact in latest if fact.key in keys.get(memory.pk, ()) and since and fact.learned_at > since)
        if isinstance(memory, Episode):  # what was learned from the event itself says nothing newer
            newer = (fact for fact in newer if memory.pk not in _support_of(fact))
        if fact := next(newer, None):
            too_late = fact.learned_at > record.view.said_at
            yield NewerFact(memory, fact, ranks.get(str(fact.pk)), too_late)


def _keys_of(principal: Principal, used: Iterable[Memory]) -> Mapping[UUID, set[str]]:
    """The keys that each memory says something about."""
    keys = {row.pk: {row.key} for row in used if isinstance(row, Fact) and row.key}
    episodes = [row.pk for row in used if isinstance(row, Episode)]
    learned = Fact.objects.of(principal).exclude(key="").filter(supporting_episodes__in=episodes) if episodes else None
    for pk, key in learned.values_list("supporting_episodes", "key") if learned is not None else ():
        keys.setdefault(pk, set()).add(key)
    return keys


def _support_of(fact: Fact) -> set[UUID]:
    return set(fact.supporting_episodes.values_list("pk", flat=True))
