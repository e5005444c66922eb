"""The extractor of the English rules: plain statements, weighed against what is known.

It reads only what the owner said, in the order it was said. Each statement meets the facts that stood at that moment:
what was learned later, or in the same breath, is not known to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
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
from memories.english.changes import Change, Correction, End, read_changes
from memories.english.grammar import Statement, read
from memories.english.known import (
    Held,
    corrected,
    corrected_key,
    is_no_news,
    made_false,
    meant,
    same_mistake,
    shifted,
    slot_of,
)
from memories.english.playbooks import read_procedures
from memories.english.times import began
from memories.hygiene.text import normalised
from memories.types import Contradiction

# A move of so long ago is a story; what was learned since then is not over.
LONG_AGO = timedelta(days=400)
# "I no longer …" is a fact by itself only with these verbs.
_LASTING_DENIALS = ("eat", "drink", "smoke", "take", "use")


class RuleExtractor:
    """An Extractor; it raises nothing."""

    name = "rules"

    def extract(self, material: Material) -> Extraction:
        """What the batch says."""
        batch = _Batch(material, [_held_of(material, number) for number in range(len(material.facts))])
        for before, episode in pairwise((None, *material.episodes)):
            if episode is not None and episode.own:
                batch.read(episode, before)
        return Extraction(tuple(batch.proposals), {"proposals": [_plain(each) for each in batch.proposals]})


def _held_of(material: Material, number: int) -> Held:
    fact = material.facts[number]
    return Held(
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
        statements = read(episode.text).statements
        changes = read_changes(episode.text)
        done = self._put_right(changes, statements, episode)
        context = " ".join((episode.before, before.text if before and before.own else "", episode.text))
        told = {slot_of(statement.text, statement.key) for statement in statements}
        for statement in statements:
            named = {normalised(statement.text), statement.quote, statement.key or "-"}
            if not statement.ends and not done & named:
                self._state(statement, episode, told)
        ended = self._end([change for change in changes if isinstance(change, End)], episode, context)
        for statement in statements:
            if statement.ends and not ended and statement.ends.split()[0].casefold() in _LASTING_DENIALS:
                self._state(replace(statement, category="habits"), episode, told)

    def _put_right(self, changes: Iterable[Change], statements: Iterable[Statement], episode: EpisodeText) -> set[str]:
        """Apply corrections and shifts; return the clauses, wordings and keys that are done with."""
        keys = {normalised(statement.text): statement.key for statement in statements}
        done: set[str] = set()
        for change in changes:
            if isinstance(change, End):
                continue
            known = self._current(episode)
            harsh = isinstance(change, Correction)
            found = corrected(change, known) if isinstance(change, Correction) else shifted(change, known)
            if found is None:
                continue
            held, text = found
            key = corrected_key(held, change) if isinstance(change, Correction) else held.key
            over = same_mistake(held, change, known) if isinstance(change, Correction) else [held]
            told = Statement(text, key or keys.get(normalised(text), ""), held.category, quote=change.quote)
            kind = Contradiction.HARSH if harsh else Contradiction.NATURAL
            self._propose(told, over, kind, episode, also=held.episodes if held.place is not None else ())
            done |= {change.quote, normalised(text), *({held.key} - {""})}
        return done

    def _state(self, statement: Statement, episode: EpisodeText, told: Collection[str]) -> None:
        """Propose a fact with what it makes false, unless it is known, or tells an old story."""
        known = self._current(episode)
        replaced = made_false(statement, known, told)
        wording = normalised(statement.text)
        if any(held.id and episode.id in held.episodes and normalised(held.text) == wording for held in self.facts):
            # The conversation stored it already; what it makes false may not have been at hand then.
            if not replaced or self._says(statement.text) is None:
                return
        elif is_no_news(statement, known):
            return
        since = began(statement.quote, episode.happened_at)
        story = since is not None and since < episode.happened_at - LONG_AGO
        if story and any(since < (held.valid_from or held.learned_at) for held in replaced if since):
            return
        harsh = statement.corrects and bool(replaced)
        self._propose(statement, replaced, Contradiction.HARSH if harsh else Contradiction.NATURAL, episode)

    def _propose(
        self,
        statement: Statement,
        replaced: Sequence[Held],
        kind: Contradiction,
        episode: EpisodeText,
        *,
        also: Iterable[UUID] = (),
    ) -> None:
        """Propose a fact in place of `replaced`; episodes in `also` gave a part of its words."""
        support = (*also, episode.id)
        stands = self._says(statement.text)
        ids, places = _over([held for held in replaced if held is not stands])
        since = began(statement.quote, episode.happened_at) if statement.quote else None
        self.proposals.append(
            ProposedFact(
                text=statement.text,
                supporting_episode_ids=support,
                key=statement.key,
                category=statement.category,
                valid_from=since,
                supersedes=ids,
                supersedes_places=places,
                contradiction=kind,
                quote=statement.quote if statement.quote in episode.text else "",
            )
        )
        if stands is None:
            held = Held(statement.text, statement.key, statement.category, episode.happened_at, since)
            held.place, held.episodes = len(self.proposals) - 1, frozenset(support)
            self.facts.append(held)

    def _end(self, ends: Sequence[End], episode: EpisodeText, context: str) -> bool:
        """Propose the ends that mean known facts; whether there was any."""
        found = False
        for end in ends:
            harsh = end.kind is Contradiction.HARSH
            known = self._believed_once(episode) if harsh else self._current(episode)
            heard = [held for held in self._ended_since(episode) if held not in known]
            named = meant(end, [*known, *heard], context)
            found = found or bool(named)
            facts = [held for held in named if held in known]
            if not facts:
                continue  # nothing was meant, or it ended when these words were heard
            ids, places = _over(facts, retract=harsh)
            self.proposals.append(
                ProposedEnd(
                    fact_ids=ids,
                    supporting_episode_ids=(episode.id,),
                    fact_places=places,
                    contradiction=end.kind,
                    valid_to=None if harsh else began(end.quote, episode.happened_at),
                    quote=end.quote if end.quote in episode.text else "",
                )
            )
        return found

    def _current(self, episode: EpisodeText) -> list[Held]:
        return [held for held in self._believed_once(episode) if held.current]

    def _believed_once(self, episode: EpisodeText) -> list[Held]:
        """What was known before `episode`, also what was replaced since, but not what was retracted."""
        known = [
            held
            for held in self.facts
            if not held.retracted and held.learned_at <= episode.happened_at and episode.id not in held.episodes
        ]
        return sorted(known, key=lambda held: held.learned_at)

    def _ended_since(self, episode: EpisodeText) -> list[Held]:
        """What was believed at `episode` and is not any more: these very words may have ended it."""
        return [
            held
            for held in self.facts
            if held.ended_at is not None
            and held.learned_at <= episode.happened_at <= held.ended_at
            and episode.id not in held.episodes
        ]

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
