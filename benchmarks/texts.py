"""Believable small talk, facts and how-tos, made up from a seed: varied in words and length, never twice the same.

Invariant: the same seed gives the same texts in the same order, on every machine.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

PEOPLE = (
    "Amara Bram Chiara Dmitri Elif Farid Greta Hugo Ingrid Jonas Keiko Lorenzo Mirela Noor Oskar Priya Quentin Rosalind"
    " Samir Tove Umut Vera Wendel Ximena Yusuf Zofia"
).split()
RELATIONS = [
    "my sister",
    "my neighbour",
    "my manager",
    "an old friend",
    "my cousin",
    "the landlord",
    "my physiotherapist",
]
PLACES = (
    "Aarhus Bergen Coimbra Dundee Esbjerg Freiburg Galway Haarlem Izmir Jena Krakow Lucca Malmo Nantes Ostrava Porto"
    " Quimper Rostock Salzburg Turku Uppsala Vigo Winterthur Ystad Zadar"
).split()
THINGS = [
    "the greenhouse heater",
    "a second-hand cello",
    "the blue bicycle",
    "my passport renewal",
    "the sourdough starter",
    "the quarterly report",
    "the leaking roof",
    "a pair of hiking boots",
    "the telescope",
    "my driving licence",
    "the kitchen extension",
    "a ceramic glaze recipe",
    "the choir programme",
    "the vaccination card",
    "a ferry booking",
    "the data migration",
    "an allotment lease",
    "the tax return",
    "the puppy's training",
    "the water filter",
]
ACTIONS = [
    "picked up",
    "gave up on",
    "finally sorted out",
    "argued about",
    "lost track of",
    "paid too much for",
    "repaired",
    "sent back",
    "started planning",
    "postponed",
    "showed everybody",
    "wrote a long letter about",
    "was asked about",
    "dreamt about",
]
TIMES = [
    "last Tuesday",
    "on the way to work",
    "over breakfast",
    "in early March",
    "two weeks ago",
    "during the storm",
    "just before the holidays",
    "yesterday evening",
    "on my birthday",
    "at the end of August",
]
FEELINGS = [
    "it took the whole afternoon",
    "I am still a bit proud of it",
    "honestly it was a relief",
    "nobody believed me",
    "it cost {n} euros in the end",
    "we laughed about it for days",
    "I would not do it again",
    "the weather did not help",
    "we need another {n} days for the rest",
    "that was number {n} on my list",
]
TASTES = [
    "black coffee",
    "window seats",
    "crime novels set by the sea",
    "early trains",
    "handwritten notes",
    "very spicy soup",
    "quiet open-plan corners",
    "swimming before work",
    "metric units",
    "short meetings",
    "vegetarian lunches",
    "long answers with sources",
]
JOBS = [
    "midwife",
    "surveyor",
    "pastry chef",
    "sound engineer",
    "school librarian",
    "tram driver",
    "botanist",
    "translator",
]
TASKS = ["restart", "calibrate", "back up", "descale", "reconcile", "archive", "reset", "renew"]


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
        pick = self._random.choice
        first = f"{pick(TIMES).capitalize()} I {pick(ACTIONS)} {pick(THINGS)}"
        company = self._random.random()
        if company < 0.4:
            first += f" with {pick(PEOPLE)} in {pick(PLACES)}"
        elif company < 0.6:
            first += f" because {pick(RELATIONS)} asked me to"
        sentences = [f"{first}, {self._feeling()}."]
        if self._random.random() < 0.5:
            sentences.append(f"{pick(PEOPLE)} thinks we should move {pick(THINGS)} to {pick(PLACES)}.")
        if self._random.random() < 0.25:
            sentences.append(f"Can you remind me what {pick(PEOPLE)} said about {pick(THINGS)}?")
        return " ".join(sentences)

    def fact(self) -> str:
        """One stable assertion; no two are alike."""
        pick = self._random.choice
        self._count += 1
        person, place, number = pick(PEOPLE), pick(PLACES), self._count
        return pick(
            [
                f"{person} from {place} prefers {pick(TASTES)} and {pick(TASTES)} (noted in file {number})",
                f"{person} works as a {pick(JOBS)} in {place}, room {number}",
                f"Keeps {pick(THINGS)} in locker {number} in {place}",
                f"Ordered {pick(THINGS)} from {person} in {place} under number {number}",
                f"Pays {person} {number} euros a year for {pick(THINGS)}",
            ]
        )

    def how_to(self) -> HowTo:
        """A title, when it applies, and steps."""
        pick = self._random.choice
        self._count += 1
        thing, task = pick(THINGS), pick(TASKS)
        steps = tuple(f"{pick(TASKS).capitalize()} {pick(THINGS)} and tell {pick(PEOPLE)}" for _ in range(3))
        return HowTo(f"How to {task} {thing}, case {self._count}", f"{thing} fails in {pick(PLACES)}", steps)

    def question(self) -> str:
        """What a person asks later, in words of their own."""
        pick = self._random.choice
        return pick(
            [
                f"When did I deal with {pick(THINGS)} in {pick(PLACES)}?",
                f"What did {pick(PEOPLE)} say about {pick(THINGS)}?",
                f"How much did {pick(THINGS)} cost me?",
                f"Which drink or seat does {pick(PEOPLE)} like best?",
                f"Who helped me with {pick(THINGS)} {pick(TIMES)}?",
                f"Where does the {pick(JOBS)} live these days?",
                f"What should I do when {pick(THINGS)} breaks again?",
            ]
        )

    def _feeling(self) -> str:
        return self._random.choice(FEELINGS).format(n=self._random.randint(2, 900))
