"""The optional rule set of a language, and the choice of extractor and judge.

The core knows no language. It asks the configured model, or the rule set that `MEMORYHUB_RULES` names: a package with a
`RULES` object. Without either, facts are merged or ended only by key and by equal words. Two facts without a verdict
both stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from memories.consolidation.material import Extraction, ExtractionFault, Extractor, FaultKind, Material
from memories.hygiene import junk as junk_forms
from memories.hygiene.junk import JunkKind
from memories.hygiene.text import normalised
from memories.llm import json_endpoint
from memories.llm.base import ChatModel
from memories.words import is_grammar, is_unspaced, words


class Verdict(StrEnum):
    """The effect of a newer fact on an older one.

    CONTRADICTION: both cannot hold. UPDATE: the value changed and the newer fact replaces the older. SAME: both say the
    same.
    """

    CONTRADICTION = "contradiction"
    UPDATE = "update"
    SAME = "same"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class JudgedFact:
    """The columns of a fact that a judge reads."""

    text: str
    key: str = ""
    category: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and its reason, which never quotes the facts."""

    verdict: Verdict
    reason: str = ""


NEITHER = Judgement(Verdict.NEITHER)


@dataclass(frozen=True, slots=True)
class Cues:
    """Database search terms for facts worth judging beside another: lower-case substrings of words, and keys."""

    parts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two facts to judge, the older one first, with the time at which each was learned."""

    older: JudgedFact
    newer: JudgedFact
    older_learned_at: datetime
    newer_learned_at: datetime


class Judge(Protocol):
    """A model that judges pairs. Call it without a lock or transaction, because an answer may take a minute."""

    @property
    def name(self) -> str:
        """The recorded name of the judge."""
        ...

    def judge(self, pairs: Sequence[JudgedPair]) -> list[Judgement | None]:
        """A judgement for each pair; None where the model gives none. It never raises."""
        ...


# Without a rule set, a shorter ASCII word counts as a function word unless it is a number.
_SHORTEST_TELLING = 3
# Shorter words are not distinctive, except numbers and words of scripts without spaces.
_SHORTEST_MARK = 3


class Rules(Protocol):
    """The interface of a rule set. Its methods are pure, and fast enough to run under the owner's write lock."""

    @property
    def language(self) -> str:
        """The language tag, such as "en"."""
        ...

    def extractor(self) -> Extractor:
        """The extractor for installations without a model."""
        ...

    def responder(self) -> ChatModel:
        """The chat responder for installations without a model."""
        ...

    def content_words(self, text: str) -> frozenset[str]:
        """The content words of `text`, each in its base form."""
        ...

    def marks(self, text: str) -> frozenset[str]:
        """The distinctive words that identify a text when another text repeats it."""
        ...

    def likeness(self, *parts: str) -> str:
        """A digest that two statements share if and only if they say the same; empty if the rule set cannot tell."""
        ...

    def judge(self, pairs: Iterable[tuple[JudgedFact, JudgedFact]]) -> Iterable[Judgement]:
        """The effect of the second, newer fact of each pair on the first. The rule set must not retain the texts."""
        ...

    def topics(self, fact: JudgedFact) -> frozenset[str]:
        """The topics of a fact. Two contradicting facts share at least one topic."""
        ...

    def cues(self, fact: JudgedFact) -> Cues:
        """Search terms for the facts that `fact` may contradict."""
        ...

    def asks(self, text: str) -> bool:
        """Whether a text only asks and states nothing."""
        ...

    def may_tell(self, text: str) -> bool:
        """Whether a text does more than ask or greet, so that it may hold news; True in doubt."""
        ...

    def denies(self, text: str) -> bool:
        """Whether a text says that something is not the case."""
        ...

    def over(self, text: str) -> tuple[str, ...]:
        """The things that a text says have ended or never were, in its own words."""
        ...

    def to_owner(self, text: str) -> str:
        """A fact as its owner reads it, such as "You live in Leeds"; empty if the rule set is not certain."""
        ...

    def junk(self, text: str) -> JunkKind | None:
        """The kind of impersonal text that `text` consists of: an assistant's, boilerplate, small talk.

        None if personal.
        """
        ...


def rules() -> Rules | None:
    """The rule set that the settings name, or None."""
    return _loaded(settings.MEMORYHUB_RULES) if settings.MEMORYHUB_RULES else None


@cache
def _loaded(package: str) -> Rules:
    found: Rules = import_string(f"{package}.RULES")
    return found


def content_words(text: str) -> frozenset[str]:
    """The content words of `text` by the rule set; without one, all words except short ones."""
    if (known := rules()) is not None:
        return known.content_words(text)
    every = words(text.replace("_", " "))
    return frozenset(
        word for word in every if len(word) >= _SHORTEST_TELLING or not word.isascii() or word[:1].isdigit()
    )


def marking(text: str) -> frozenset[str]:
    """The distinctive words of a text, without those that most memories contain."""
    known = rules()
    return frozenset(known.marks(text)) if known else frozenset(word for word in words(text) if _may_mark(word))


def _may_mark(word: str) -> bool:
    if is_unspaced(word):
        return not is_grammar(word)
    return len(word) >= _SHORTEST_MARK or word.isdigit()


def likeness(*parts: str) -> str:
    """A digest that equivalent statements share by the rule set; empty without one."""
    known = rules()
    return known.likeness(*parts) if known else ""


def same(left: str, right: str) -> bool:
    """Whether two texts say the same: equal when normalised, or equivalent by the rule set."""
    if normalised(left) == normalised(right):
        return True
    found = likeness(left)
    return bool(found) and found == likeness(right)


def judged(pairs: Iterable[tuple[JudgedFact, JudgedFact]]) -> Iterable[Judgement]:
    """The rule set's judgement of each (older, newer) pair; NEITHER without a rule set."""
    known = rules()
    return known.judge(pairs) if known else (NEITHER for _ in pairs)


def topics(fact: JudgedFact) -> frozenset[str]:
    """The topics of a fact by the rule set; none without one."""
    known = rules()
    return known.topics(fact) if known else frozenset()


def cues(fact: JudgedFact) -> Cues:
    """Search terms for facts worth judging beside `fact`: from the rule set, else its two longest content words."""
    known = rules()
    return known.cues(fact) if known else Cues(telling(fact.text))


def telling(text: str) -> tuple[str, ...]:
    """The two longest content words of `text`, which are usually the most distinctive."""
    return tuple(sorted(content_words(text), key=lambda word: (-len(word), word))[:2])


def denies(text: str) -> bool:
    """Whether a text denies something, by the rule set; False without one."""
    known = rules()
    return known is not None and known.denies(text)


def over(text: str) -> tuple[str, ...]:
    """The things that a text says have ended, by the rule set; none without one."""
    known = rules()
    return known.over(text) if known else ()


def asks(text: str) -> bool:
    """Whether a text only asks: by the rule set, else by a final question mark."""
    known = rules()
    return known.asks(text) if known else text.rstrip().endswith(("?", "？", "؟"))


def may_tell(text: str) -> bool:
    """Whether a text may hold news, by the rule set; without one, nobody can say before it was read."""
    known = rules()
    return known is None or known.may_tell(text)


def to_owner(text: str) -> str:
    """A fact as its owner reads it, by the rule set; empty if it cannot be turned."""
    known = rules()
    return known.to_owner(text) if known else ""


_QUESTION_MARKS = ("?", "？", "؟", "՞", "⸮")
_SENTENCE = re.compile(r"[^.!?。！？؟՞⸮\n]+[.!?。！？؟՞⸮]*")


def is_all_questions(text: str) -> bool:
    """Whether each sentence of a text ends in a question mark, which does not exclude that it holds news."""
    sentences = [each.strip() for each in _SENTENCE.findall(text) if words(each)]
    return bool(sentences) and all(each.endswith(_QUESTION_MARKS) for each in sentences)


def junk(text: str, *, slot: bool = False) -> JunkKind | None:
    """The kind of junk that `text` is, or None. With `slot`, a short answer such as "yes" is not junk."""
    if found := junk_forms.junk_in(text):
        return found
    known = rules()
    found = known.junk(text) if known else None
    return None if slot and found is JunkKind.SMALL_TALK else found


def junk_in_playbook(title: str, trigger: str, text: str, steps: Iterable[str]) -> JunkKind | None:
    """The kind of junk in a playbook, or None. Trigger and steps may quote an assistant, a page or small talk."""
    quoting = (JunkKind.ASSISTANT, JunkKind.BOILERPLATE, JunkKind.SMALL_TALK)
    for part in filter(None, (title, text)):
        if found := junk(part, slot=part is not title):
            return found
    for part in filter(None, (trigger, *steps)):
        found = junk(part, slot=True)
        if found and found not in quoting:
            return found
    return None


def own_words(text: str) -> str:
    """The text of a turn without pasted paragraphs."""
    return junk_forms.own_words(text, is_pasted=lambda paragraph: junk(paragraph) is JunkKind.SYSTEM)


class NoExtractor:
    """The extractor of an installation with neither a model nor a rule set. Episodes wait and none is skipped."""

    name = "none"

    def extract(self, material: Material) -> Extraction:  # noqa: ARG002 - the protocol's
        """Raise ExtractionFault; nothing was read."""
        raise ExtractionFault(
            "Nothing was read: neither a model (MEMORYHUB_MODEL) nor a rule set (MEMORYHUB_RULES) is configured.",
            FaultKind.PASSING,
        )


def consolidation_extractor() -> Extractor:
    """The consolidation model of the settings, else the chat model, else the rule set's extractor."""
    if name := settings.MEMORYHUB_CONSOLIDATION_MODEL or settings.MEMORYHUB_MODEL:
        from memories.consolidation.model import ModelExtractor  # noqa: PLC0415 - a second to import, not when offline

        return ModelExtractor(json_endpoint(name))
    known = rules()
    return known.extractor() if known else NoExtractor()


def contradiction_judge() -> Judge | None:
    """The configured model that judges pairs of facts; None if the rule set judges alone."""
    if not (name := settings.MEMORYHUB_CONSOLIDATION_MODEL or settings.MEMORYHUB_MODEL):
        return None
    from memories.consolidation.model import ModelJudge  # noqa: PLC0415 - as above

    return ModelJudge(json_endpoint(name))
