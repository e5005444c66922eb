"""`python -m benchmarks --part texts`: the cost of the worst texts for each detector, gate and rule.

Each function reads 32,000 characters of each unit repeated, and 8,000 for the ratio: about 4 in linear time, 16 in
quadratic. `--units N` adds N units of one to three fragments drawn by the seed. The exit status is 1 if a function took
more than LIMIT milliseconds of one core. What a text takes to repeat is measured in processor time, so it hardly
depends on what else runs.
"""

# ruff: noqa: E501  # fragments, many in a line

from __future__ import annotations

import json
import random
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from uuid import UUID

import django

django.setup()

from rich.console import Console  # noqa: E402 - after the set-up
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402

from memories.consolidation import rules  # noqa: E402
from memories.consolidation.material import EpisodeText, KnownFact, Material, ProposedFact  # noqa: E402
from memories.consolidation.planner import Planner, repeats  # noqa: E402
from memories.consolidation.rules import JudgedFact  # noqa: E402
from memories.constants import MAX_MEMORY_CHARACTERS  # noqa: E402
from memories.embedding import token_vectors  # noqa: E402
from memories.english import RULES, changes, grammar, phrasing, playbooks, questions, times  # noqa: E402
from memories.english.responder import Responder  # noqa: E402
from memories.hygiene import differences, junk  # noqa: E402
from memories.hygiene import text as texts  # noqa: E402
from memories.hygiene.sensitivity import classifier, detecting, findings  # noqa: E402
from memories.hygiene.sensitivity.context import fold  # noqa: E402
from memories.presenting import markup  # noqa: E402
from memories.recall import query  # noqa: E402
from memories.types import Source, Status  # noqa: E402

CHARACTERS, FEWER = 32_000, 8_000
# Milliseconds of one core for a text of CHARACTERS.
LIMIT = 150.0
# Milliseconds for FEWER characters above which CHARACTERS are not tried: sixteen times this is given.
_HOPELESS = 400.0
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_IDS = UUID(int=1), UUID(int=2)

Read = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Cost:
    """The worst unit of a function: milliseconds for CHARACTERS, and the ratio to those for FEWER."""

    function: str
    unit: str
    milliseconds: float
    ratio: float


# Fragments of what the patterns look for, of formats, and of other scripts.
FRAGMENTS = (
    # values
    "GB82 ", "GB82WEST12345698765432 ", "DE89370400", "4111 ", "4111 1111 1111 1111 ", "536-90-4399/", "12345678901 ",
    "+1 212 555 0123 ", "(212) 555-0123", "020 7946 0958 call ", "a@b.co ", "a.b-", "@", "12 Main Street, ", "12 Abc Def Ghi ",
    "Hauptstraße 12, ", "Calle de la ", "eyJ", "eyJhbGciOiJIUzI1NiJ9.", "sk-", "ghp_", "AKIA", "AKIA IOSF ODNN ",
    "-----BEGIN RSA PRIVATE KEY-----\n", "----", "PuTTY-User-Key-File-2: a", "MIIEvQIBADAN", "LS0tLS1CRUdJTiB",
    "NDExMTExMTExMTExMTExMQ== ", "https://a:b", "://", "a:", "curl -u a:bcde ", "basic YWRtaW46dGln ", "bearer ", "kty RSA d ",
    "password ", "password for a b c d e ", "password is x1!aaaa ", "my PIN is 4821, ", "seed phrase: able about ", "able about ",
    "the door code is ", "token = ", "login: a / ", "wifi ", "a1B2c3D4e5F6g7H8i9J0 ", "aB3", "pin 1234\n", "x-auth key ", "%20", "=",
    # what people say
    "1. ", "my dog is called Rex, ", "I don't ", "sure, ", "3/3/2020 ", "I live in Leeds. ", "I like tea and ", "no, wait, ",
    "my wife Ana, ", "I moved to Oslo, ", "it's not A, it's B. ", "I used to ", "to fix it: do a, then b. ", "1) do it\n", "and then ",
    "when it fails, ", "Who am I? ", "remember that ", "forget ", "i said a, but i meant ", "last year ", "since March ", "don't ",
    "n't ", "I, ", "My ", "Ana ", "we ", "is ", "not ", "no ", "he ", "also ", "actually ", "two ", "Dr. ", "half past ", "€5 ", "1st ",
    "vegan ", "have an allergy to ", "not like nuts any more ", "prefer a over ", "as an ai, ", "you are the ", "by continuing ",
    "we use cookies ", "how can i help ", "translate ", "lol ", "- ", ", ", "; ", ": ", ". ", "! ", "? ", ".", ",", "'", '"', "`", "“",
    # forms
    "\n", "\n\n", " ", "\t", "\r\n", "\u2028", "0", "7", "1,", "1 ", "A", "Aa", "a ", "ab ", "x1", "_", "-", "/", "a/b ", "[", "]", "{", "}",
    "(", ")", "<", ">", "<div>", "<|im_start|>user ", "[INST] ", '{"id":', "[[", '{"id":"00000000-0000-4000-8000-000000000000","kind":"semantic","x":',
    '{"note": "Records from memory. ', "at a (b:1)\n", 'File "a", line 1\n', "```", "&amp;", "\\", "\\n", "\\u0041", "[payment card removed]",
    # scripts
    "é", "e\u0301", "\u0301", "ß", "İ", "ﷺ", "⒇", "\u200b", "\u202e", "😀", "👩‍👩‍👧", "日本語", "パスワードは", "東京", "한국어 ", "привет ",
    "pаsswоrd ", "４１１１ ", "๑๒๓", "Ich wohne in Köln. ", "mein Passwort ist ",
)  # fmt: skip


def functions() -> dict[str, Read]:
    """Every function that reads a text of a member or a model before or while it is stored, by name."""
    detectors = {detector.__name__: _folded(detector) for detector in detecting.DETECTORS}
    return {
        **{f"detector {name}": detector for name, detector in detectors.items()},
        "fold": fold,
        "scan_named": lambda text: detecting.scan_named(text, ("wifi password",)),
        "scan and judged": _screened,
        "could_have_been": lambda text: findings.could_have_been(text, text),
        "classifier question": lambda text: classifier.question(text, detecting.scan(text)),
        "clean_text": lambda text: texts.clean_text(text, field="text", limit=CHARACTERS, required=False),
        "content_hash": texts.content_hash,
        "differences": lambda text: differences.differences(text, text[::-1]),
        "junk_in": junk.junk_in,
        "unmistakable": junk.unmistakable,
        "own_words": rules.own_words,
        "rules.junk": rules.junk,
        "rules.same": lambda text: rules.same(_memory(text), f"{_memory(text)} x"),
        "rules.asks": rules.asks,
        "rules.denies": lambda text: rules.denies(_memory(text)),
        "rules.over": rules.over,
        "rules.cues": lambda text: rules.cues(JudgedFact(text, "home_city")),
        "rules.topics": lambda text: rules.topics(JudgedFact(text, "home_city")),
        "rules.judged": lambda text: [*rules.judged([(JudgedFact(text), JudgedFact(f"not {text}"))])],
        "rules.content_words": rules.content_words,
        "rules.marks": RULES.marks,
        "grammar.read": lambda text: grammar.read(text, text),
        "changes.read_changes": changes.read_changes,
        "questions.read_question": questions.read_question,
        "playbooks.read_outcome": playbooks.read_outcome,
        "times.began": lambda text: times.began(text, _NOW),
        "phrasing.second_person": phrasing.second_person,
        "extractor": _extracted,
        "responder": _answered,
        "planner": _planned,
        "query.parse": lambda text: query.parse(text, ("Ana Lee", "Rex"), _NOW),
        "token_vectors": lambda text: token_vectors().piece_ids(text),
        "markup.booleans_in_words": markup.booleans_in_words,
        "markup.initials": markup.initials,
    }


def _folded(detector: Callable[[str], Iterator[findings.Finding]]) -> Read:
    return lambda text: [*detector(fold(text).text)]


def _screened(text: str) -> findings.Judged:
    return findings.judged(text, detecting.scan(text), findings.USUAL_HANDLING)


def _memory(text: str) -> str:
    """A memory is shorter than a message."""
    return text[:MAX_MEMORY_CHARACTERS]


def _material(text: str) -> Material:
    episode = EpisodeText(_IDS[0], 1, _IDS[0], text, "Ana", own=True, happened_at=_NOW, before=text)
    source, status = Source.USER_STATED, Status.ACTIVE
    fact = KnownFact(_IDS[1], "Lives in Leeds", "home_city", "home", source, 1.0, status, _NOW)
    return Material("Ana", (episode,), (fact,))


def _extracted(text: str) -> object:
    return RULES.extractor().extract(_material(text))


def _planned(text: str) -> object:
    fact = ProposedFact(text=_memory(text), supporting_episode_ids=(_IDS[0],), quote=text)
    repeats(text, own=text, quote=text)
    return Planner(_material(text)).plan([fact])


def _answered(text: str) -> object:
    responder = Responder()
    return [responder.looks_up(text), *responder.stream([{"role": "user", "content": text}], (), may_call_tools=False)]


@cache
def units(count: int, seed: int) -> tuple[str, ...]:
    """The fragments, then `count` units of one to three of them."""
    drawn = random.Random(seed)  # noqa: S311 - no secret
    return (*FRAGMENTS, *("".join(drawn.choices(FRAGMENTS, k=drawn.randint(1, 3))) for _ in range(count)))


def milliseconds(read: Read, unit: str, characters: int) -> float:
    """Processor time of one call with `characters` of the unit repeated; the better of two if it is over the limit."""
    text = (unit * (characters // len(unit) + 1))[:characters]
    found = _timed(read, text)
    return min(found, _timed(read, text)) if found > LIMIT else found


def _timed(read: Read, text: str) -> float:
    begin = time.thread_time()
    read(text)
    return (time.thread_time() - begin) * 1000


def worst(name: str, read: Read, every: tuple[str, ...]) -> Cost:
    """The unit that takes a function longest."""
    read("Ready?")
    costs = []
    for unit in every:
        fewer = milliseconds(read, unit, FEWER)
        many = fewer * 16 if fewer > _HOPELESS else milliseconds(read, unit, CHARACTERS)
        costs.append(Cost(name, unit, many, many / max(fewer, 0.01)))
    return max(costs, key=lambda cost: cost.milliseconds)


def run(options: Namespace) -> int:
    """Measure, print a table or JSON, and return the exit status."""
    detecting.load()
    token_vectors()
    every = units(options.units, options.seed)
    console = Console(stderr=True)
    named = [(name, read) for name, read in functions().items() if options.only in name]
    rows = [worst(name, read, every) for name, read in track(named, "reading", console=console, transient=True)]
    over = [row for row in rows if row.milliseconds > LIMIT]
    if options.json:
        found = {
            "characters": CHARACTERS,
            "limit_ms": LIMIT,
            "units": len(every),
            "rows": [asdict(row) for row in rows],
        }
        Console().print_json(json.dumps(found))
        return bool(over)
    table = Table(title=f"{CHARACTERS:,} characters of the worst of {len(every)} units")
    table.add_column("read by")
    for heading in ("ms", f"ratio to {FEWER:,}"):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    for row in sorted(rows, key=lambda row: -row.milliseconds):
        table.add_row(
            row.function,
            f"{row.milliseconds:.0f}",
            f"{row.ratio:.1f}",
            repr(row.unit)[:60],
            style="red" * (row in over),
        )
    Console().print(table)
    Console().print(f"{len(over)} of {len(rows)} over {LIMIT:.0f} ms" if over else f"all within {LIMIT:.0f} ms")
    return bool(over)
