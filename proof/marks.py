"""Secrets that name their owner, and the ids that belong to somebody: what an answer is scanned for.

Invariant: a secret is in no text but its owner's and is never part of a question, so whoever is shown one was shown a
memory of that owner. Ids are sent in attacks, so those that were sent are no finding.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Collection, Iterable
from enum import StrEnum
from uuid import UUID

from django.db.models import Model

# Digits at both ends: no analyzer takes them for the ending of a word, and no hash looks like one.
_SECRET = re.compile(r"zq(\d{3})x[0-9a-f]{10}7")
_ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_SYLLABLES = "bal cor dun fel gim hos jar kel lom mir nov pas quin rud sil tam ulf ven wol yar".split()


class Told(StrEnum):
    """What of another owner came out."""

    TEXT = "text"
    ID = "id"
    EXISTENCE = "another answer than for an unknown id"
    DONE = "not refused"
    COUNT = "count"
    MOVED = "a score or an order moved"
    STATE = "changed"


class Marks:
    """All secrets and ids of one run, by the number of their owner. Safe to use from several threads."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._lock = threading.Lock()
        self._owner_of: dict[str, int] = {}
        self._words: set[str] = set()

    def secret(self, owner: int) -> str:
        """A new secret of this owner, one word."""
        with self._lock:
            return f"zq{owner:03d}x{self._chance.getrandbits(40):010x}7"

    def rare_word(self) -> str:
        """A word that nobody else uses, which an attacker is taken to know."""
        with self._lock:
            while (word := "".join(self._chance.choices(_SYLLABLES, k=5))) in self._words:
                pass
            self._words.add(word)
            return word

    def own(self, owner: int, ids: Iterable[UUID | None]) -> None:
        """From now on these ids are this owner's."""
        known = {id_.hex: owner for id_ in ids if id_ is not None}
        with self._lock:
            self._owner_of |= known

    def owner_of(self, id_: UUID | str) -> int | None:
        """Whose id this is, if it is known."""
        return self._owner_of.get(str(id_).replace("-", ""))

    def strangers(self, shown: object, allowed: Collection[int], sent: object = "") -> set[tuple[int, Told]]:
        """The owners beyond `allowed` whose secrets or ids are in `shown`, leaving aside what was `sent`."""
        text = as_text(shown).casefold()
        asked = as_text(sent).casefold()
        known = {found.group() for found in _SECRET.finditer(asked)}
        found = {(int(secret.group(1)), Told.TEXT) for secret in _SECRET.finditer(text) if secret.group() not in known}
        ids = {each.replace("-", "") for each in _ID.findall(text)}
        for id_ in ids - {each.replace("-", "") for each in _ID.findall(asked)}:
            if (owner := self._owner_of.get(id_)) is not None:
                found.add((owner, Told.ID))
        return {(owner, told) for owner, told in found if owner not in allowed}


def as_text(shown: object) -> str:
    """Whatever was answered, with everything that can be read in it."""
    match shown:
        case str():
            return shown
        case bytes() | bytearray() | memoryview():
            return bytes(shown).decode(errors="replace")
        case Model():
            return " ".join(
                as_text(getattr(shown, field.attname))
                for field in shown._meta.concrete_fields
                if field.get_internal_type() != "BinaryField"
            )
        case dict():
            return " ".join(f"{as_text(key)} {as_text(value)}" for key, value in shown.items())
        case list() | tuple() | set() | frozenset():
            return " ".join(map(as_text, shown))
        case _:
            # Dataclasses write out all of their fields, and UUIDs and times inside them.
            slots = getattr(shown, "__dataclass_fields__", None)
            return " ".join(as_text(getattr(shown, name)) for name in slots) if slots else str(shown)
