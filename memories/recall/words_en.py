"""The words of English that recall knows by name, all in one place; another language is another module like this.

Each set is of lower-case words as `query.words` splits them: possessive endings and apostrophes gone.
"""

from __future__ import annotations

import re

# Words that say nothing about what is looked for: those of a search engine's list, question words, pronouns, fillers.
STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
    what when where who whom whose which why how did does do has have had were would could should can may might been
    being am
    i you he she we me him her us my your his our its them
    so just really very too also get got about from up out all more some any than over im ive id youre dont thats
    """.split()
)

MONTHS = tuple("january february march april may june july august september october november december".split())
# "may" and "march" are months only with a capital letter; the others are never anything else in a question.
MONTHS_IF_CAPITAL = frozenset({"may", "march"})

# Words by which a memory says when something was.
TIME_WORDS = frozenset(
    """
    yesterday today tomorrow last next week weekend month year ago recently since
    monday tuesday wednesday thursday friday saturday sunday
    summer winter spring fall night morning tonight soon now day days weeks months years just
    """.split()
) | frozenset(MONTHS)

FIRST_PERSON = frozenset({"i", "my", "me", "we", "our"})

# How a question begins, with or without its mark.
QUESTION_WORDS = frozenset(
    """
    what when where who whom whose which why how do does did is are was were can could should would will have has had
    """.split()
)

# How a question that wants a time begins.
ASKS_WHEN = re.compile(r"\s*(?:when|how long|(?:what|which) (?:date|day|month|year)|what time)\b", re.IGNORECASE)

# What two near duplicates may differ in.
FILLERS = frozenset("a an the so well oh hey hi hello ok okay yes yeah just really very please also".split())
