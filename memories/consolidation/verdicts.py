"""Whether a playbook worked, and new ways to do something that the user tells.

Invariant: a verdict counts only for a playbook that the user was given or names; in doubt none is.
"""

from __future__ import annotations

from collections.abc import Sequence

from memories.consolidation.grammar.rules import read
from memories.consolidation.grammar.verdict import Verdict, read_verdict
from memories.consolidation.grammar.words import content_words
from memories.consolidation.material import EpisodeText, KnownPlaybook
from memories.consolidation.proposals import ProposedOutcome, ProposedPlaybook

FEWEST_STEPS = 2
# The share of a playbook's title and trigger that has to be named, if it was not just recalled.
NAMED_SHARE = 0.6
# The share of the words of its steps that an answer has to hold to have told it.
TOLD_SHARE = 0.6


def read_procedures(
    episode: EpisodeText, playbooks: Sequence[KnownPlaybook]
) -> list[ProposedOutcome | ProposedPlaybook]:
    """The outcome or the new playbook that an episode tells."""
    verdict = read_verdict(episode.text)
    if verdict is not None:
        book = _judged(verdict, episode, playbooks)
        if book is not None:
            return [ProposedOutcome(book.id, verdict.worked, (episode.id,), verdict.steps)]
        return _told(verdict, episode)
    told = read(episode.text).playbook
    if told is None or len(told.steps) < FEWEST_STEPS or _known(told.title, told.trigger, playbooks):
        return []
    return [ProposedPlaybook(told.title, told.trigger or told.title, told.steps, (episode.id,))]


def _judged(verdict: Verdict, episode: EpisodeText, playbooks: Sequence[KnownPlaybook]) -> KnownPlaybook | None:
    """The playbook that the words are about: the one named, else the one just given, if it is only one."""
    said = content_words(episode.text)
    named = [book for book in playbooks if _share(book, said) >= NAMED_SHARE]
    if len(named) == 1:
        return named[0]
    if verdict.names:
        return None
    recalled = [book for book in playbooks if book.id in episode.recalled]
    shown = [book for book in recalled or playbooks if _was_given(book, episode.before)]
    if len(shown) == 1:
        return shown[0]
    return recalled[0] if len(recalled) == 1 and not episode.before else None


def _was_given(book: KnownPlaybook, before: str) -> bool:
    """Whether the assistant's answer told this playbook: its title, or most of what its steps say."""
    if book.title.casefold() in " ".join(before.casefold().split()):
        return True
    steps = content_words(" ".join(book.steps))
    return bool(steps) and len(steps & content_words(before)) >= TOLD_SHARE * len(steps)


def _share(book: KnownPlaybook, said: frozenset[str]) -> float:
    words = content_words(book.title), content_words(book.trigger)
    return max((len(each & said) / len(each) for each in words if each), default=0.0)


def _known(title: str, trigger: str, playbooks: Sequence[KnownPlaybook]) -> bool:
    """Whether a known playbook is for the same."""
    new = {content_words(title), content_words(trigger)}
    return any(new & ({content_words(book.title), content_words(book.trigger)} - {frozenset()}) for book in playbooks)


def _told(verdict: Verdict, episode: EpisodeText) -> list[ProposedOutcome | ProposedPlaybook]:
    """A resolution of several steps that the user tells, for what it was that did not work."""
    if len(verdict.steps) < FEWEST_STEPS or not verdict.goal:
        return []
    title = verdict.goal[:1].upper() + verdict.goal[1:]
    return [ProposedPlaybook(title, verdict.goal, verdict.steps, (episode.id,))]
