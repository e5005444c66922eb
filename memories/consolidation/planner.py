"""The planner decides which proposals become memories and records why the others do not, for every extractor.

A stored proposal always has an episode of the batch in which the owner said it. A proposal never supersedes a fact of
another owner, a fact stated later, or a fact outside the material. Each proposal gets exactly one decision.

A proposed text must be grounded in the user's own words; in doubt it is refused. The user must have said its names and
numbers, or known facts must contain them. A year may follow from a relative time in the user's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memories.consolidation.material import (
    EpisodeText,
    KnownFact,
    KnownPlaybook,
    Material,
    Proposal,
    ProposedEnd,
    ProposedFact,
    ProposedOutcome,
    ProposedPlaybook,
)
from memories.consolidation.rules import asks, content_words, junk, junk_in_playbook, own_words, same
from memories.constants import CONFIDENCE_FLOOR, MAX_MEMORY_CHARACTERS
from memories.hygiene.junk import reason_of
from memories.hygiene.sensitivity.findings import has_label
from memories.hygiene.text import normalised
from memories.types import CONFIDENCE_OF_SOURCE, Contradiction
from memories.words import folded

_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_WORD = re.compile(r"[\w'’-]+")
# A fact begins with a verb or noun, so its first capital letter does not mark a name.
_FIRST_WORD = re.compile(r"^\W*\w[\w'-]*\s*")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
# Share of a memory's content words that the user must say to state it; wordings differ in the rest.
STATED_SHARE = 0.5
# A name may end differently in the user's words ("Anna's"): its first four letters, or all but three, must match.
_SHORTEST_NAME, _ENDING = 4, 3

NOT_QUOTED = "the words that it quotes are not the user's"
NOT_SAID = "nothing of it is in the user's own words"
ASSISTANT_ALONE = "what it tells is in the assistant's words alone"
INVENTED = "a name or number of it was said by nobody"


def ungrounded(fact: ProposedFact, *, own: Iterable[str], assistant: Iterable[str], known: Iterable[str]) -> str:
    """The reason why `fact` is not grounded in `own`, its supporting texts; empty if it is grounded.

    `assistant` are the assistant's preceding answers, `known` the texts of the facts in the material.
    """
    said = tuple(own)
    if misquoted(fact.quote, said):
        return NOT_QUOTED
    content = content_words(fact.text)
    if not content & content_words(" ".join(said)):
        if content & content_words(" ".join(assistant)):
            return ASSISTANT_ALONE
        # A quote can ground a paraphrase, but a bare "yes" grounds nothing.
        if not content_words(fact.quote) or junk(fact.quote) is not None:
            return NOT_SAID
    heard = _words((*said, *known, *_times(fact)))
    missing = _unheard(_details(fact), heard)
    if missing and _unheard(missing, _words(assistant)) != missing:
        return ASSISTANT_ALONE
    return INVENTED if missing else ""


def misquoted(quote: str, own: Iterable[str]) -> bool:
    """Whether `quote` is missing from the user's own texts. An empty quote is never misquoted."""
    said = tuple(own)
    if any(quote in text for text in said):
        return False
    wanted = normalised(quote)
    return bool(wanted) and not any(wanted in normalised(text) for text in said)


def repeats(text: str, *, own: str, quote: str) -> bool:
    """Whether `own` only repeats the shown `text`: its statements contain neither most of its words nor the quote."""
    stated = stated_in(own)
    content = content_words(text)
    by_quote = bool(quote.strip()) and not misquoted(quote, [stated])
    return not by_quote and len(content & content_words(stated)) < STATED_SHARE * len(content)


def stated_in(own: str) -> str:
    """The sentences of a text that state something, without its questions."""
    return " ".join(part for part in _SENTENCE.findall(own) if not asks(part))


def _details(fact: ProposedFact) -> set[str]:
    """The names and numbers of a fact, folded.

    A month's name before the year of `valid_from` or `valid_to` is left out.
    """
    text = _FIRST_WORD.sub("", fact.text, count=1)
    for moment in filter(None, (fact.valid_from, fact.valid_to)):
        text = re.sub(rf"\b\w+\.?\s+(?={moment.year}\b)", "", text)
    found = [word for word in _WORD.findall(text) if word[0].isupper() and len(word) > 1]
    return {_bare(word) for word in (*found, *_NUMBER.findall(text))} - {""}


def _words(texts: Iterable[str]) -> set[str]:
    """All words, folded, and the numbers in them without their units."""
    return {_bare(word) for word in {word for text in texts for word in (*_WORD.findall(text), *_NUMBER.findall(text))}}


def _bare(word: str) -> str:
    return folded(word).replace("’", "'").removesuffix("'s").replace("'", "")


def _unheard(details: set[str], heard: set[str]) -> set[str]:
    """The details that were not said. A name may have another ending."""
    beginnings = {word[: len(word) - less] for word in heard for less in range(min(_ENDING, len(word) - 1) + 1)}

    def is_heard(name: str) -> bool:
        beginning = name[: max(_SHORTEST_NAME, len(name) - _ENDING)]
        return not name[0].isdigit() and len(name) >= _SHORTEST_NAME and beginning in beginnings

    return {detail for detail in details - heard if not is_heard(detail)}


def _times(fact: ProposedFact) -> list[str]:
    """Year and day of the fact's validity in digits, because the user may have said "last year" instead."""
    return [f"{moment.year} {moment.day}" for moment in (fact.valid_from, fact.valid_to) if moment]


FEWEST_STEPS = 2
# Facts that one statement may end. A move ends about ten; an extractor that names more was probably asked to end all.
MOST_ENDED = 20
TOO_MANY = "it would end more facts than one statement can"
PASTED = "its supporting words were pasted, not said"
TAKEN_OUT = "what it says was taken out before the words were stored"
NOT_MEANT = "nothing of what it would end is in the conversation, and it quotes nothing"


class PlanVerdict(StrEnum):
    """The planner's verdict on a proposal."""

    STORE = "store"
    CONFIRM = "confirm"
    KNOWN = "known"
    REFUSE = "refused"


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on the proposal at index `place`. `said_at` is the time of its latest supporting episode.

    STORE writes `proposal`, without the supersessions that were not allowed. CONFIRM merges it into `known`. KNOWN and
    REFUSE write nothing.
    """

    place: int
    verdict: PlanVerdict
    reason: str
    proposal: Proposal
    said_at: datetime | None = None
    known: KnownFact | None = None


class _Refused(Exception):
    """A proposal failed a check; the message is the recorded reason."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Decides on the proposals of one batch. `history` holds the owner's facts of the same wordings, ended ones too."""

    material: Material
    history: Sequence[KnownFact] = ()

    def plan(self, proposals: Sequence[Proposal]) -> list[Decision]:
        """A decision for each proposal, in order. Later proposals may refer to earlier ones that are stored."""
        decided: list[Decision] = []
        for place, proposal in enumerate(proposals):
            try:
                decision = self._decide(place, proposal, decided)
            except _Refused as guard:
                decision = Decision(place, PlanVerdict.REFUSE, str(guard), proposal)
            decided.append(decision)
        return decided

    def _decide(self, place: int, proposal: Proposal, decided: Sequence[Decision]) -> Decision:
        support = self._support(proposal.supporting_episode_ids)
        said_at = max(episode.happened_at for episode in support)
        match proposal:
            case ProposedFact():
                return replace(self._fact(place, proposal, support, decided), said_at=said_at)
            case ProposedEnd():
                return replace(self._end(place, proposal, support, decided), said_at=said_at)
            case ProposedPlaybook():
                return replace(self._playbook(place, proposal, support, decided), said_at=said_at)
            case ProposedOutcome():
                return replace(self._outcome(place, proposal, decided), said_at=said_at)

    def _support(self, ids: Iterable[UUID]) -> list[EpisodeText]:
        episodes = [self.material.episode(episode_id) for episode_id in dict.fromkeys(ids)]
        if not episodes:
            raise _Refused("no episode supports it")
        if None in episodes:
            raise _Refused("it names an episode that is not in the batch")
        own = [episode for episode in episodes if episode is not None and episode.own]
        if len(own) != len(episodes):
            raise _Refused("somebody else said it")
        said = [replace(episode, text=own_words(episode.text)) for episode in own]
        if any(before.text.strip() and not after.text for before, after in zip(own, said, strict=True)):
            raise _Refused(PASTED)
        return said

    def _fact(
        self, place: int, fact: ProposedFact, support: Sequence[EpisodeText], decided: Sequence[Decision]
    ) -> Decision:
        self._check_words(fact, support, decided)
        said_at = max(episode.happened_at for episode in support)
        fact = self._without_what_it_must_not_replace(fact, said_at, decided)
        learned = {episode.id for episode in support}
        for known in self._alike(fact):
            if known.learned_from & learned:
                return self._known(place, fact, known, "learned when it was said")
            if not known.current and known.superseded_at and known.superseded_at >= said_at:
                raise _Refused("retracted since" if known.retracted else "no longer true, and in the history already")
            if known.current and known.learned_at > said_at and known.text != fact.text:
                return self._known(place, fact, known, "a newer statement says the same")
            if known.current:
                if all(_repeats(episode, known, fact) for episode in support):
                    return Decision(place, PlanVerdict.KNOWN, "it repeats what had been recalled", fact, known=known)
                return Decision(place, PlanVerdict.CONFIRM, "known already", fact, known=known)
        if (earlier := self._told_before(fact, decided)) is not None:
            return Decision(place, PlanVerdict.KNOWN, f"the same as number {earlier.place + 1}", fact)
        return Decision(place, PlanVerdict.STORE, "said by the user", fact)

    def _check_words(self, fact: ProposedFact, support: Sequence[EpisodeText], decided: Sequence[Decision]) -> None:
        if not fact.text.strip() or len(fact.text) > MAX_MEMORY_CHARACTERS:
            raise _Refused("its text is empty or too long")
        if found := junk(fact.text, slot=bool(fact.key)):
            raise _Refused(reason_of(found))
        if has_label(fact.text):
            raise _Refused(TAKEN_OUT)
        confidence = CONFIDENCE_OF_SOURCE[fact.source] if fact.confidence is None else fact.confidence
        if not CONFIDENCE_FLOOR <= confidence <= 1.0:
            raise _Refused("its confidence is below the floor")
        if fact.valid_from and fact.valid_to and fact.valid_to < fact.valid_from:
            raise _Refused("it ends before it begins")
        # Facts from earlier episodes of the batch count as known, so the size of the batch does not matter.
        taught = [
            each.proposal.text
            for each in decided
            if each.verdict is PlanVerdict.STORE and isinstance(each.proposal, ProposedFact)
        ]
        reason = ungrounded(
            fact,
            own=[episode.text for episode in support],
            assistant=[episode.before for episode in support],
            known=[*(known.text for known in self.material.facts), *taught],
        )
        if reason:
            raise _Refused(reason)

    def _without_what_it_must_not_replace(
        self, fact: ProposedFact, said_at: datetime, decided: Sequence[Decision]
    ) -> ProposedFact:
        """Keep only the supersessions of current, older facts of the material, and of earlier proposals."""
        facts = self.material.facts_by_id
        kept = [
            pk
            for pk in dict.fromkeys(fact.supersedes)
            if pk in facts and _may_end(facts[pk], said_at) and normalised(facts[pk].text) != normalised(fact.text)
        ]
        places = [place for place in dict.fromkeys(fact.supersedes_places) if _is_stored_fact(decided, place)]
        if len(kept) + len(places) > MOST_ENDED:
            raise _Refused(TOO_MANY)
        return replace(fact, supersedes=tuple(kept), supersedes_places=tuple(places))

    def _known(self, place: int, fact: ProposedFact, known: KnownFact, reason: str) -> Decision:
        """The decision on a known fact, which may still end other facts."""
        if known.current and (fact.supersedes or fact.supersedes_places):
            rest = tuple(pk for pk in fact.supersedes if pk != known.id)
            if rest or fact.supersedes_places:
                return Decision(place, PlanVerdict.CONFIRM, reason, replace(fact, supersedes=rest), known=known)
        return Decision(place, PlanVerdict.KNOWN, reason, fact, known=known)

    def _alike(self, fact: ProposedFact) -> Iterator[KnownFact]:
        """Known facts that say the same: by equal text, by the rule set, or by key and supporting episode."""
        wording = normalised(fact.text)
        candidates = {known.id: known for known in (*self.history, *self.material.facts)}.values()
        equal = [known for known in candidates if normalised(known.text) == wording]
        support = set(fact.supporting_episode_ids)
        worded = [known for known in candidates if fact.key and known.key == fact.key and known.learned_from & support]
        near = [
            known
            for known in candidates
            if known.current and not (fact.key and known.key and fact.key != known.key) and same(known.text, fact.text)
        ]
        replaced = set(fact.supersedes)
        distinct = {known.id: known for known in (*equal, *worded, *near) if known.id not in replaced}
        yield from sorted(distinct.values(), key=lambda known: (not known.current, known.id))

    def _told_before(self, fact: ProposedFact, decided: Sequence[Decision]) -> Decision | None:
        for earlier in decided:
            proposal = earlier.proposal
            if (
                earlier.verdict is PlanVerdict.STORE
                and isinstance(proposal, ProposedFact)
                and earlier.place not in fact.supersedes_places
                and proposal.key == fact.key
                and same(proposal.text, fact.text)
            ):
                return earlier
        return None

    def _end(
        self, place: int, end: ProposedEnd, support: Sequence[EpisodeText], decided: Sequence[Decision]
    ) -> Decision:
        said_at = max(episode.happened_at for episode in support)
        if misquoted(end.quote, [episode.text for episode in support]):
            raise _Refused(NOT_QUOTED)
        facts = self.material.facts_by_id
        may_end = _may_retract if end.contradiction is Contradiction.HARSH else _may_end
        ids = tuple(pk for pk in dict.fromkeys(end.fact_ids) if pk in facts and may_end(facts[pk], said_at))
        places = tuple(number for number in dict.fromkeys(end.fact_places) if _is_stored_fact(decided, number))
        if not ids and not places:
            raise _Refused("it names no fact that is believed and older than these words")
        if len(ids) + len(places) > MOST_ENDED:
            raise _Refused(TOO_MANY)
        named = [facts[pk].text for pk in ids] + [_text_of(decided[number]) for number in places]
        spoken = " ".join(f"{episode.text} {episode.before}" for episode in support)
        if not end.quote.strip() and not any(_shares_words(text, spoken) for text in named):
            raise _Refused(NOT_MEANT)
        return Decision(place, PlanVerdict.STORE, "said by the user", replace(end, fact_ids=ids, fact_places=places))

    def _playbook(
        self,
        place: int,
        playbook: ProposedPlaybook,
        support: Sequence[EpisodeText],
        decided: Sequence[Decision],
    ) -> Decision:
        if len(playbook.steps) < FEWEST_STEPS or not all(step.strip() for step in playbook.steps):
            raise _Refused("a way to do something has several steps")
        if not playbook.title.strip():
            raise _Refused("it has no title")
        if found := junk_in_playbook(playbook.title, playbook.trigger, "", playbook.steps):
            raise _Refused(reason_of(found))
        if has_label(" ".join((playbook.title, playbook.trigger, *playbook.steps))):
            raise _Refused(TAKEN_OUT)
        names = {normalised(playbook.title), normalised(playbook.trigger)} - {""}
        at_hand: list[KnownPlaybook | ProposedPlaybook] = [*self.material.playbooks]
        at_hand += [
            each.proposal
            for each in decided
            if each.verdict is PlanVerdict.STORE and isinstance(each.proposal, ProposedPlaybook)
        ]
        for known in at_hand:
            same_name = names & {normalised(known.title), normalised(known.trigger)}
            if same_name or same(_when(known), _when(playbook)):
                return Decision(place, PlanVerdict.KNOWN, "a known playbook has this trigger", playbook)
        spoken = " ".join(f"{episode.text} {episode.before}" for episode in support)
        if not all(_shares_words(step, spoken) for step in playbook.steps):
            raise _Refused("a step of it was said by nobody")
        return Decision(place, PlanVerdict.STORE, "told by the user", playbook)

    def _outcome(self, place: int, outcome: ProposedOutcome, decided: Sequence[Decision]) -> Decision:
        if outcome.playbook_id not in {playbook.id for playbook in self.material.playbooks}:
            raise _Refused("it names a playbook that is not at hand")
        stored = (each.proposal for each in decided if each.verdict is PlanVerdict.STORE)
        support = set(outcome.supporting_episode_ids)
        for earlier in stored:
            if (
                isinstance(earlier, ProposedOutcome)
                and earlier.playbook_id == outcome.playbook_id
                and support & set(earlier.supporting_episode_ids)
            ):
                return Decision(place, PlanVerdict.KNOWN, "the same words counted already", outcome)
        return Decision(place, PlanVerdict.STORE, "told by the user", outcome)


def _may_end(fact: KnownFact, said_at: datetime) -> bool:
    """Whether a statement at `said_at` may end `fact`: it is current and not learned later."""
    return fact.current and fact.learned_at <= said_at


def _may_retract(fact: KnownFact, said_at: datetime) -> bool:
    """Whether a statement at `said_at` may retract `fact`, which may have been superseded long ago."""
    return not fact.retracted and fact.learned_at <= said_at


def _repeats(episode: EpisodeText, known: KnownFact, fact: ProposedFact) -> bool:
    """Whether the user only repeats a memory that the agent had just recalled or said."""
    if known.id not in episode.recalled:
        return False
    return _shares_words(known.text, episode.before) or repeats(known.text, own=episode.text, quote=fact.quote)


def _is_stored_fact(decided: Sequence[Decision], place: int) -> bool:
    if not 0 <= place < len(decided):
        return False
    earlier = decided[place]
    return earlier.verdict is PlanVerdict.STORE and isinstance(earlier.proposal, ProposedFact)


def _text_of(decision: Decision) -> str:
    return decision.proposal.text if isinstance(decision.proposal, ProposedFact) else ""


def _when(playbook: KnownPlaybook | ProposedPlaybook) -> str:
    return playbook.trigger or playbook.title


def _shares_words(text: str, spoken: str) -> bool:
    """Whether `text` and `spoken` share a content word. True if `text` has none."""
    words = content_words(text)
    return not words or bool(words & content_words(spoken))
