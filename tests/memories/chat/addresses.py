"""Every address of the member's pages, taken from the routes themselves so that a new page cannot be missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.urls import URLPattern, reverse

from memories.chat import urls
from memories.types import ALL_KINDS, Kind
from tests.memories.chat.lives import Life

# A how-to can be no other than these; what is shared belongs to nobody in particular.
OWN_KINDS = (Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL)


@dataclass(frozen=True)
class Address:
    """A named route with what fills it."""

    name: str
    kind: Kind | None = None

    def of(self, life: Life) -> str:
        """The address of that life's session or memory."""
        return self._with(life.session, life.of(self.kind) if self.kind else None, life.review, life.proposal)

    def of_nothing(self, unknown: UUID) -> str:
        """The address of what does not exist."""
        return self._with(unknown, unknown, unknown, unknown)

    def _with(self, session: UUID, memory: UUID | None, review: UUID, proposal: UUID) -> str:
        wanted = _parameters(self.name)
        known = {"session_id": session, "turn": 1, "kind": self.kind, "memory_id": memory, "review_id": review}
        known["proposal_id"] = proposal
        return reverse(self.name, kwargs={name: known[name] for name in wanted})


def owned_addresses() -> Iterator[Address]:
    """Those that name a session, a memory, a review or a proposal."""
    for name in _names():
        parameters = _parameters(name)
        if "memory_id" in parameters:
            yield from (Address(name, kind) for kind in OWN_KINDS)
        elif parameters & {"session_id", "review_id", "proposal_id"}:
            yield Address(name)


def other_addresses() -> Iterator[str]:
    """Those of a member in general."""
    for name in _names():
        parameters = _parameters(name)
        if not parameters:
            yield reverse(name)
        elif parameters == {"kind"}:
            yield from (reverse(name, kwargs={"kind": kind}) for kind in ALL_KINDS)


def _patterns() -> dict[str, URLPattern]:
    namespaces = {"chat": urls.chat, "remember": urls.remember, "connect": urls.connect_agents}
    namespaces["account"] = urls.account_pages
    return {f"{space}:{pattern.name}": pattern for space, patterns in namespaces.items() for pattern in patterns}


def _names() -> list[str]:
    return list(_patterns())


def _parameters(name: str) -> set[str]:
    return set(_patterns()[name].pattern.converters)
