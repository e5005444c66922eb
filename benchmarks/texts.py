"""Believable small talk, facts and how-tos, made up from a seed: varied in words and length, as people's words are.

Invariant: the same seed gives the same texts in the same order, on every machine.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from benchmarks.vocabulary import (
    DEEDS,
    JOBS,
    NOUNS,
    OCCASIONS,
    PEOPLE,
    PLACES,
    QUALITIES,
    REMARKS,
    TASTES,
    WHEN,
)


@dataclass(frozen=True, slots=True)
class HowTo:
    """A playbook's words."""

    title: str
    trigger: str
    steps: tuple[str, ...]


class Writer:
    """Makes texts; `seed` decides them all."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - made-up texts, not keys
        self._count = 0

    def episode(self) -> str:
        """What a person says in one turn: one to three sentences."""
        pick, chance = self._random.choice, self._random.random
        first = f"{capitalised(pick(WHEN))} I {pick(DEEDS)} {self._thing()}"
        if chance() < 0.4:
            first += f" with {pick(PEOPLE)} in {pick(PLACES)}"
        elif chance() < 0.4:
            first += f" for the {pick(OCCASIONS)}"
        sentences = [f"{first}, {pick(REMARKS).format(n=self._random.randint(2, 900))}."]
        if chance() < 0.5:
            sentences.append(
                f"{pick(PEOPLE)} the {pick(JOBS)} {pick(DEEDS)} {self._thing()} before the {pick(OCCASIONS)}."
            )
        if chance() < 0.25:
            sentences.append(f"Can you remind me what {pick(PEOPLE)} said about {self._thing()}?")
        return " ".join(sentences)

    def fact(self) -> str:
        """One stable assertion; no two are alike."""
        pick = self._random.choice
        self._count += 1
        return pick(
            [
                f"{pick(PEOPLE)} from {pick(PLACES)} likes {pick(TASTES)} and {pick(TASTES)}, says file {self._count}",
                f"{pick(PEOPLE)} works as a {pick(JOBS)} in {pick(PLACES)}, room {self._count}",
                f"Keeps {self._thing()} in locker {self._count} in {pick(PLACES)}",
                f"Ordered {self._thing()} from {pick(PEOPLE)} in {pick(PLACES)} under number {self._count}",
                f"Pays {pick(PEOPLE)} {self._count} euros a year for {self._thing()}",
            ]
        )

    def how_to(self) -> HowTo:
        """A title, when it applies, and steps; no two titles are alike."""
        pick = self._random.choice
        self._count += 1
        steps = tuple(f"Ask {pick(PEOPLE)} the {pick(JOBS)} about {self._thing()}" for _ in range(3))
        return HowTo(
            f"How to mend {self._thing()}, case {self._count}", f"{self._thing()} fails at the {pick(OCCASIONS)}", steps
        )

    def question(self) -> str:
        """What a person asks later, in words of their own."""
        pick = self._random.choice
        return pick(
            [
                f"When did I have trouble with {self._thing()} in {pick(PLACES)}?",
                f"What did {pick(PEOPLE)} say about {self._thing()}?",
                f"How much did {self._thing()} cost me?",
                f"Does {pick(PEOPLE)} like {pick(TASTES)} or {pick(TASTES)} better?",
                f"Who helped me with {self._thing()} {pick(WHEN)}?",
                f"Where does the {pick(JOBS)} who {pick(DEEDS)} something live these days?",
                f"What should I do when {self._thing()} breaks before the {pick(OCCASIONS)}?",
            ]
        )

    def _thing(self) -> str:
        article = self._random.choice(["the", "my", "our", "that"])
        return f"{article} {self._random.choice(QUALITIES)} {self._random.choice(NOUNS)}"


def capitalised(text: str) -> str:
    """The text with a capital first letter, and the others as they are."""
    return text[:1].upper() + text[1:]
