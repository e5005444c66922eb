"""The grammar of the offline responder: which plain statements become memories, and in which words.

Invariant: a sentence that asks, supposes, denies, plans or reports what somebody else said writes nothing. Where a rule
is in doubt it stays silent: what was said is kept as an episode anyway, and a fact missed is better than one made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memories.consolidation.grammar import everyday, requests, vocabulary
from memories.consolidation.grammar.statement import Statement
from memories.consolidation.grammar.steps import Playbook, read_playbook
from memories.consolidation.grammar.text import (
    capitalised,
    clauses,
    finer_clauses,
    plain,
    sentences,
    slug,
    with_subject,
    without_time,
)
from memoryhub.regexes import lazy_regex

__all__ = ["Reading", "Statement", "read"]

# Longer texts tell stories; the rules are for plain statements, and patterns stay fast on short ones.
LONGEST_SENTENCE = 400
LONGEST_PLAYBOOK = 4_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message says: facts and a playbook to store, what to forget (in the user's words), and whether it asks."""

    statements: tuple[Statement, ...] = ()
    playbook: Playbook | None = None
    forget: str | None = None
    question: str = ""


def read(message: str) -> Reading:
    """What `message` asks to be done, as far as the rules understand it."""
    text = plain(message)
    playbook = read_playbook(text) if len(text) <= LONGEST_PLAYBOOK else None
    if playbook is not None:
        return Reading(playbook=playbook)
    statements: list[Statement] = list(_introduced(text))
    unmeant = bool(vocabulary.SARCASM.search(text) or vocabulary.GIVEN_TEXT.match(text))
    forget: str | None = None
    questions: list[str] = []
    for place, whole in enumerate(sentences(text)):
        sentence = requests.POLITE.sub(r"\1", _OPENERS.sub("", whole))
        sentence = with_subject(sentence) if place == 0 else sentence
        if len(sentence) > LONGEST_SENTENCE:
            continue
        if match := requests.FORGET.match(sentence):
            forget = match["about"].strip()
        elif found := () if unmeant else tuple(_said(sentence)):
            corrects = bool(_DENIED.match(whole))
            statements += (replace(each, corrects=corrects or each.corrects) for each in found)
        elif vocabulary.QUESTION.search(sentence):
            questions.append(whole)
    return Reading(tuple(dict.fromkeys(statements)), None, forget, " ".join(questions))


def _said(sentence: str) -> Iterator[Statement]:
    """The facts of one sentence: what it asks to remember, else what it states in passing."""
    if match := requests.TO_DO.match(sentence):
        yield Statement(f"To do: {_closed(match['what'])}", category="to do")
    elif match := requests.REMEMBER_THAT.match(sentence):
        yield from _remembered(match["what"])
    elif (match := requests.REMEMBER.match(sentence)) and not requests.MEMORIES_SHARED.match(match["what"]):
        what = match["what"]
        yield from tuple(_stated(what)) or (_remembered(what) if requests.HAS_VERB.search(what) else ())
    else:
        yield from _stated(sentence, (*_ALL_RULES, *everyday.TASTES))


def _remembered(what: str) -> Iterator[Statement]:
    """What the user asked for by name is stored in any case: by a rule if one fits, else word for word."""
    if vocabulary.QUESTION.search(what) and not what.casefold().startswith(("is ", "are ")):
        return
    yield from tuple(_stated(what)) or (Statement(capitalised(_closed(what))),)


def _stated(sentence: str, rules: Sequence[everyday.Rule] = ()) -> Iterator[Statement]:
    """What a sentence states in passing; nothing if it asks, supposes or reports."""
    if vocabulary.QUESTION.search(sentence) or vocabulary.doubtful(sentence) or '"' in sentence:
        return
    for clause in clauses(_NOT_THAT.sub(r"\1", _OPENERS.sub("", sentence))):
        found = tuple(_clause(clause, rules or _ALL_RULES))
        if not found:
            found = tuple(each for part in finer_clauses(clause) for each in _clause(part, rules or _ALL_RULES))
        yield from found
    for rule, build in everyday.ASIDES:
        if match := rule.search(sentence):
            moved = bool(_MOVED.match(without_time(sentence)))
            yield from (replace(each, quote=sentence, moved=moved) for each in build(match))


def _clause(clause: str, rules: Sequence[everyday.Rule]) -> Iterator[Statement]:
    """The facts of one clause, by the first rule that finds any."""
    bare = without_time(_OPENERS.sub("", clause))
    for rule, build in rules:
        if match := rule.match(bare):
            found = tuple(build(match))
            if found:
                beside = found[0].key in _SEVERAL_HOLD and bool(_BESIDE.search(bare))
                moved = bool(_MOVED.match(bare))
                yield from (
                    replace(
                        each, quote=clause, beside=beside, moved=each.moved or moved, key="" if beside else each.key
                    )
                    for each in found
                )
                return


def _introduced(text: str) -> Iterator[Statement]:
    """The name that somebody gives after a greeting: "Hi! I'm Mira"."""
    if match := _INTRODUCED.match(text):
        yield Statement(f"Name is {match['name'] or match['here']}", "name", "personal", quote=match["quote"])


def _place(match: re.Match[str]) -> Iterator[Statement]:
    if place := vocabulary.place_in(match["place"]):
        yield Statement(f"Lives in {place}", "home_city", "home")


def _origin(match: re.Match[str]) -> Iterator[Statement]:
    if place := vocabulary.place_in(match["place"]):
        yield Statement(f"Comes from {place}", "origin", "home")


def _birth(match: re.Match[str]) -> Iterator[Statement]:
    where = match["where"].strip()
    if vocabulary.DATE.search(where):
        yield Statement(f"Born {match['how'].lower()} {_closed(where)}", "date_of_birth", "personal")
    elif place := vocabulary.place_in(where):
        yield Statement(f"Born in {place}", "birthplace", "personal")


def _name(match: re.Match[str]) -> Iterator[Statement]:
    if name := vocabulary.person_in(match["name"], any_case=True):
        yield Statement(f"Name is {name}", "name", "personal")


def _call_name(match: re.Match[str]) -> Iterator[Statement]:
    if name := vocabulary.person_in(match["name"]):
        yield Statement(f"Prefers to be called {name}", "preferred_name", "personal")


def _employer(match: re.Match[str]) -> Iterator[Statement]:
    if where := vocabulary.workplace_in(match["where"]):
        yield Statement(
            f"Works {match['how'].lower() if 'how' in match.groupdict() else 'at'} {where}", "employer", "work"
        )


def _occupation(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Works as {match['article'].lower()} {match['job'].strip()}", "occupation", "work")
    if match["where"]:
        yield from _employer(match)


def _profession(match: re.Match[str]) -> Iterator[Statement]:
    job = match["job"].strip()
    if job.split()[-1].casefold() in vocabulary.PROFESSIONS and " of a " not in job:
        yield Statement(f"Works as {match['article'].lower()} {job}", "occupation", "work")


def _favourite(match: re.Match[str]) -> Iterator[Statement]:
    thing, value = match["thing"].strip(), vocabulary.without_tail(match["value"])
    if slug(thing).split("_")[0] not in vocabulary.VAGUE and not vocabulary.TRANSIENT.match(value):
        yield Statement(
            f"{match['word'].capitalize()} {thing} {match['verb']} {value}", f"favourite_{slug(thing)}", "taste"
        )


def _allergies(match: re.Match[str]) -> Iterator[Statement]:
    for what in re.split(r",\s*(?:and\s+)?|\s+and\s+", _closed(match["what"])):
        thing = vocabulary.VALUE_ENDS.sub("", what).strip()
        if thing and thing.casefold() not in vocabulary.NO_ALLERGENS and len(thing.split()) <= vocabulary.LONGEST_THING:
            yield Statement(f"Allergic to {thing}", f"allergy_{slug(thing).removesuffix('s')}", "health")


def _allergy(match: re.Match[str]) -> Iterator[Statement]:
    thing = match["what"]
    yield Statement(f"Has a {thing} allergy", f"allergy_{slug(thing).removesuffix('s')}", "health")


def _diet(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Is {match['diet'].lower()}", "diet", "food")


def _preference(match: re.Match[str]) -> Iterator[Statement]:
    yield Statement(f"Prefers {vocabulary.without_tail(match['what'])}", category="taste")


def _companion(match: re.Match[str]) -> Iterator[Statement]:
    if name := vocabulary.person_in(match["name"]):
        yield Statement(f"Has {match['what'].strip()} {match['verb'].lower()} {name}", category="family")


def _named_thing(match: re.Match[str]) -> Iterator[Statement]:
    thing = match["thing"].strip()
    if name := vocabulary.person_in(match["name"]):
        relation = re.split(r"\s(?:at|in|from)\s", thing, maxsplit=1)[0]
        person = slug(relation) in vocabulary.PEOPLE
        key = vocabulary.relation_key(relation) if person else f"{slug(thing)}_name"
        key = "" if key in vocabulary.SEVERAL_KIN else key
        yield Statement(f"{capitalised(thing)}{match['link']}{name}", key, "personal")


def _thing(match: re.Match[str]) -> Iterator[Statement]:
    thing, value = match["thing"].strip(), vocabulary.without_tail(match["value"])
    if key := vocabulary.attribute_key(thing, value):
        person = key in vocabulary.PEOPLE and value.casefold().startswith(("a ", "an ", "the "))
        several = person or key in vocabulary.SEVERAL_KIN
        yield Statement(f"{capitalised(thing)} is {value}", "" if several else key, "personal")


def _ended(match: re.Match[str]) -> Iterator[Statement]:
    what = _closed(match["what"].split(", ", 1)[0])
    if what.split()[0].casefold() not in vocabulary.STATES_OF_MIND:
        yield Statement(f"No longer {vocabulary.third_person(what)}", ends=what)


def _ended_state(match: re.Match[str]) -> Iterator[Statement]:
    what = _closed(match["what"])
    if vocabulary.LASTING_STATE.match(what):
        yield Statement(f"No longer {what}", ends=what)


def _closed(text: str) -> str:
    return text.strip().rstrip(".!;,: ").strip()


_I = r"(?:i|we)"
_I_AM = r"(?:i'm|i am|we're|we are)"
_HAVE = r"(?:'ve|\s+have)?"
_LATELY = r"(?:\s+(?:still|now|just|recently|finally|currently|also|both|all|actually))*"
_REST = r"(?P<place>.+)$"


def _rule(pattern: str) -> re.Pattern[str]:
    return lazy_regex(pattern, re.IGNORECASE)


# The first rule that yields something wins for a clause. `{…}` says what each understands.
_RULES: tuple[everyday.Rule, ...] = (
    # I no longer work at Acme / I don't live in Bristol anymore / I'm no longer vegan
    (_rule(rf"{_I}\s+no longer\s+(?P<what>\w+.*)$"), _ended),
    (_rule(rf"{_I}\s+(?:don't|do not)\s+(?P<what>\w+.*?)\s+any\s?(?:more|longer)\b[.!]?$"), _ended),
    (_rule(rf"(?:{_I_AM})\s+no longer\s+(?P<what>\w+.*)$"), _ended_state),
    (_rule(rf"(?:{_I_AM})\s+not\s+(?P<what>\w+.*?)\s+any\s?(?:more|longer)\b[.!]?$"), _ended_state),
    # we left Bristol, in Edinburgh now / I left Oslo and moved to Bergen
    (
        _rule(
            rf"{_I}{_HAVE}{_LATELY}\s+left\s+[\w' -]+?(?:,\s*|\s+and\s+|,\s+and\s+)(?:{_I_AM}\s+|are\s+|am\s+)?"
            rf"(?:now\s+)?(?:living\s+|based\s+)?in\s+(?P<place>.+?)\s+now\b[.!]*$"
        ),
        _place,
    ),
    (
        _rule(
            rf"{_I}{_HAVE}{_LATELY}\s+left\s+[\w' -]+?(?:,\s*|\s+and\s+|,\s+and\s+)(?:now\s+)?"
            rf"(?:live\s+in|moved\s+to)\s+{_REST}"
        ),
        _place,
    ),
    # I moved to X / we've relocated from A to B / I live in X / I'm based in X
    (
        _rule(
            rf"{_I}{_HAVE}{_LATELY}\s+(?:moved|relocated)(?:\s+(?:back|over|house|home|out|up|down))*"
            rf"(?:\s+from\s+[\w' -]+?)?\s+to\s+{_REST}"
        ),
        _place,
    ),
    (_rule(rf"{_I}{_LATELY}\s+live{_LATELY}\s+in\s+{_REST}"), _place),
    (_rule(rf"{_I}{_HAVE}{_LATELY}\s+settled(?:\s+down)?\s+in\s+{_REST}"), _place),
    (_rule(rf"{_I}(?:'ve|\s+have)\s+(?:lived|been living)\s+in\s+(?P<place>.+?\s+(?:since|for)\s.+)$"), _place),
    (_rule(rf"{_I}{_HAVE}\s+left\s+[\w' -]+?,\s+now\s+(?:living|based)\s+in\s+{_REST}"), _place),
    (_rule(rf"{_I_AM}{_LATELY}\s+(?:living|based){_LATELY}\s+in\s+{_REST}"), _place),
    (_rule(rf"my home (?:city|town) is(?: now)?\s+{_REST}"), _place),
    (_rule(rf"(?:{_I_AM}|i come)(?:\s+originally)?\s+from\s+{_REST}"), _origin),
    (_rule(r"(?:i was|i'm|i am)\s+born\s+(?P<how>on|in)\s+(?P<where>.+)$"), _birth),
    # my name is X / call me X
    (_rule(r"my (?:full |real )?name(?:'s|\s+is)\s+(?P<name>.+)$"), _name),
    (_rule(r"(?:you (?:can|may) )?call me\s+(?P<name>.+)$"), _call_name),
    (_rule(r"(?:everyone|everybody|people|friends|my friends) calls? me\s+(?P<name>.+)$"), _call_name),
    (_rule(r"i go by\s+(?P<name>.+)$"), _call_name),
    # I work as a nurse at St Mary's / I work at Acme / I got a job at Acme / I'm a teacher
    (
        _rule(
            rf"{_I}{_LATELY}\s+work{_LATELY}\s+as\s+(?P<article>an?|the)\s+(?P<job>[\w' -]+?)"
            r"(?:\s+(?P<how>at|for)\s+(?P<where>.+))?[.!]*$"
        ),
        _occupation,
    ),
    (_rule(rf"{_I}{_LATELY}\s+work{_LATELY}\s+(?P<how>at|for)\s+(?P<where>.+)$"), _employer),
    (
        _rule(
            rf"{_I}{_HAVE}{_LATELY}\s+(?:started(?:\s+working|\s+a\s+(?:new\s+)?job)|(?:got|found|took|accepted)\s+an?\s+"
            r"(?:new\s+)?(?:job|position))\s+(?:at|with|for)\s+(?P<where>.+)$"
        ),
        _employer,
    ),
    (
        _rule(
            rf"{_I_AM}{_LATELY}\s+(?P<article>an?)\s+(?P<job>[\w-]+(?:\s[\w-]+){{0,3}}?)"
            r"(?:\s+now)?(?:,.*)?[.!]*$"
        ),
        _profession,
    ),
    # tastes, health, family
    (
        _rule(
            r"my (?:all-time )?(?P<word>favou?rite)\s+(?P<thing>[\w' -]+?)\s+"
            r"(?P<verb>is|are)\s+(?:now\s+)?(?P<value>.+)$"
        ),
        _favourite,
    ),
    (_rule(rf"{_I_AM}(?:\s+(?:also|very|severely|really|badly))*\s+allergic to\s+(?P<what>.+)$"), _allergies),
    (
        _rule(
            r"i have an?\s+(?:(?:\w+ly|severe|bad|mild|serious|slight|terrible)\s+)*(?P<what>[\w-]+)\s+allergy\b"
            r"(?!\s+(?:to|tests?|medication|season|pills?|clinic)\b)"
        ),
        _allergy,
    ),
    (
        _rule(
            rf"{_I_AM}{_LATELY}\s+(?:an?\s+)?"
            r"(?P<diet>vegetarian|vegan|pescatarian|lactose[ -]intolerant|gluten[ -]free)(?:\s+now)?[.!]*$"
        ),
        _diet,
    ),
    (_rule(rf"i{_LATELY}\s+prefer\s+(?P<what>\w.*\s(?:to|over|than)\s\w.*)$"), _preference),
    (
        _rule(
            r"(?:i|we)(?:'ve got|\s+have(?: got)?)\s+(?P<what>an?\s+[\w -]+?)\s+(?P<verb>called|named)\s+(?P<name>.+)$"
        ),
        _companion,
    ),
    # my dog's name is Rex / my dog is called Rex / my <thing> is <value>
    (_rule(r"(?:my|our) (?:new |current )?(?P<thing>[\w -]+?)(?P<link>'s name is )(?P<name>.+)$"), _named_thing),
    (
        _rule(r"(?:my|our) (?:new |current )?(?P<thing>[\w -]+?)(?P<link> is (?:called|named) )(?P<name>.+)$"),
        _named_thing,
    ),
    (_rule(r"(?:my|our) (?:new |current )?(?P<thing>[\w -]+?)(?:\s+is|'s)\s+(?:now\s+)?(?P<value>.+)$"), _thing),
    (_rule(r"(?:i|we)(?:'ve|\s+have)?\s+changed my (?P<thing>[\w -]+?)\s+to\s+(?P<value>.+)$"), _thing),
    (
        _rule(
            r"my (?P<thing>[\w -]+?)\s+(?:has\s+)?changed(?:\s+to|[,:;]?\s+(?:and\s+)?(?:now\s+)?it's(?:\s+now)?)\s+"
            r"(?P<value>.+)$"
        ),
        _thing,
    ),
)

_ALL_RULES = (*everyday.EARLY, *_RULES, *everyday.LATE)
# One may work at two places, and live at two; "I also work at Acme" replaces nothing.
_SEVERAL_HOLD = ("employer", "occupation", "home_city")
_BESIDE = lazy_regex(
    r"\b(?:also|too|as well|second job|part[- ]time|on the side|at weekends|on weekends)\b", re.IGNORECASE
)
_MOVED = lazy_regex(r"(?:i|we)\b.{0,20}\b(?:moved|relocated|left)\b", re.IGNORECASE)
_DENIED = lazy_regex(
    r"(?:(?:well|oh|hmm|hey|wait|hang on),?\s+)?(?:no|nope|wrong|that's (?:wrong|not right))\b", re.IGNORECASE
)
# "I work for Globex, not Acme" says the same of Globex as without Acme.
_NOT_THAT = lazy_regex(r",\s+(?:and\s+)?not\s+(?!any|only|just|because|that|yet|sure)[\w' -]+?([.!]*)$", re.IGNORECASE)
_INTRODUCED = lazy_regex(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)\b[^.!?]{0,20}?[.!,]?\s+"
    r"(?P<quote>(?:i'm|i am)\s+(?P<name>(?-i:[A-Z][\w'-]+(?:\s[A-Z][\w'-]+){0,2}))(?=[.!,]|\s+and\b|\s+by the way|$)"
    r"|(?P<here>(?-i:[A-Z][\w'-]+))\s+here(?=[.!,]))",
    re.IGNORECASE,
)

_OPENERS = lazy_regex(
    r"^(?:(?:oh|ok|okay|hey|hi|hello|well|so|btw|by the way|fyi|also|actually|and|yes|yeah|no|please|thanks|thank you"
    r"|update|quick update|good news|big news|news|guess what"
    r"|sorry|oops|hang on|wait|confession|new year|turns out|finally"
    r"|just so you know|for the record|hi there|dear memoryhub|memoryhub|in fact|great)\b"
    r"[\s,:!.-]+)+",
    re.IGNORECASE,
)
