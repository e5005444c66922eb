"""What stands while a batch is read: the known facts, and what the batch's earlier statements added and ended.

Invariant: statements are weighed in their order, so each meets what was true when it was said; nothing that was learned
later, or in the same breath, counts as known to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memories.consolidation.grammar.words import content_words
from memories.consolidation.material import EpisodeText, Material
from memories.consolidation.slots import slot_of
from memories.hygiene.text import normalised


@dataclass(slots=True)
class Held:
    """A fact: a known one has an `id`, a proposed one a `place` among the proposals.

    `ended_at`: when a known one stopped being believed.
    """

    text: str
    key: str
    category: str
    learned_at: datetime
    valid_from: datetime | None = None
    id: UUID | None = None
    place: int | None = None
    current: bool = True
    retracted: bool = False
    ended_at: datetime | None = None
    episodes: frozenset[UUID] = frozenset()
    slot: str = field(init=False)
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.slot = slot_of(self.text, self.key)
        self.words = content_words(f"{self.text} {self.key}")


@dataclass(frozen=True, slots=True)
class Ended:
    """Facts that a proposal names, by id and by place."""

    ids: tuple[UUID, ...]
    places: tuple[int, ...]


class Standing:
    """The facts of a batch, changing as it is read."""

    def __init__(self, material: Material) -> None:
        self._held = [
            Held(
                text=fact.text,
                key=fact.key,
                category=fact.category,
                learned_at=fact.learned_at,
                valid_from=fact.valid_from,
                id=fact.id,
                current=fact.current,
                retracted=fact.retracted,
                ended_at=fact.superseded_at,
                episodes=fact.learned_from,
            )
            for fact in material.facts
        ]

    def current(self, episode: EpisodeText) -> list[Held]:
        """What was believed before `episode` was said, latest last."""
        return [held for held in self.believed_once(episode) if held.current]

    def ended_since(self, episode: EpisodeText) -> list[Held]:
        """What was believed when `episode` was said and is not any more: maybe these very words ended it."""
        return [
            held
            for held in self._held
            if held.ended_at is not None
            and held.learned_at <= episode.happened_at <= held.ended_at
            and episode.id not in held.episodes
        ]

    def believed_once(self, episode: EpisodeText) -> list[Held]:
        """What was known before `episode`, believed or replaced since, but not what was retracted."""
        known = [
            held
            for held in self._held
            if not held.retracted and held.learned_at <= episode.happened_at and episode.id not in held.episodes
        ]
        return sorted(known, key=lambda held: held.learned_at)

    def learned_from(self, episode: EpisodeText, text: str, key: str = "") -> bool:
        """Whether `episode` gave this fact already, in this wording or under this key."""
        wording = normalised(text)
        return any(
            episode.id in held.episodes
            and held.id is not None
            and (normalised(held.text) == wording or (key and held.key == key))
            for held in self._held
        )

    def says(self, text: str) -> Held | None:
        """The current fact of this wording."""
        wording = normalised(text)
        return next((held for held in self._held if held.current and normalised(held.text) == wording), None)

    def add(self, held: Held) -> None:
        """A proposed fact stands from here on."""
        self._held.append(held)

    def end(self, facts: Iterable[Held], *, retract: bool = False) -> Ended:
        """These stand no longer."""
        over = list(facts)
        for held in over:
            held.current = False
            held.retracted = held.retracted or retract
        return Ended(
            tuple(held.id for held in over if held.id is not None),
            tuple(held.place for held in over if held.place is not None),
        )


def distinct(facts: Iterable[Held]) -> Iterator[Held]:
    """Each once, in order."""
    seen: set[int] = set()
    for held in facts:
        if id(held) not in seen:
            seen.add(id(held))
            yield held
