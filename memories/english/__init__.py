"""The English rules: what the core asks of a language where no model is configured. Nothing else imports this package.

`MEMORYHUB_RULES` names it; `RULES` implements `memories.consolidation.rules.Rules`.
"""

from __future__ import annotations

from memories.english.changes import Correction, End, read_changes
from memories.english.extractor import RuleExtractor
from memories.english.judge import cues, denies, judge, topics
from memories.english.junk import phrases_in
from memories.english.text import content_words, marks, plain, sentences
from memories.english.vocabulary import QUESTION
from memories.english.wording import likeness
from memories.llm.base import ChatModel


class English:
    """Implements `memories.consolidation.rules.Rules`."""

    language = "en"
    extractor = RuleExtractor
    content_words = staticmethod(content_words)
    marks = staticmethod(marks)
    likeness = staticmethod(likeness)
    judge = staticmethod(judge)
    topics = staticmethod(topics)
    denies = staticmethod(denies)
    cues = staticmethod(cues)
    junk = staticmethod(phrases_in)

    def responder(self) -> ChatModel:
        """Answers from memory, in fixed sentences."""
        from memories.english.responder import Responder  # noqa: PLC0415 - needed where no model answers

        return Responder()

    def asks(self, text: str) -> bool:
        """Whether every sentence is a question."""
        return all(QUESTION.search(sentence) for sentence in sentences(plain(text)))

    def over(self, text: str) -> tuple[str, ...]:
        """The objects of ends, corrections and shifts."""
        changes = read_changes(text)
        named = [each.what if isinstance(each, End) else each.about for each in changes]
        named += [each.wrong for each in changes if isinstance(each, Correction)]
        return tuple(filter(None, named))


RULES = English()
