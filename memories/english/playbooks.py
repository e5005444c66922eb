"""Playbooks in English: "to fix X: do A, then B", and whether a playbook worked.

Steps are things to do; a message whose steps have a subject of their own tells a story. An outcome counts only for a
playbook that the user was given or names.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memories.consolidation.material import EpisodeText, KnownPlaybook, ProposedOutcome, ProposedPlaybook
from memories.constants import MAX_STEPS, MAX_TITLE_CHARACTERS
from memories.english.text import capitalised, compiled, content_words, phrases, plain
from memories.english.vocabulary import SARCASM

_FEWEST_STEPS = 2
LONGEST = 4_000
# The share of a playbook's title and trigger that has to be named, and that of its steps that an answer has to hold.
_NAMED_SHARE = 0.6
_TOLD_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class StatedPlaybook:
    """What to do, when."""

    title: str
    trigger: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatedOutcome:
    """Whether it worked. `steps` are what worked instead, `goal` what they were for.

    `names`: the words name the playbook ("the router fix worked"), so no other one is meant.
    """

    worked: bool
    steps: tuple[str, ...] = ()
    goal: str = ""
    names: bool = False


_LEAD = r"^(?:(?:please|also|and|ok|note|remember|don't forget|keep in mind|how|that|:|this|,)\s*)*"
_TO = compiled(
    rf"{_LEAD}\bto\s+(?P<goal>[^:.?!\n]{{3,150}}?)\s*(?:,\s*(?:you\s+)?(?:must|should|need to|have to)\s*)?:\s*(?P<steps>.+)$",
    re.DOTALL,
)
_WHEN = compiled(
    rf"{_LEAD}\b(?P<word>when|whenever|if)\s+(?P<trigger>[^,:?!\n]{{3,150}}?)\s*[,:]\s*(?P<steps>.+)$", re.DOTALL
)
_NOT_A_GOAL = compiled(
    rf"(?:{phrases('be, sum, summarise, summarize, answer, clarify, quote, conclude, my, me, you, the, do list')})\b"
)
_SUBJECT = compiled(
    r"(?:"
    + phrases(
        """
        i, i'm, i'd, i'll, we, we'll, you, he, she, it, it's, they, there, the, my, our, his, her, their, this, that,
        these, a, an, what, what's, why, how, who, where, is, are, was, does, did, do you, should, would, could, can,
        will, please tell, tell me, one, no, not, nobody
        """
    )
    + r"|\w+ed)\b"
)
_NUMBERED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s*")
_NUMBERED_INLINE = re.compile(r"(?:^|\s)\d+[.)]\s+")
_BETWEEN = compiled(
    r"\s*;\s*(?:and\s+)?(?:then\s+)?|\s*,?\s+(?:and\s+)?then,?\s+|\s*,\s*(?:and\s+)?(?:then\s+)?|\.\s+(?:then,?\s+)?|\s+and\s+finally\s+"
)
_HYPOTHETICAL = compiled(r"\b(?:would|could|might|were|was|had|did|went|got)\b")
_OPEN = (
    r"^(?:(?:yes|yep|yeah|no|nope|ok|okay|great|perfect|thanks|thank you|cheers|hi|hey|hello|brilliant|awesome|well|so|sorry"
    r"|unfortunately|sadly|hmm|amazing|wow|update|just tried it|i tried (?:it|that)|excellent|super|wonderful|finally)\b[\s,:!.–-]*)*"
)
_IT = r"(?:that|it|this|(?:the|your|those|these) (?:fix|steps?|instructions?|trick|solution|playbook|procedure|recipe|advice))"
_NAMED = r"(?P<named>(?:the|your) [\w' -]{3,60}?(?:fix|steps|instructions|trick|solution|playbook|procedure|recipe))"
_ADVERBS = r"(?:\s+(?:all|really|just|actually|totally|completely|definitely|finally|also|both|still|again|has|have))*"
_WORKED = compiled(
    rf"{_OPEN}(?:{_IT}|{_NAMED}){_ADVERBS}\s+(?:worked(?!\s+(?:for (?!me\b|us\b)|until|at first|once|only|with))|did (?:it|the trick|the job)|(?:has\s+)?"
    r"(?:fixed|solved|sorted|resolved) (?:it|that|the (?:problem|issue)|everything)|helped)\b(?!\s+(?:a (?:bit|little)|somewhat|him|her|them))(?!,?\s+(?:but|except|though|only|until))"
)
_SHORT_WORKED = compiled(
    rf"{_OPEN}(?:worked(?=[.!]*$)|worked (?:like a charm|perfectly|a treat|great|first time)|it's (?:fixed|working) now|(?:it )?works now)(?!\w)"
)
_FAILED = compiled(
    rf"{_OPEN}(?:{_IT}|{_NAMED}){_ADVERBS}\s+(?:(?:didn't|did not|hasn't|has not|doesn't|does not){_ADVERBS}\s+(?:work|worked|help|helped|fix|fixed|solve|solved|do the trick|do it)"
    r"|made (?:it|things) worse|failed)\b|^(?:no|nope|sorry|unfortunately|sadly|hmm)?[\s,]*(?:no luck|didn't work|did not work|didn't help|still (?:broken|not working|doesn't work))\b"
)
_INSTEAD = compiled(
    r"\b(?:what (?:did the trick|worked|helped|fixed it|solved it|did work|finally worked)(?: instead| in the end| for me)?(?: was| is)?"
    r"|the (?:correct|right|proper) (?:steps|way)(?: are| is| were| was)?|here's what worked|instead,? (?:i|you (?:have|need) to)|i had to)\s*[:,-]?\s*(?P<steps>\S.*)$",
    re.DOTALL,
)
_RESOLVED = compiled(
    r"^(?:(?:so|ok|hey|hi|finally|update|good news|yes|great|just so you know)[\s,:!.]+)*(?:i|we) (?:finally |just |managed to )*(?:fixed|fix|solved|solve|repaired|repair|unblocked|got) "
    r"(?P<goal>(?:the|my|our) [\w' -]{2,80}?)(?: (?:to work|working|running|going))?(?: again)?(?:\s*[:;]|\s*[,.]\s*(?:what worked|what i did|the steps|it took|here's how|this is how)[^:]{0,40}:)\s*(?P<steps>.+)$",
    re.DOTALL,
)
_UNSURE = compiled(r"\?\s*$|\b(?:if|whether|hope|might|maybe|would|should|not sure)\b")


def read_playbook(text: str) -> StatedPlaybook | None:
    """The playbook that `text` states, or None."""
    if text.endswith("?"):
        return None
    if (match := _TO.match(text)) and not _NOT_A_GOAL.match(match["goal"]) and (steps := _steps(match["steps"])):
        return StatedPlaybook(_title(match["goal"]), "", steps)
    if match := _WHEN.match(text):
        steps = _steps(match["steps"])
        if len(steps) >= _FEWEST_STEPS and not _HYPOTHETICAL.search(match["trigger"]):
            trigger = match["trigger"].strip()
            return StatedPlaybook(_title(f"{match['word']} {trigger}"), trigger, steps)
    return None


def _steps(text: str) -> tuple[str, ...]:
    """The steps, or none if they do not all read as things to do."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        parts: Iterable[str] = (_NUMBERED.sub("", line) for line in lines)
    elif len(numbered := _NUMBERED_INLINE.split(text)) > _FEWEST_STEPS:
        parts = numbered
    else:
        parts = _BETWEEN.split(text)
    steps = tuple(step for part in parts if (step := part.strip(" .!;,\t")))
    if not steps or len(steps) > MAX_STEPS or any(_SUBJECT.match(step) for step in steps):
        return ()
    return tuple(capitalised(step) for step in steps)


def _title(goal: str) -> str:
    return capitalised(" ".join(goal.split()))[:MAX_TITLE_CHARACTERS]


def read_outcome(message: str) -> StatedOutcome | None:
    """What `message` says about what was tried, if it says so plainly."""
    text = plain(message)
    if len(text) > LONGEST or SARCASM.search(text):
        return None
    if match := _RESOLVED.match(text):
        steps = _steps(match["steps"])
        return StatedOutcome(worked=True, steps=steps, goal=f"Fix {match['goal']}", names=True) if steps else None
    instead = _INSTEAD.search(text)
    judged = text[: instead.start()] if instead else text
    failed, worked = _FAILED.search(judged), _WORKED.match(judged) or _SHORT_WORKED.match(judged)
    match = failed or worked
    if match is None or _UNSURE.search(judged):
        return None
    steps = _steps(instead["steps"]) if instead and failed else ()
    return StatedOutcome(worked=not failed, steps=steps, names=bool(match.groupdict().get("named")))


def read_procedures(
    episode: EpisodeText, playbooks: Sequence[KnownPlaybook]
) -> list[ProposedOutcome | ProposedPlaybook]:
    """The outcome or the new playbook that an episode tells."""
    outcome = read_outcome(episode.text)
    if outcome is not None:
        if book := _judged(outcome, episode, playbooks):
            return [ProposedOutcome(book.id, outcome.worked, (episode.id,), outcome.steps)]
        if len(outcome.steps) < _FEWEST_STEPS or not outcome.goal:
            return []
        return [ProposedPlaybook(capitalised(outcome.goal), outcome.goal, outcome.steps, (episode.id,))]
    text = plain(episode.text)
    told = read_playbook(text) if len(text) <= LONGEST else None
    if told is None or len(told.steps) < _FEWEST_STEPS or _known(told, playbooks):
        return []
    return [ProposedPlaybook(told.title, told.trigger or told.title, told.steps, (episode.id,))]


def _judged(outcome: StatedOutcome, episode: EpisodeText, playbooks: Sequence[KnownPlaybook]) -> KnownPlaybook | None:
    """The playbook that the words are about: the one named, else the only one that was just given."""
    said = content_words(episode.text)
    named = [book for book in playbooks if _share(book, said) >= _NAMED_SHARE]
    if len(named) == 1:
        return named[0]
    if outcome.names:
        return None
    recalled = [book for book in playbooks if book.id in episode.recalled]
    shown = [book for book in recalled or playbooks if _was_given(book, episode.before)]
    if len(shown) == 1:
        return shown[0]
    return recalled[0] if len(recalled) == 1 and not episode.before else None


def _was_given(book: KnownPlaybook, before: str) -> bool:
    """Whether the assistant's answer held this playbook: its title, or most of what its steps say."""
    steps = content_words(" ".join(book.steps))
    if book.title.casefold() in " ".join(before.casefold().split()):
        return True
    return bool(steps) and len(steps & content_words(before)) >= _TOLD_SHARE * len(steps)


def _share(book: KnownPlaybook, said: frozenset[str]) -> float:
    words = content_words(book.title), content_words(book.trigger)
    return max((len(each & said) / len(each) for each in words if each), default=0.0)


def _known(told: StatedPlaybook, playbooks: Sequence[KnownPlaybook]) -> bool:
    """Whether a known playbook has the same title or trigger."""
    new = {content_words(told.title), content_words(told.trigger)}
    return any(new & ({content_words(book.title), content_words(book.trigger)} - {frozenset()}) for book in playbooks)
