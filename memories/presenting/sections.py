"""How the kinds of memory are called in addresses and in words for people: facts, how-tos, events, shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memories.types import Kind


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
