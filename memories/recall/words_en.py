"""English word lists of recall; another language needs its own module like this one.

All words are lower case and split like `query.words`: without possessive endings and apostrophes.
"""

from __future__ import annotations

import re

from memories.recall.vocabulary import Vocabulary, time_table, word_set

# Words that do not describe the topic of a query: a search engine's stop words, question words, pronouns, fillers.
STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
    what when where who whom whose which why how did does do has have had were would could should can may might been
    being am
    i you he she we me him her us my your his our its them
    so just really very too also get got about from up out all more some any than over im ive id youre dont thats
    whats wheres whos whens hows
    """.split()
)

MONTHS = tuple("january february march april may june july august september october november december".split())
# These are months only when capitalized; the other names are unambiguous in a query.
MONTHS_IF_CAPITAL = frozenset({"may", "march"})

# Words with which a memory states a time.
TIME_WORDS = frozenset(
    """
    yesterday today tomorrow last next week weekend month year ago recently since
    monday tuesday wednesday thursday friday saturday sunday
    summer winter spring fall night morning tonight soon now day days weeks months years just
    """.split()
) | frozenset(MONTHS)

FIRST_PERSON = frozenset({"i", "my", "me", "we", "our"})

# First words of a question, with or without a question mark.
QUESTION_WORDS = frozenset(
    """
    what when where who whom whose which why how do does did is are was were can could should would will have has had
    """.split()
)

# Beginnings of a question that asks for a time.
ASKS_WHEN = re.compile(r"\s*(?:when|how long|(?:what|which) (?:date|day|month|year)|what time)\b", re.IGNORECASE)

# Kinds of questions by the words that ask them; the first that occurs counts.
FORMS = {
    name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for name, words in {
        "how many": "how (?:many|much|old|far|often|big|tall|heavy)",
        "how": "how|steps|procedure",
        "who": "who|whos|whose|whom",
        "where": "where|wheres",
        "why": "why",
        "what": "what|whats|which",
    }.items()
}

# Words of greetings, thanks and agreement; a text of these alone says nothing.
SMALL_TALK = frozenset(
    """
    hello hi hey hallo hola salut bonjour thanks thank you thx cheers please welcome bye goodbye good morning
    evening night ok okay yes yeah no nope sure fine great nice cool perfect lovely wow haha lol hm hmm merry
    christmas happy new year well so then and to a all the day there danke bitte gracias merci ciao see later
    """.split()
)

# Words in which near duplicates may differ.
FILLERS = frozenset("a an the so well oh hey hi hello ok okay yes yeah just really very please also".split())

VOCABULARY = Vocabulary(
    stop_words=STOP_WORDS,
    first_person=FIRST_PERSON,
    past=word_set("was were had did used before former formerly previous previously earlier old ex until then"),
    forms={},  # FORMS and ASKS_WHEN
    times=time_table(
        """
        month = january february/feb march april may june july august september/sept october november december
        weekday = monday tuesday wednesday thursday friday saturday sunday
        season = spring summer autumn/fall winter
        day = today/tonight yesterday
        unit = day/days week/weeks month/months year/years weekend/weekends morning/afternoon/evening/night
        number = zero a/an/one two/couple three/few four five six seven eight nine ten eleven twelve
        last = last/past/previous
        this = this
        ago = ago
        since = since
        before = before
        after = after
        until = until/till
        between = between
        and = and
        in = in/during/early/late/mid
        skip = the/of/on
        """
    ),
)
# Verbs and names as well as months: they are months beside a number or after a word such as "in".
OTHERS_TOO = frozenset({"may", "march"})
