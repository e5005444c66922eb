"""What stands for a memory in a list, and for the part that memories had in a turn: one line each.

What was done to a memory, by the verb of its audit event, to follow the name of who did it.

How the kinds of memory are called in addresses and in words for people: facts, how-tos, events, shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memories.models import CatalogEntry, Playbook, Relation
from memories.selectors.memories import Memory
from memories.selectors.sessions import TurnView
from memories.types import Kind

# What changed comes before what was merely read.
RELATIONS: tuple[tuple[Relation, str, str], ...] = (
    (Relation.WROTE, "Wrote", "wrote"),
    (Relation.REPLACED, "Replaced", "replaced"),
    (Relation.CONFIRMED, "Knew already", "confirmed"),
    (Relation.FORGOT, "Forgot", "forgot"),
    (Relation.RECALLED, "Used", "used"),
)
# What ended in a turn that wrote nothing was replaced by nothing.
_ENDED = ("Ended", "ended")
_ORDER_IN_LINE = (Relation.RECALLED, Relation.WROTE, Relation.REPLACED, Relation.CONFIRMED, Relation.FORGOT)


def headline(row: Memory) -> str:
    """The words that stand for a memory in a list."""
    return row.title if isinstance(row, Playbook | CatalogEntry) else row.text


def usage_of(view: TurnView, *, recalled: str = "used") -> tuple[str, ...]:
    """Such as ("used 4", "wrote 1", "replaced 1"); empty when no memory had a part in the turn.

    `recalled` is the verb for what came up: to a member that was used; staff also see what of it the answer took up.
    """
    counts = {relation: len(view.having(relation)) for relation in _ORDER_IN_LINE}
    verbs = {Relation.RECALLED: recalled}
    return tuple(
        f"{verbs.get(relation) or words_of(view, relation)[1]} {count}" for relation, count in counts.items() if count
    )


def words_of(view: TurnView, relation: Relation) -> tuple[str, str]:
    """The title of what had this relation to a turn, and the verb in the line."""
    if relation is Relation.REPLACED and not view.having(Relation.WROTE) and not view.having(Relation.CONFIRMED):
        return _ENDED
    return next((title, verb) for each, title, verb in RELATIONS if each is relation)


DID: Mapping[str, str] = {
    "created": "wrote it down",
    "merged": "came upon it again",
    "superseded": "replaced it",
    "retired": "retired it",
    "promoted": "copied it into a wider scope",
    "retracted": "found it to be wrong",
    "pinned": "pinned it",
    "unpinned": "unpinned it",
    "confirmed": "confirmed it",
    "unconfirmed": "took the confirmation back",
    "kept": "kept it",
    "evicted": "let it go",
    "archived": "put it into the archive",
    "unarchived": "took it out of the archive",
    "restored": "brought it back",
    "revived": "kept it after all",
    "stale": "came to doubt it",
}


@dataclass(frozen=True, slots=True)
class Section:
    """`slug` is its part of the address, `title` the name of the list, `noun` of one, `hint` what is in it."""

    kind: Kind
    slug: str
    title: str
    noun: str
    hint: str


SECTIONS: Mapping[Kind, Section] = {
    section.kind: section
    for section in (
        Section(Kind.SEMANTIC, "facts", "Facts", "fact", "what is true"),
        Section(Kind.PROCEDURAL, "how-tos", "How-tos", "how-to", "what works"),
        Section(Kind.EPISODIC, "events", "Events", "event", "what happened"),
        Section(Kind.CATALOG, "shared", "Shared", "shared entry", "what everybody here can read"),
    )
}
_KIND_OF_SLUG = {section.slug: kind for kind, section in SECTIONS.items()}


class KindConverter:
    """The path converter `<kind:…>`: `facts` in the address is `Kind.SEMANTIC` in the view."""

    regex = "|".join(_KIND_OF_SLUG)

    def to_python(self, value: str) -> Kind:
        """The kind behind a part of an address."""
        return _KIND_OF_SLUG[value]

    def to_url(self, value: Kind | str) -> str:
        """The part of an address for a kind."""
        return SECTIONS[Kind(value)].slug
