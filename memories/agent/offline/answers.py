"""Sentences of the offline responder: what it recalls, quoted with when it was said or learned, and what it did.

Invariant: it quotes memories and never rephrases them, so it cannot say what is not in memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

from memories.agent.offline.records import Done, Memory, distinct
from memories.agent.offline.wording import date, listed, quote, tells_of_others
from memories.consolidation.grammar.text import phrases
from memories.consolidation.grammar.vocabulary import PEOPLE, QUESTION
from memories.consolidation.grammar.words import content_words, shared_words
from memories.llm.tokens import erased
from memories.types import Kind

QUOTED_MEMORIES = 3
_DAYS: Mapping[str, int] = {
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "this morning": 0,
    "tonight": 0,
    "tomorrow": 1,
}
_DAY_WORDS = re.compile(rf"\b(?:{'|'.join(_DAYS)})\b", re.IGNORECASE)
_WHEN = re.compile(r"\bwhen\b|\bwhat (?:day|date)\b|\bhow long ago\b", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?:"
    + phrases(
        "used to, before, previous, previously, earlier, former, formerly, in the past, originally, back then, old"
    )
    + r")\b",
    re.IGNORECASE,
)

# "Where do I live?" asks of the one who asks.
_OF_ME = re.compile(r"\b(?:do|did|am|was|have|can|should) i\b|\bmy\b", re.IGNORECASE)

# A memory answers if it holds more than this share of the question's words; others are called the closest there is.
TELLING_SHARE = 0.5

UNSURE = "I am not sure that your memory answers this. The closest it has:"
UNKNOWN = "I do not know: there is nothing about that in your memory."


def answer(question: str, memories: Sequence[Memory]) -> str:
    """What memory says to `question`, most relevant first; current facts lead, unless it asks for the past."""
    past = asks_for_the_past(question)
    asked = (content_words(_PAST.sub(" ", question)) if past else frozenset()) or content_words(question)
    candidates = [memory for memory in memories if not _only_asks(memory) and not _was_never_so(memory, memories)]
    of_me = bool(_OF_ME.search(question)) and not _names_people(question)
    ranked = _ranked(asked, candidates, past=past, of_me=of_me)
    telling = [memory for memory in ranked if _share(asked, memory) > TELLING_SHARE]
    if not telling:
        return f"{UNSURE} {_told(ranked[0])}" if ranked else UNKNOWN
    first, *others = telling[:QUOTED_MEMORIES]
    lead = _told(first)
    if _WHEN.search(question):
        lead += _counted(first)
    if asked & first.words:  # what only has words for the same was not asked for
        others = [memory for memory in others if asked & memory.words]
    if first.settled and _share(asked, first) == 1:
        others = [memory for memory in others if memory.settled]  # sentences add nothing to the fact itself
    if not others:
        return lead
    return "\n".join([lead, "", "Also in your memory:", *(f"- {_told(memory)}" for memory in others)])


def _share(asked: frozenset[str], memory: Memory) -> float:
    """How much of the question a memory holds, 0 to 1.

    How-tos have many words, and "a flat spot" is no home: at least one word has to be the very one.
    """
    if memory.kind == "procedural" and not asked & memory.words:
        return 0.0
    return shared_words(asked, memory.words) / len(asked) if asked else 0.0


def _only_asks(memory: Memory) -> bool:
    """Whether a memory is a question that the user once asked: it answers nothing."""
    return memory.kind == "episodic" and memory.speaker == "user" and bool(QUESTION.search(memory.text.strip()))


def _was_never_so(memory: Memory, memories: Sequence[Memory]) -> bool:
    """Whether it was never true, or is the user's own words for what was not: it answers nothing."""
    if memory.kind != "episodic":
        return memory.never_true
    said = content_words(memory.text)
    wrong = (content_words(each.text) for each in memories if each.never_true)
    return memory.speaker == "user" and any(words <= said for words in wrong if words)


def asks_for_the_past(question: str) -> bool:
    """Whether a question is about what was, rather than what is."""
    return bool(_PAST.search(question))


def _names_people(question: str) -> bool:
    return not PEOPLE.isdisjoint(re.findall(r"[a-z]+", question.casefold()))


def _ranked(asked: frozenset[str], memories: Sequence[Memory], *, past: bool, of_me: bool) -> list[Memory]:
    """Best first: the words of the question that it holds, facts of the time and of whom it asks, its very words.

    Of what is over, the latest comes first; what is left is as recalled.
    """

    def rank(place: int, memory: Memory) -> tuple[float, bool, bool, int, float, int]:
        fitting = memory.settled and memory.current is not past
        of_others = of_me and memory.settled and tells_of_others(memory.text)
        ended = memory.until.timestamp() if past and memory.until else 0.0
        own_words = len(asked & memory.words)
        return (-_share(asked, memory), not fitting, of_others, -own_words, -ended, place)

    placed = sorted(enumerate(distinct(memories)), key=lambda entry: rank(*entry))
    return [memory for _, memory in placed]


def _told(memory: Memory) -> str:
    """One memory as a sentence."""
    words = quote(memory.text or memory.title)
    if memory.kind == "episodic":
        who = {"": "It was said", "user": "You said"}.get(memory.speaker, f"{memory.speaker} said")
        on = f" on {date(memory.since)}" if memory.since else ""
        return f"{who}{on}: {words}"
    if memory.kind == "procedural":
        return _how_to(memory)
    if memory.kind == "catalog":
        title = f", {quote(memory.title)}" if memory.title else ""
        return f"From the shared catalog{title}: {words}"
    learned = f" (learned {date(memory.since)})" if memory.since else ""
    if not memory.current:
        until = f" until {date(memory.until)}" if memory.until else ""
        return f"No longer current, believed{until}: {words}{learned}"
    return f"{'Shared knowledge' if memory.shared else 'From what you told me'}: {words}{learned}"


def _how_to(memory: Memory) -> str:
    worked = f" (worked {memory.worked})" if memory.worked else ""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(memory.steps, 1)) or quote(memory.text)
    return f"{memory.title}{worked}:\n{steps}"


def _counted(memory: Memory) -> str:
    """What "yesterday" means in words that were said on a known day."""
    match = _DAY_WORDS.search(memory.text) if memory.kind == "episodic" else None
    if match is None or memory.since is None:
        return ""
    day = memory.since + timedelta(days=_DAYS[match[0].casefold()])
    return f"\nCounted from that day, “{match[0]}” is {date(day)}."


def report(done: Sequence[Done]) -> str:
    """What was written and erased, and what was not."""
    tell = {"forget_memory": _forgot, "retire_memory": _ended}
    return "\n".join(tell.get(each.tool, _wrote)(each) for each in done)


def _wrote(done: Done) -> str:
    result = done.result
    if "error" in result:
        return f"I could not store that: {result['error']}"
    what = quote(str(result.get("text", "")))
    if done.arguments.get("kind") == "procedural":
        what = f"how to do this, {quote(str(done.arguments.get('title', '')))}"
    match result.get("result"):
        case "merged":
            return f"I knew that already: {what}."
        case "blocked":
            return f"I did not store that. {result.get('reason', '')}".strip()
        case "queued_for_review":
            return f"I noted {what}. It waits for a review, for it contradicts something else."
    replaced = [quote(str(old["text"])) for old in result.get("replaced", ())]
    if not replaced:
        return f"I will remember {what}."
    if done.arguments.get("contradiction") == "harsh":
        return f"I put that right: {what}, not {listed(replaced)}."
    verb = "stays" if len(replaced) == 1 else "stay"
    return f"I will remember {what}. It replaces {listed(replaced)}, which {verb} in your history."


def _ended(done: Done) -> str:
    if "error" in done.result:
        return f"I could not change that: {done.result['error']}"
    what = listed([quote(str(each["text"])) for each in done.result["ended"]])
    if done.result["result"] == "never_true":
        return f"I took back {what}, as never true."
    return f"{what} {'is' if len(done.result['ended']) == 1 else 'are'} over, and kept in your history."


def _forgot(done: Done) -> str:
    if "error" in done.result:
        return f"I could not erase that: {done.result['error']}"
    return erased([Kind(kind) for kind in done.result["erased"]])


def _named(memory: Memory) -> str:
    """One memory in a list to choose from: a how-to by its title, without its steps."""
    return f"How to: {quote(memory.title)}" if memory.kind == "procedural" else _told(memory)


def which_place(places: Sequence[str]) -> str:
    """Ask which place is meant by "there"."""
    if not places:
        return "I do not know which place you mean: none is in your memory. Say that again with its name."
    return "\n".join(
        ["Which place do you mean? Say that again with its name.", *(f"- {quote(place)}" for place in places)]
    )


def choose(memories: Sequence[Memory]) -> str:
    """Ask which one is meant."""
    which = "\n".join(f"- {_named(memory)}" for memory in memories[:QUOTED_MEMORIES])
    return f"Which one shall I forget? Say it in its own words, or erase it on the page “What I remember”.\n{which}"
