"""The extractor of the English rule set: proposes plain statements after comparing them with known facts.

It reads only the owner's own words, in chronological order. Each statement is compared with the facts known at that
moment, excluding facts learned later or from the same episode.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from uuid import UUID

from memories.consolidation.material import EpisodeText, Extraction, Material, Proposal, ProposedEnd, ProposedFact
from memories.english.changes import read_changes
from memories.english.grammar import read
from memories.english.known import Held, Step, is_no_news, weighed
from memories.english.playbooks import read_procedures
from memories.hygiene.text import normalised
from memories.types import Contradiction

# Only with these verbs is "I no longer …" a fact by itself.
_LASTING_DENIALS = ("eat", "drink", "smoke", "take", "use")


class RuleExtractor:
    """The English Extractor; it raises no errors."""

    name = "rules"

    def extract(self, material: Material) -> Extraction:
        """Propose facts, ends, playbooks and outcomes from the owner's episodes."""
        batch = _Batch(material)
        for fact in material.facts:
            held = Held(fact.text, fact.key, fact.category, fact.learned_at, fact.valid_from, fact.id)
            held.current, held.retracted, held.ended_at = fact.current, fact.retracted, fact.superseded_at
            held.episodes = fact.learned_from
            batch.facts.append(held)
        for before, episode in pairwise((None, *material.episodes)):
            if episode is not None and episode.own:
                batch.read(episode, before.text if before and before.own else "")
        plain = [{"kind": type(each).__name__} | asdict(each) for each in batch.proposals]
        return Extraction(tuple(batch.proposals), {"proposals": json.loads(json.dumps(plain, default=str))})


@dataclass(slots=True)
class _Batch:
    """The proposals so far, and the facts as they are after them."""

    material: Material
    facts: list[Held] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)

    def read(self, episode: EpisodeText, before: str) -> None:
        """Add proposals from one episode: outcomes and playbooks, or else corrections, statements and ends."""
        if procedures := read_procedures(episode, self.material.playbooks):
            self.proposals += procedures
            return
        now, earlier_words = episode.happened_at, f"{episode.before} {before}"
        reading, changes = read(episode.text, earlier_words), read_changes(episode.text)
        context = f"{earlier_words} {episode.text}"
        earlier = [held for held in self.facts if held.learned_at <= now and episode.id not in held.episodes]
        earlier.sort(key=lambda held: held.learned_at)
        once = [held for held in earlier if not held.retracted]
        known = [held for held in once if held.current]
        heard = [held for held in earlier if not held.current and held.ended_at and held.ended_at >= now]
        steps = [*weighed(reading.statements, changes, known, now, [context], once=once, heard=heard)]
        if all(step.said for step in steps):
            denials = (replace(each, category="habits") for each in reading.statements if each.ends)
            lasting = (each for each in denials if each.ends.split()[0].casefold() in _LASTING_DENIALS)
            steps += (Step([], Contradiction.NATURAL, each) for each in lasting)
        for step in steps:
            if step.said is None:
                self._end(step, episode)
            else:
                self._propose(step, episode, [held for held in known if held.current])

    def _propose(self, step: Step, episode: EpisodeText, known: Sequence[Held]) -> None:
        """Propose a fact that supersedes others, unless it is already known or was stored during the conversation."""
        said, over = step.said, [held for held in step.over if held.current]
        if said is None:
            return
        worded = [held for held in self.facts if normalised(held.text) == normalised(said.text)]
        stands = next((held for held in worded if held.current), None)
        stored = any(held.id and episode.id in held.episodes for held in worded)
        if not (over and stands if stored else over or not is_no_news(said, known)):
            return
        parts = [each for held in over if held.place is not None for each in held.episodes]
        support = tuple(dict.fromkeys((*(parts if step.kind is Contradiction.HARSH else ()), episode.id)))
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
        if facts := [held for held in step.over if held.current or (harsh and not held.retracted)]:
            ids, places = _over(facts, retract=harsh)
            quote = step.quote if step.quote in episode.text else ""
            times = None if harsh else step.since
            self.proposals.append(ProposedEnd(ids, (episode.id,), places, step.kind, times, quote))


def _over(facts: Sequence[Held], *, retract: bool = False) -> tuple[tuple[UUID, ...], tuple[int, ...]]:
    """Mark `facts` as ended; return their ids, or the positions of facts that are only proposed."""
    for held in facts:
        held.current, held.retracted = False, held.retracted or retract
    ids = tuple(held.id for held in facts if held.id is not None)
    return ids, tuple(held.place for held in facts if held.place is not None)
