"""The extractor of the English rules: plain statements, weighed against what is known.

It reads only what the owner said, in the order it was said. Each statement meets the facts that stood at that moment:
what was learned later, or in the same breath, is not known to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from uuid import UUID

from memories.consolidation.material import (
    EpisodeText,
    Extraction,
    Material,
    Proposal,
    ProposedEnd,
    ProposedFact,
)
from memories.english.changes import read_changes
from memories.english.grammar import read
from memories.english.known import Held, Step, is_no_news, weighed
from memories.english.playbooks import read_procedures
from memories.hygiene.text import normalised
from memories.types import Contradiction

# "I no longer …" is a fact by itself only with these verbs.
_LASTING_DENIALS = ("eat", "drink", "smoke", "take", "use")


class RuleExtractor:
    """An Extractor; it raises nothing."""

    name = "rules"

    def extract(self, material: Material) -> Extraction:
        """What the batch says."""
        facts = [
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
        batch = _Batch(material, facts)
        for before, episode in pairwise((None, *material.episodes)):
            if episode is not None and episode.own:
                batch.read(episode, before)
        return Extraction(tuple(batch.proposals), {"proposals": [_plain(each) for each in batch.proposals]})


@dataclass(slots=True)
class _Batch:
    """The proposals so far, and the facts that stand after them."""

    material: Material
    facts: list[Held]
    proposals: list[Proposal] = field(default_factory=list)

    def read(self, episode: EpisodeText, before: EpisodeText | None) -> None:
        """Add what `episode` says: what worked, corrections, statements and ends."""
        if procedures := read_procedures(episode, self.material.playbooks):
            self.proposals += procedures
            return
        context = " ".join((episode.before, before.text if before and before.own else "", episode.text))
        reading, changes = read(episode.text, context), read_changes(episode.text)
        before_it = [held for held in self._known(episode) if episode.id not in held.episodes]
        once = [held for held in before_it if not held.retracted]
        current = [held for held in once if held.current]
        heard = [
            held for held in before_it if not held.current and held.ended_at and held.ended_at >= episode.happened_at
        ]
        steps = [*weighed(reading.statements, changes, current, episode.happened_at, [context], once=once, heard=heard)]
        for step in steps:
            self._take(step, episode, current)
        ended = any(step.said is None for step in steps)
        for statement in reading.statements:
            if statement.ends and not ended and statement.ends.split()[0].casefold() in _LASTING_DENIALS:
                self._take(Step([], Contradiction.NATURAL, replace(statement, category="habits")), episode, current)

    def _take(self, step: Step, episode: EpisodeText, known: Sequence[Held]) -> None:
        """Propose a step, unless the conversation took it already."""
        over = [held for held in step.over if not step.said or held.current]
        if step.said is None:
            self._end(step, episode)
        elif self._is_stored(step.said.text, episode):
            if over and self._says(step.said.text):
                self._propose(step, over, episode)
        elif over or not is_no_news(step.said, [held for held in known if held.current]):
            self._propose(step, over, episode)

    def _propose(self, step: Step, over: Sequence[Held], episode: EpisodeText) -> None:
        """Propose a fact in place of others; episodes that gave a part of its words support it as well."""
        said = step.said
        if said is None:
            return
        parts = [each for held in over if held.place is not None and said.quote == step.quote for each in held.episodes]
        support = tuple(dict.fromkeys((*(parts if step.kind is Contradiction.HARSH else ()), episode.id)))
        stands = self._says(said.text)
        ids, places = _over([held for held in over if held is not stands])
        self.proposals.append(
            ProposedFact(
                text=said.text,
                supporting_episode_ids=support,
                key=said.key,
                category=said.category,
                valid_from=step.since,
                supersedes=ids,
                supersedes_places=places,
                contradiction=step.kind,
                quote=said.quote if said.quote in episode.text else "",
            )
        )
        if stands is None:
            held = Held(said.text, said.key, said.category, episode.happened_at, step.since)
            held.place, held.episodes = len(self.proposals) - 1, frozenset(support)
            self.facts.append(held)

    def _end(self, step: Step, episode: EpisodeText) -> None:
        """Propose the end of known facts."""
        harsh = step.kind is Contradiction.HARSH
        facts = [held for held in step.over if held.current or (harsh and not held.retracted)]
        if facts:
            ids, places = _over(facts, retract=harsh)
            self.proposals.append(
                ProposedEnd(
                    fact_ids=ids,
                    supporting_episode_ids=(episode.id,),
                    fact_places=places,
                    contradiction=step.kind,
                    valid_to=step.since,
                    quote=step.quote if step.quote in episode.text else "",
                )
            )

    def _known(self, episode: EpisodeText) -> list[Held]:
        """What was learned before `episode`, oldest first."""
        known = [held for held in self.facts if held.learned_at <= episode.happened_at]
        return sorted(known, key=lambda held: held.learned_at)

    def _is_stored(self, text: str, episode: EpisodeText) -> bool:
        """Whether the conversation stored these words when they were said."""
        wording = normalised(text)
        return any(held.id and episode.id in held.episodes and normalised(held.text) == wording for held in self.facts)

    def _says(self, text: str) -> Held | None:
        wording = normalised(text)
        return next((held for held in self.facts if held.current and normalised(held.text) == wording), None)


def _over(facts: Sequence[Held], *, retract: bool = False) -> tuple[tuple[UUID, ...], tuple[int, ...]]:
    """End `facts`; return the ids and the places by which a proposal names them."""
    for held in facts:
        held.current = False
        held.retracted = held.retracted or retract
    ids = tuple(held.id for held in facts if held.id is not None)
    return ids, tuple(held.place for held in facts if held.place is not None)


def _plain(proposal: Proposal) -> dict[str, object]:
    """A proposal as JSON values, for the record."""
    return {"kind": type(proposal).__name__} | {name: _value(value) for name, value in asdict(proposal).items()}


def _value(value: object) -> object:
    if isinstance(value, tuple):
        return [_value(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
