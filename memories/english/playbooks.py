"""Playbooks and their outcomes in English: "to fix X: do A, then B", and statements that a playbook worked or failed.

Steps are imperatives; a message whose steps have their own subject is narrative. An outcome counts only for a playbook
that the user was shown or names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memories.consolidation.material import EpisodeText, KnownPlaybook, ProposedOutcome, ProposedPlaybook
from memories.constants import MAX_STEPS, MAX_TITLE_CHARACTERS
from memories.english.slots import P
from memories.english.text import capitalised, content_words, plain
from memories.english.vocabulary import SARCASM

_FEWEST_STEPS = 2
LONGEST = 4_000
# Minimum share of the words of a title or trigger that the user must name, and of the steps that an answer must
# contain.
_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class StatedPlaybook:
    """A playbook stated in a message."""

    title: str
    trigger: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatedOutcome:
    """The outcome of a procedure. `steps` are the steps that worked instead, `goal` their purpose.

    `names`: the message names the playbook ("the router fix worked"), so no other one is meant.
    """

    worked: bool
    steps: tuple[str, ...] = ()
    goal: str = ""
    names: bool = False


def read_playbook(text: str) -> StatedPlaybook | None:
    """Return the playbook that `text` states, or None."""
    if text.endswith("?"):
        return None
    if (
        (match := P["to"].match(text))
        and not P["not_a_goal"].match(match["goal"])
        and (steps := _steps(match["steps"]))
    ):
        return StatedPlaybook(_title(match["goal"]), "", steps)
    if (match := P["when"].match(text)) and not P["hypothetical"].search(match["trigger"]):
        steps, trigger = _steps(match["steps"]), match["trigger"].strip()
        if len(steps) >= _FEWEST_STEPS:
            return StatedPlaybook(_title(f"{match['word']} {trigger}"), trigger, steps)
    return None


def _steps(text: str) -> tuple[str, ...]:
    """Split a text into steps; returns none unless all of them are imperatives."""
    lines, numbered = [line for line in text.splitlines() if line.strip()], P["numbered_inline"].split(text)
    parts = numbered if len(numbered) > _FEWEST_STEPS else P["between"].split(text)
    parts = [P["numbered"].sub("", line) for line in lines] if len(lines) > 1 else parts
    steps = [step for part in parts if (step := part.strip(" .!;,\t"))]
    if len(steps) > MAX_STEPS or any(P["playbooks_subject"].match(step) for step in steps):
        return ()
    return tuple(map(capitalised, steps))


def _title(goal: str) -> str:
    return capitalised(" ".join(goal.split()))[:MAX_TITLE_CHARACTERS]


def read_outcome(message: str) -> StatedOutcome | None:
    """Return the outcome that `message` clearly states, or None."""
    text = plain(message)
    if len(text) > LONGEST or SARCASM.search(text):
        return None
    if match := P["resolved"].match(text):
        steps = _steps(match["steps"])
        return StatedOutcome(worked=True, steps=steps, goal=f"Fix {match['goal']}", names=True) if steps else None
    instead = P["instead"].search(text)
    judged = text[: instead.start()] if instead else text
    failed = P["failed"].search(judged)
    match = failed or P["worked"].match(judged) or P["short_worked"].match(judged)
    if match is None or P["unsure"].search(judged):
        return None
    steps = _steps(instead["steps"]) if instead and failed else ()
    return StatedOutcome(worked=not failed, steps=steps, names=bool(match.groupdict().get("named")))


def read_procedures(
    episode: EpisodeText, playbooks: Sequence[KnownPlaybook]
) -> list[ProposedOutcome | ProposedPlaybook]:
    """Propose the outcome or the new playbook that an episode states, if any."""
    text, outcome = plain(episode.text), read_outcome(episode.text)
    if outcome is not None and (book := _judged(outcome, episode, playbooks)):
        return [ProposedOutcome(book.id, outcome.worked, (episode.id,), outcome.steps)]
    told = read_playbook(text) if len(text) <= LONGEST and outcome is None else None
    if outcome is not None and outcome.goal:
        told = StatedPlaybook(capitalised(outcome.goal), outcome.goal, outcome.steps)
    if told is None or len(told.steps) < _FEWEST_STEPS or (outcome is None and _known(told, playbooks)):
        return []
    return [ProposedPlaybook(told.title, told.trigger or told.title, told.steps, (episode.id,))]


def _judged(outcome: StatedOutcome, episode: EpisodeText, playbooks: Sequence[KnownPlaybook]) -> KnownPlaybook | None:
    """Return the playbook that an outcome refers to: the one named, or else the only one just shown."""
    said, before = content_words(episode.text), content_words(episode.before)
    named = [book for book in playbooks if any(_shares(words, said) for words in (book.title, book.trigger))]
    if len(named) == 1 or outcome.names:
        return named[0] if len(named) == 1 else None
    recalled = [book for book in playbooks if book.id in episode.recalled]
    answer = " ".join(episode.before.casefold().split())
    shown = [
        book
        for book in recalled or playbooks
        if book.title.casefold() in answer or _shares(" ".join(book.steps), before)
    ]
    if len(shown) == 1:
        return shown[0]
    return recalled[0] if len(recalled) == 1 and not episode.before else None


def _shares(text: str, said: frozenset[str]) -> bool:
    """True if `said` contains most words of `text`."""
    words = content_words(text)
    return bool(words) and len(words & said) >= _SHARE * len(words)


def _known(told: StatedPlaybook, playbooks: Sequence[KnownPlaybook]) -> bool:
    """True if a known playbook has the same title or trigger."""
    new = {content_words(told.title), content_words(told.trigger)} - {frozenset()}
    return any(new & {content_words(book.title), content_words(book.trigger)} for book in playbooks)
