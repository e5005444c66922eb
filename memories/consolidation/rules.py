"""The rule set of a language, and who extracts and judges in this installation.

The core knows no language. What depends on one is asked of the configured model, or of the rule set that
`MEMORYHUB_RULES` names: a package with a `RULES` object. Without either, the core merges and ends nothing but by key
and by equal words. Without a verdict of a judge both of two facts stay.
"""

from __future__ import annotations

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
from memories.words import words


class Verdict(StrEnum):
    """What a newer fact does to an older one.

    CONTRADICTION: both cannot hold. UPDATE: the newer one tells what became of the older one. SAME: both say the same.
    """

    CONTRADICTION = "contradiction"
    UPDATE = "update"
    SAME = "same"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class JudgedFact:
    """The part of a fact that is judged."""

    text: str
    key: str = ""
    category: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason: a few words for people, none of them the facts' own."""

    verdict: Verdict
    reason: str = ""


NEITHER = Judgement(Verdict.NEITHER)


@dataclass(frozen=True, slots=True)
class Cues:
    """How a database finds the facts that are worth judging beside one: parts of words, in small letters, and keys."""

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
    """A model that judges pairs. Never ask it while a lock or a transaction is held: an answer may take a minute."""

    @property
    def name(self) -> str:
        """The name of the judge on record."""
        ...

    def judge(self, pairs: Sequence[JudgedPair]) -> list[Judgement | None]:
        """A judgement for each pair; None where the model gives none. It raises nothing."""
        ...


# Without a rule set a shorter word counts as a function word, unless it is a number.
_SHORTEST_TELLING = 3


class Rules(Protocol):
    """What a rule set knows about its language. It is pure, and cheap enough for a write under the owner's lock."""

    @property
    def language(self) -> str:
        """The language tag, such as "en"."""
        ...

    def extractor(self) -> Extractor:
        """Reads episodes where no model is configured."""
        ...

    def responder(self) -> ChatModel:
        """Answers in the chat where no model is configured."""
        ...

    def content_words(self, text: str) -> frozenset[str]:
        """The words of `text` that tell something, in one form each."""
        ...

    def marks(self, text: str) -> frozenset[str]:
        """The words by which a text is recognised in another one: not those of every other memory."""
        ...

    def likeness(self, *parts: str) -> str:
        """A digest that two statements share if and only if they say the same; empty if it cannot tell."""
        ...

    def judge(self, pairs: Iterable[tuple[JudgedFact, JudgedFact]]) -> Iterable[Judgement]:
        """What the second fact of each pair, the newer one, does to the first. It keeps no words after the call."""
        ...

    def topics(self, fact: JudgedFact) -> frozenset[str]:
        """The topics of a fact. Two facts of which one contradicts the other share a topic."""
        ...

    def cues(self, fact: JudgedFact) -> Cues:
        """How to find the facts that `fact` may contradict."""
        ...

    def asks(self, text: str) -> bool:
        """Whether a text only asks and states nothing."""
        ...

    def denies(self, text: str) -> bool:
        """Whether a text says that something is not so."""
        ...

    def over(self, text: str) -> tuple[str, ...]:
        """The things that a text says are over, or never were so, in its own words."""
        ...

    def junk(self, text: str) -> JunkKind | None:
        """Which phrases of no one's own the text consists of: an assistant's, boilerplate, small talk."""
        ...


def rules() -> Rules | None:
    """The rule set that the settings name, if any."""
    return _loaded(settings.MEMORYHUB_RULES) if settings.MEMORYHUB_RULES else None


@cache
def _loaded(package: str) -> Rules:
    found: Rules = import_string(f"{package}.RULES")
    return found


def content_words(text: str) -> frozenset[str]:
    """The words of `text` that tell something, by the rule set; else all its words but short ones."""
    if (known := rules()) is not None:
        return known.content_words(text)
    every = words(text.replace("_", " "))
    return frozenset(
        word for word in every if len(word) >= _SHORTEST_TELLING or not word.isascii() or word[:1].isdigit()
    )


def likeness(*parts: str) -> str:
    """A digest that statements share if a rule set says that they are the same; empty without one."""
    known = rules()
    return known.likeness(*parts) if known else ""


def same(left: str, right: str) -> bool:
    """Whether two texts say the same: by their normalised words, or as the rule set judges."""
    if normalised(left) == normalised(right):
        return True
    found = likeness(left)
    return bool(found) and found == likeness(right)


def judged(pairs: Iterable[tuple[JudgedFact, JudgedFact]]) -> Iterable[Judgement]:
    """What the newer fact of each pair, the second one, does to the older by the rule set; nothing without one."""
    known = rules()
    return known.judge(pairs) if known else (NEITHER for _ in pairs)


def topics(fact: JudgedFact) -> frozenset[str]:
    """The topics of a fact by the rule set; none without one."""
    known = rules()
    return known.topics(fact) if known else frozenset()


def cues(fact: JudgedFact) -> Cues:
    """How to find the facts that are worth judging beside `fact`: by the rule set, else by its two longest words."""
    known = rules()
    return known.cues(fact) if known else Cues(telling(fact.text))


def telling(text: str) -> tuple[str, ...]:
    """The two longest content words of `text`: they tell most."""
    return tuple(sorted(content_words(text), key=lambda word: (-len(word), word))[:2])


def denies(text: str) -> bool:
    """Whether a text denies something, by the rule set; False without one."""
    known = rules()
    return known is not None and known.denies(text)


def over(text: str) -> tuple[str, ...]:
    """The things that a text says are over, by the rule set; none without one."""
    known = rules()
    return known.over(text) if known else ()


def asks(text: str) -> bool:
    """Whether a text only asks: by the rule set, else by its last sign."""
    known = rules()
    return known.asks(text) if known else text.rstrip().endswith(("?", "？", "؟"))


def junk(text: str, *, slot: bool = False) -> JunkKind | None:
    """The kind of junk that `text` is, if any. In a `slot` a short answer such as "yes" is none."""
    if found := junk_forms.junk_in(text):
        return found
    known = rules()
    found = known.junk(text) if known else None
    return None if slot and found is JunkKind.SMALL_TALK else found


def junk_in_playbook(title: str, trigger: str, text: str, steps: Iterable[str]) -> JunkKind | None:
    """The same for a way to do something; a step may quote an assistant, a page or a person."""
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
    """The words of a turn without pasted paragraphs."""
    return junk_forms.own_words(text, is_pasted=lambda paragraph: junk(paragraph) is JunkKind.SYSTEM)


class NoExtractor:
    """The extractor where neither a model nor a rule set is configured. Every episode waits; none is skipped."""

    name = "none"

    def extract(self, material: Material) -> Extraction:  # noqa: ARG002 - the protocol's
        """Raises ExtractionFault: nothing was read."""
        raise ExtractionFault(
            "Nothing was read: neither a model (MEMORYHUB_MODEL) nor a rule set (MEMORYHUB_RULES) is configured.",
            FaultKind.PASSING,
        )


def consolidation_extractor() -> Extractor:
    """The model that the settings name for consolidation, else that of the chat, else the rule set's."""
    if name := settings.MEMORYHUB_CONSOLIDATION_MODEL or settings.MEMORYHUB_MODEL:
        from memories.consolidation.model import ModelExtractor  # noqa: PLC0415 - a second to import, not when offline

        return ModelExtractor(json_endpoint(name))
    known = rules()
    return known.extractor() if known else NoExtractor()


def contradiction_judge() -> Judge | None:
    """The model that judges pairs of facts, if one is configured; None: the rule set alone."""
    if not (name := settings.MEMORYHUB_CONSOLIDATION_MODEL or settings.MEMORYHUB_MODEL):
        return None
    from memories.consolidation.model import ModelJudge  # noqa: PLC0415 - as above

    return ModelJudge(json_endpoint(name))
