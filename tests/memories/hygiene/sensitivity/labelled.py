"""The labelled texts: what people type that must not be stored, with valid check digits, and what only looks like it.

A third (`held_out`) was written before the rules or once they stood, and none was tuned on it.
`python -m benchmarks.sensitivity` counts both parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memories.types import SensitiveKind
from tests.memories.hygiene.sensitivity import developed, held_out, held_out_later, lookalikes, phrasings
from tests.memories.hygiene.sensitivity.values import Value


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text; `kinds` is empty for a harmless one. `spots` are the values: kind, start, end."""

    text: str
    kinds: frozenset[SensitiveKind]
    spots: tuple[tuple[SensitiveKind, int, int], ...] = ()
    held_out: bool = False

    @property
    def values(self) -> tuple[str, ...]:
        """The sensitive values as they stand in the text."""
        return tuple(self.text[start:end] for _, start, end in self.spots)


def _sensitive(parts: Iterable[str | Value], *, held_out: bool) -> Labelled:
    text = ""
    spots = []
    for part in parts:
        if isinstance(part, Value):
            spots.append((part.kind, len(text), len(text) + len(part.text)))
            text += part.text
        else:
            text += part
    return Labelled(text, frozenset(kind for kind, _, _ in spots), tuple(spots), held_out)


LABELLED: tuple[Labelled, ...] = (
    *(_sensitive(parts, held_out=True) for parts in (*held_out.SENSITIVE, *held_out_later.SENSITIVE)),
    *(Labelled(text, frozenset(), held_out=True) for text in (*held_out.HARMLESS, *held_out_later.HARMLESS)),
    *(_sensitive(parts, held_out=False) for parts in (*developed.SENSITIVE, *phrasings.SENSITIVE)),
    *(Labelled(text, frozenset()) for text in lookalikes.HARMLESS),
)
