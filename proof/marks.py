"""Secrets and ids with a known owner, for which the proof scans every answer.

A secret occurs only in its owner's texts and never in a question, so an answer with it shows that owner's memory.
Attacks send ids, so an id that was sent is no finding.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Collection, Iterable
from enum import StrEnum
from uuid import UUID

from django.db.models import Model

# Digits at both ends: no stemmer changes the word, and no hash has this form.
_SECRET = re.compile(r"zq(\d{3})x[0-9a-f]{10}7")
_ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_SYLLABLES = "bal cor dun fel gim hos jar kel lom mir nov pas quin rud sil tam ulf ven wol yar".split()


class Exposure(StrEnum):
    """The kind of exposure of another owner's data."""

    TEXT = "text"
    ID = "id"
    EXISTENCE = "another answer than for an unknown id"
    DONE = "not refused"
    COUNT = "count"
    MOVED = "a score or an order moved"
    STATE = "changed"


class Marks:
    """All secrets and ids of a run, by their owner's number. Thread-safe."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._lock = threading.Lock()
        self._owner_of: dict[str, int] = {}
        self._words: set[str] = set()

    def secret(self, owner: int) -> str:
        """A new secret of this owner; one word."""
        with self._lock:
            return f"zq{owner:03d}x{self._chance.getrandbits(40):010x}7"

    def rare_word(self) -> str:
        """A new word that occurs in one text only; attackers know it."""
        with self._lock:
            while (word := "".join(self._chance.choices(_SYLLABLES, k=5))) in self._words:
                pass
            self._words.add(word)
            return word

    def own(self, owner: int, ids: Iterable[UUID | None]) -> None:
        """Register ids of this owner."""
        known = {id_.hex: owner for id_ in ids if id_ is not None}
        with self._lock:
            self._owner_of |= known

    def owner_of(self, id_: UUID | str) -> int | None:
        """The number of the id's owner, or None."""
        return self._owner_of.get(str(id_).replace("-", ""))

    def foreign(self, shown: object, allowed: Collection[int], sent: object = "") -> set[tuple[int, Exposure]]:
        """Owners outside `allowed` whose secrets or ids are in `shown` and not in `sent`."""
        text, asked = as_text(shown).casefold(), as_text(sent).casefold()
        known = {found.group() for found in _SECRET.finditer(asked)}
        found = {(int(secret[1]), Exposure.TEXT) for secret in _SECRET.finditer(text) if secret.group() not in known}
        ids, sent_ids = ({each.replace("-", "") for each in _ID.findall(part)} for part in (text, asked))
        found |= {(self._owner_of[id_], Exposure.ID) for id_ in ids - sent_ids if id_ in self._owner_of}
        return {(owner, exposure) for owner, exposure in found if owner not in allowed}


def as_text(shown: object) -> str:
    """All text, ids and times in an answer, including nested values and model columns."""
    match shown:
        case str():
            return shown
        case bytes() | bytearray() | memoryview():
            return bytes(shown).decode(errors="replace")
        case Model():
            fields = (field for field in shown._meta.concrete_fields if field.get_internal_type() != "BinaryField")
            return " ".join(as_text(getattr(shown, field.attname)) for field in fields)
        case dict():
            return " ".join(f"{as_text(key)} {as_text(value)}" for key, value in shown.items())
        case list() | tuple() | set() | frozenset():
            return " ".join(map(as_text, shown))
        case _:
            # Read a dataclass by field, because its `repr` may leave fields out.
            slots = getattr(shown, "__dataclass_fields__", None)
            return " ".join(as_text(getattr(shown, name)) for name in slots) if slots else str(shown)
