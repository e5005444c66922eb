"""Recalled memories as the rules of the consolidation weigh facts: what hangs on a statement, what an end means.

Invariant: only facts of the user's own that a recall of this turn showed; none that never was true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from memories.agent.offline.records import Memory, Turn
from memories.english.changes import End
from memories.english.grammar import Statement
from memories.english.known import DEPENDENTS, Held, is_home, made_false, meant, slot_of, value_words
from memories.english.text import content_words
from memories.types import Contradiction

_THERE = re.compile(r"(?:in )?(?:there|that (?:place|city|town|house|flat))", re.IGNORECASE)


def held(memories: Iterable[Memory], *, ended: bool = False) -> list[Held]:
    """The user's own facts among `memories`, oldest first; with `ended` those too that were true once."""
    facts = [
        Held(
            text=memory.text,
            key=memory.key,
            category="",
            learned_at=memory.since or datetime.min.replace(tzinfo=UTC),
            valid_from=memory.true_from,
            id=UUID(memory.id),
            current=memory.current,
        )
        for memory in memories
        if memory.kind == "semantic" and not memory.shared and not memory.never_true and (memory.current or ended)
    ]
    return sorted(facts, key=lambda fact: fact.learned_at)


def hanging(statement: Statement, memories: Sequence[Memory]) -> str:
    """What to look up before a statement is stored: the names of the slots that may become false with it."""
    slot = slot_of(statement.text, statement.key)
    changes = statement.moved or any(fact.slot == slot for fact in made_false(statement, held(memories)))
    return _named([slot]) if changes and not statement.beside else ""


def hanging_on(facts: Iterable[Held]) -> str:
    """The names of the slots that end with these facts."""
    return _named(fact.slot for fact in facts)


def _named(slots: Iterable[str]) -> str:
    dependents = {name for slot in slots for name in DEPENDENTS.get(slot, ())}
    return " ".join(sorted(dependents)).replace("_", " ")


def ended_by(end: End, turn: Turn) -> list[Held]:
    """The facts that `end` ends, with what hangs on them; none if it is not clear which are meant."""
    known = held(turn.memories, ended=end.kind is Contradiction.HARSH)
    if not points_to_a_place(end):
        return meant(end, known, "")
    for words in turn.earlier:
        if _spoken_of(words, known):
            return meant(end, known, words)
    homes = places(end, turn)
    return meant(end, known, homes[0]) if len(homes) == 1 else []


def points_to_a_place(end: End) -> bool:
    """Whether it says only "there"."""
    return bool(_THERE.fullmatch(end.what))


def places(end: End, turn: Turn) -> list[str]:
    """Where the user lives or lived, as far as memory says: what "there" may mean."""
    known = held(turn.memories, ended=end.kind is Contradiction.HARSH)
    return list(dict.fromkeys(fact.text for fact in known if is_home(fact)))


def _spoken_of(said: str, known: Iterable[Held]) -> list[Held]:
    """The homes that were named."""
    words = content_words(said)
    return [fact for fact in known if is_home(fact) and (value := value_words(fact.text)) and value <= words]
