"""The extractor without a model: plain statements by a grammar, weighed against what is known.

Invariant: it reads only what the owner said, in the order it was said, and would rather miss a fact than
invent one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

from memories.consolidation.amending import corrected, corrected_key, same_mistake, shifted
from memories.consolidation.endings import meant
from memories.consolidation.grammar.changes import read_changes
from memories.consolidation.grammar.rules import read
from memories.consolidation.grammar.statement import Change, Correction, End, Statement
from memories.consolidation.grammar.times import began
from memories.consolidation.material import EpisodeText, Material
from memories.consolidation.proposals import Extraction, Proposal, ProposedEnd, ProposedFact
from memories.consolidation.rivals import is_no_news, made_false
from memories.consolidation.slots import slot_of
from memories.consolidation.standing import Held, Standing
from memories.consolidation.verdicts import read_procedures
from memories.hygiene.text import normalised
from memories.types import Contradiction

# Who tells today that they moved so long ago tells a story; what is known of the time since is not over.
LONG_AGO = timedelta(days=400)
# What somebody no longer does is worth knowing by itself only of these.
_LASTING_DENIALS = ("eat", "drink", "smoke", "take", "use")


class RuleExtractor:
    """Reads a batch by the grammar; see Extractor."""

    name = "rules"

    def extract(self, material: Material) -> Extraction:
        """What the batch says. It raises nothing, for no text is beyond reading or ignoring."""
        batch = _Batch(material, Standing(material))
        earlier = (None, *material.episodes)
        for before, episode in pairwise(earlier):
            if episode is not None and episode.own:
                batch.read(episode, before)
        return Extraction(tuple(batch.proposals), {"proposals": [_plain(each) for each in batch.proposals]})


@dataclass(slots=True)
class _Batch:
    """The proposals so far, and what stands after them."""

    material: Material
    standing: Standing
    proposals: list[Proposal] = field(default_factory=list)

    def read(self, episode: EpisodeText, before: EpisodeText | None) -> None:
        """Add what `episode` says: corrections, statements, ends, and what worked."""
        procedures = read_procedures(episode, self.material.playbooks)
        self.proposals += procedures
        if procedures:
            return
        reading = read(episode.text)
        changes = read_changes(episode.text)
        put_right = self._put_right(changes, reading.statements, episode)
        context = " ".join((episode.before, before.text if before and before.own else "", episode.text))
        told = {slot_of(statement.text, statement.key) for statement in reading.statements}
        for statement in reading.statements:
            if not statement.ends and not put_right & {
                normalised(statement.text),
                statement.quote,
                statement.key or "-",
            }:
                self._state(statement, episode, told)
        ended = self._end([change for change in changes if isinstance(change, End)], episode, context)
        for statement in reading.statements:
            if statement.ends and not ended and statement.ends.split()[0].casefold() in _LASTING_DENIALS:
                self._state(replace(statement, category="habits"), episode, told)

    def _put_right(self, changes: Iterable[Change], statements: Iterable[Statement], episode: EpisodeText) -> set[str]:
        """Apply corrections and shifts; the clauses, wordings and keys that they took care of."""
        keys = {normalised(statement.text): statement.key for statement in statements}
        done: set[str] = set()
        for change in changes:
            known = self.standing.current(episode)
            if isinstance(change, End):
                continue
            found = corrected(change, known) if isinstance(change, Correction) else shifted(change, known)
            if found is None:
                continue
            held, text = found
            key = corrected_key(held, change) if isinstance(change, Correction) else held.key
            key = key or keys.get(normalised(text), "")
            kind = Contradiction.HARSH if isinstance(change, Correction) else Contradiction.NATURAL
            over = same_mistake(held, change, known) if isinstance(change, Correction) else [held]
            told = Statement(text, key, held.category, quote=change.quote)
            self._propose(told, over, kind, episode, also=held.episodes if held.place is not None else ())
            done |= {change.quote, normalised(text), *({held.key} - {""})}
        return done

    def _state(self, statement: Statement, episode: EpisodeText, told: Collection[str]) -> None:
        """Propose a fact with what it makes false, unless this very episode did so already or it is an old story."""
        known = self.standing.current(episode)
        replaced = made_false(statement, known, told)
        if self.standing.learned_from(episode, statement.text):
            # The conversation stored it; what it makes false may not have been at hand then.
            if not replaced or self.standing.says(statement.text) is None:
                return
        elif is_no_news(statement, known):
            return
        since = began(statement.quote, episode.happened_at)
        told_long_ago = since is not None and since < episode.happened_at - LONG_AGO
        if told_long_ago and any(since < (held.valid_from or held.learned_at) for held in replaced if since):
            return
        kind = Contradiction.HARSH if statement.corrects and replaced else Contradiction.NATURAL
        self._propose(statement, replaced, kind, episode)

    def _propose(
        self,
        statement: Statement,
        replaced: Sequence[Held],
        kind: Contradiction,
        episode: EpisodeText,
        *,
        also: Iterable[UUID] = (),
    ) -> None:
        """Propose a fact in place of `replaced`. `also` are episodes of the batch that gave a part of its words."""
        support = (*also, episode.id)
        stands = self.standing.says(statement.text)
        over = self.standing.end([held for held in replaced if held is not stands])
        since = began(statement.quote, episode.happened_at) if statement.quote else None
        self.proposals.append(
            ProposedFact(
                text=statement.text,
                supporting_episode_ids=support,
                key=statement.key,
                category=statement.category,
                valid_from=since,
                supersedes=over.ids,
                supersedes_places=over.places,
                contradiction=kind,
                quote=statement.quote if statement.quote in episode.text else "",
            )
        )
        if stands is None:
            place = len(self.proposals) - 1
            self.standing.add(
                Held(
                    text=statement.text,
                    key=statement.key,
                    category=statement.category,
                    learned_at=episode.happened_at,
                    valid_from=since,
                    place=place,
                    episodes=frozenset(support),
                )
            )

    def _end(self, ends: Sequence[End], episode: EpisodeText, context: str) -> bool:
        """Propose the ends that mean known facts; whether there was any."""
        found = False
        for end in ends:
            harsh = end.kind is Contradiction.HARSH
            known = self.standing.believed_once(episode) if harsh else self.standing.current(episode)
            heard = self.standing.ended_since(episode)
            named = meant(end, [*known, *(held for held in heard if held not in known)], context)
            found = found or bool(named)
            facts = [held for held in named if held in known]
            if not facts:
                continue  # nothing was meant, or it ended when these words were heard
            over = self.standing.end(facts, retract=harsh)
            until = None if harsh else began(end.quote, episode.happened_at)
            self.proposals.append(
                ProposedEnd(
                    fact_ids=over.ids,
                    supporting_episode_ids=(episode.id,),
                    fact_places=over.places,
                    contradiction=end.kind,
                    valid_to=until,
                    quote=end.quote if end.quote in episode.text else "",
                )
            )
        return found


def _plain(proposal: Proposal) -> dict[str, object]:
    """A proposal as values for the record."""
    return {"kind": type(proposal).__name__} | {name: _value(value) for name, value in asdict(proposal).items()}


def _value(value: object) -> object:
    if isinstance(value, tuple):
        return [_value(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
