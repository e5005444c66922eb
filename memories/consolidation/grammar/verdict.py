"""What people say of an instruction that they followed: it worked, it did not, and what worked instead.

Invariant: a question, a hope or somebody else's success is no verdict.
"""

# ruff: noqa: E501  # a pattern that is broken into pieces is harder to read than a long line

from __future__ import annotations

import re
from dataclasses import dataclass

from memories.consolidation.grammar.steps import read_steps
from memories.consolidation.grammar.text import plain
from memories.consolidation.grammar.vocabulary import SARCASM
from memoryhub.regexes import lazy_regex


@dataclass(frozen=True, slots=True)
class Verdict:
    """`steps` are what worked instead, if they were told; `goal` is what they were for, if that was named.

    `names` if the words say of what they speak ("the router fix worked"): then nothing else is meant.
    """

    worked: bool
    steps: tuple[str, ...] = ()
    goal: str = ""
    names: bool = False


_OPEN = (
    r"^(?:(?:yes|yep|yeah|no|nope|ok|okay|great|perfect|thanks|thank you|cheers|hi|hey|hello|brilliant|awesome|well|so|sorry"
    r"|unfortunately|sadly|hmm|hm|amazing|wow|update|sure enough|just tried it|i tried it|i tried that|tried it|tried that"
    r"|excellent|all good|super|wonderful|finally|indeed)\b[\s,:!.–-]*)*"
)
_IT = r"(?:that|it|this|the (?:fix|steps?|instructions?|trick|solution|playbook|procedure|recipe|advice|method)|your (?:fix|steps?|instructions?|trick|solution|advice)|those steps|these steps)"
_NAMED = r"(?P<named>(?:the|your) [\w' -]{3,60}?(?:fix|steps|instructions|trick|solution|playbook|procedure|recipe))"
_ADVERBS = r"(?:\s+(?:all|really|just|actually|totally|completely|definitely|finally|also|both|still|again|has|have))*"
_WORKED = lazy_regex(
    rf"{_OPEN}(?:{_IT}|{_NAMED}){_ADVERBS}\s+(?:worked(?!\s+(?:for (?!me\b|us\b)|until|at first|once|only|with))|did (?:it|the trick|the job)|(?:has\s+)?"
    r"(?:fixed|solved|sorted|resolved) (?:it|that|the (?:problem|issue)|everything)|helped)\b(?!\s+(?:a (?:bit|little)|somewhat|him|her|them))(?!,?\s+(?:but|except|though|only|until))",
    re.IGNORECASE,
)
_SHORT_WORKED = lazy_regex(
    rf"{_OPEN}(?:worked(?=[.!]*$)|worked (?:like a charm|perfectly|a treat|great|first time)|it's (?:fixed|working) now|works now|it works now)(?!\w)",
    re.IGNORECASE,
)
_FAILED = lazy_regex(
    rf"{_OPEN}(?:{_IT}|{_NAMED}){_ADVERBS}\s+(?:(?:didn't|did not|hasn't|has not|doesn't|does not){_ADVERBS}\s+(?:work|worked|help|helped|fix|fixed|solve|solved|do the trick|do it)"
    r"|made (?:it|things) worse|failed)\b|^(?:no|nope|sorry|unfortunately|sadly|hmm)?[\s,]*(?:no luck|didn't work|did not work|didn't help|still (?:broken|not working|doesn't work))\b",
    re.IGNORECASE,
)
_INSTEAD = lazy_regex(
    r"\b(?:what (?:did the trick|worked|helped|fixed it|solved it|did work|finally worked)(?: instead| in the end| for me)?(?: was| is)?"
    r"|the (?:correct|right|proper) (?:steps|way)(?: are| is| were| was)?|here's what worked|the steps that worked(?: were| are)?"
    r"|instead,? (?:i|you (?:have|need) to)|i had to)\s*[:,-]?\s*(?P<steps>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_RESOLVED = lazy_regex(
    r"^(?:(?:so|ok|hey|hi|finally|update|good news|yes|great|just so you know)[\s,:!.]+)*(?:i|we) (?:finally |just |managed to )*(?:fixed|fix|solved|solve|repaired|repair|unblocked|got) "
    r"(?P<goal>(?:the|my|our) [\w' -]{2,80}?)(?: (?:to work|working|running|going))?(?: again)?(?:\s*[:;]|\s*[,.]\s*(?:what worked|what i did|the steps|it took|here's how|this is how)[^:]{0,40}:)\s*(?P<steps>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_UNSURE = lazy_regex(r"\?\s*$|\b(?:if|whether|hope|might|maybe|would|should|not sure)\b", re.IGNORECASE)
LONGEST = 4_000


def read_verdict(message: str) -> Verdict | None:
    """What `message` says of what was tried, if it says so plainly."""
    text = plain(message)
    if len(text) > LONGEST or SARCASM.search(text):
        return None
    if match := _RESOLVED.match(text):
        steps = read_steps(match["steps"])
        return Verdict(worked=True, steps=steps, goal=f"Fix {match['goal']}", names=True) if steps else None
    instead = _INSTEAD.search(text)
    judged = text[: instead.start()] if instead else text
    failed, worked = _FAILED.search(judged), _WORKED.match(judged) or _SHORT_WORKED.match(judged)
    match = failed or worked
    if match is None or _UNSURE.search(judged):
        return None
    steps = read_steps(instead["steps"]) if instead and failed else ()
    return Verdict(worked=not failed, steps=steps, names=bool(match.groupdict().get("named")))
