"""Decides which of a turn's memories an answer was made from, by what it says. Pure, and for any language.

The memories of a turn are judged together. A word of the answer counts for the memory that explains the answer best:
"You live in Leeds" was made from "Lives in Leeds" and not from "Works in Leeds". Words of the question prove nothing,
because answers repeat them anyway. Names, numbers and words that few of the memories have weigh most.

The constants were tuned on `memories/evaluation/answers/tuned.json`. docs/adr/0044-made-from.md has the results.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from memories.consolidation.rules import rules
from memories.words import is_grammar, is_unspaced, words

Name = TypeVar("Name", bound=Hashable)

# An answer that holds this share of a memory's new words says that memory, even if another one explains them better.
SAID = 0.6
# Enough of the words for which no memory explains the answer better: a share of the memory's new words, or a sum of
# weights, which a part of a long event reaches, or a share of what the answer adds to the question.
EXPLAINED, EXPLAINED_WEIGHT, OF_ANSWER = 0.25, 1.8, 0.6
# A sum of weights that a single short word does not reach.
LEAST = 0.45
# The share of its weight that a word of the question adds to how well a memory explains the answer.
ASKED = 0.4
# A memory without new words was used if the answer repeats this share of it.
REPEATED = 0.8
# Two forms of one word share this many letters, and at most so many more follow in either.
STEM, ENDING = 4, 3
# Weights of words. In most languages words without meaning of their own are short.
TELLING, PLAIN, PAIR = 1.5, 1.0, 0.8
_SHORT = {1: 0.1, 2: 0.2, 3: 0.5, 4: 0.8}
_NAME = re.compile(r"(?<=[^\s.!?:“\"])\s+([^\W\d_][^\W_]*)")


def made_from(answer: str, question: str, memories: Mapping[Name, str]) -> dict[Name, bool | None]:
    """Tell of each memory, given by its text, whether the answer was made from it.

    None if its words do not decide that: all are in the question, and the answer does not repeat them.
    """
    alike = _Forms()
    texts = {name: {alike.form(word) for word in _telling_words(text)} for name, text in memories.items()}
    said, asked = alike.known(words(answer)), alike.known(words(question))
    weights = _weights(texts.values(), alike.known(_names([answer, *memories.values()])))
    explains = {
        name: sum(weights[word] * (ASKED if word in asked else 1.0) for word in text & said)
        for name, text in texts.items()
    }
    best: dict[str, float] = defaultdict(float)
    for name, text in texts.items():
        for word in text & said:
            best[word] = max(best[word], explains[name])

    def weight(some: Iterable[str]) -> float:
        return math.fsum(weights[word] for word in some)

    added = {word for word in _telling_words(answer) - {*words(question)} if not alike.known([word])}
    answered = weight(said - asked) + math.fsum(_weight(word, set()) for word in added)

    def verdict(name: Name, text: set[str]) -> bool | None:
        new = text - asked
        if not new:
            return True if text and weight(text & said) >= REPEATED * weight(text) else None
        own = weight(word for word in new & said if explains[name] >= best[word])
        enough = min(EXPLAINED * weight(new), EXPLAINED_WEIGHT, OF_ANSWER * answered)
        if own >= max(LEAST, enough):
            return True
        return weight(new & said) >= max(LEAST, SAID * weight(new))

    return {name: verdict(name, text) for name, text in texts.items()}


class _Forms:
    """Maps the forms of one word to the one that was seen first: those that begin alike and end in a few letters."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def form(self, word: str) -> str:
        """The first seen form of `word`, which may be itself."""
        keys = _beginnings(word)
        found = next((self._seen[key] for key in keys if key in self._seen), word)
        for key in keys:
            self._seen.setdefault(key, found)
        return found

    def known(self, some: Iterable[str]) -> set[str]:
        """The seen forms of these words."""
        return {self._seen[key] for word in set(some) for key in _beginnings(word) if key in self._seen}


def _beginnings(word: str) -> list[str]:
    """The word and its beginnings, longest first, of which its other forms have one in common."""
    shortest = len(word) if word[0].isdigit() else max(STEM, len(word) - ENDING)
    return [word, *(word[:length] for length in range(len(word) - 1, shortest - 1, -1))]


def _telling_words(text: str) -> set[str]:
    """The words of a text without those that a rule set or the script marks as grammar."""
    known = rules()
    every = {word for word in words(text) if not is_grammar(word)}
    return {word for word in every if known.content_words(word)} if known else every


def _names(texts: Iterable[str]) -> set[str]:
    """The words that begin with a capital letter inside a sentence."""
    return {word for text in texts for name in _NAME.findall(text) if name[0].isupper() for word in words(name)}


def _weights(texts: Iterable[set[str]], named: set[str]) -> dict[str, float]:
    """The weight of each word: less if it is short, and less the more of the texts have it."""
    texts = list(texts)
    counts = Counter(word for text in texts for word in text)
    return {
        word: _weight(word, named) * math.log1p(len(texts) / n) / math.log1p(len(texts)) for word, n in counts.items()
    }


def _weight(word: str, named: set[str]) -> float:
    if is_unspaced(word):
        return PAIR
    if word in named or any(each.isdigit() for each in word):
        return TELLING
    return _SHORT.get(len(word), PLAIN)
