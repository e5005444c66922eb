"""The English rule set, used where no model is configured. No other package imports this one.

The setting `MEMORYHUB_RULES` names it; `RULES` implements `memories.consolidation.rules.Rules`.
"""

from __future__ import annotations

from memories.english.changes import Correction, End, read_changes
from memories.english.extractor import RuleExtractor
from memories.english.judge import cues, denies, judge, topics
from memories.english.junk import phrases_in
from memories.english.phrasing import small_talk, to_owner
from memories.english.text import content_words, first_sentences, marks, plain
from memories.english.vocabulary import ASKING, QUESTION, STATES_TOO
from memories.english.wording import likeness
from memories.hygiene.junk import JunkKind
from memories.llm.base import ChatModel


class English:
    """The English implementation of `memories.consolidation.rules.Rules`."""

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
    to_owner = staticmethod(to_owner)

    def responder(self) -> ChatModel:
        """Create the responder, which answers from memory in fixed sentences."""
        from memories.english.responder import Responder  # noqa: PLC0415 - needed only where no model answers

        return Responder()

    def asks(self, text: str) -> bool:
        """True if every sentence of `text` is a question."""
        return all(QUESTION.search(sentence) for sentence in first_sentences(plain(text)))

    def may_tell(self, text: str) -> bool:
        """True unless every sentence of `text` asks from its beginning, without stating something, or is small talk."""
        if phrases_in(text) is JunkKind.SMALL_TALK or small_talk(text):
            return False
        for sentence in first_sentences(plain(text)):
            asks = ASKING.search(sentence) and not STATES_TOO.search(sentence)
            if not asks and phrases_in(sentence) is not JunkKind.SMALL_TALK and not small_talk(sentence):
                return True
        return False

    def over(self, text: str) -> tuple[str, ...]:
        """Return the objects of all ends, corrections and shifts in `text`."""
        changes = read_changes(text)
        named = [each.what if isinstance(each, End) else each.about for each in changes]
        named += [each.wrong for each in changes if isinstance(each, Correction)]
        return tuple(filter(None, named))


RULES = English()
