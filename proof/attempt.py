"""One attempt at one edge: who attacks whom, what came back, and what of it was somebody else's.

Invariant: whatever a attack gets to see goes through `shows` or `refuses`; only they decide what a finding is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from django.db import IntegrityError

from memories.errors import MemoriesError, SearchUnavailable
from memories.types import Kind
from proof.marks import Told, as_text
from proof.residents import Part, Planted, Resident, World
from tenants.errors import TenantsError

if TYPE_CHECKING:
    from proof.baseline import Baseline


class Target(StrEnum):
    """What a attack puts to the test: the product as a whole, or one of the two guards by itself.

    The search guard keeps foreign ids from being found: a file for each owner, or the query in each key. The database
    guard keeps foreign ids from being loaded. `LIMIT` is what the cluster is known to tell the holder of a key.
    """

    PRODUCT = "product"
    SEARCH_GUARD = "search"
    DATABASE_GUARD = "database"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack; `weight` is its relative frequency."""

    name: str
    tests: Target
    weight: int
    only_on: str
    run: Callable[[Attempt], None]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something of `owner` came to `attacker` (their numbers; -1 for an owner or attacker that cannot be told)."""

    attack: str
    attacker: int
    owner: int
    told: Told


NOBODY: Final = -1
ATTACKS: dict[str, Attack] = {}


def attack(
    name: str, *, weight: int = 4, tests: Target = Target.PRODUCT, only_on: str = ""
) -> Callable[[Callable[[Attempt], None]], Callable[[Attempt], None]]:
    """Register an attack under `name`; `only_on` names the search plane that it needs."""

    def register(attack: Callable[[Attempt], None]) -> Callable[[Attempt], None]:
        ATTACKS[name] = Attack(name, tests, weight, only_on, attack)
        return attack

    return register


@dataclass(slots=True)
class Attempt:
    """What a attack is given: everybody, chance of its own, and where its findings go."""

    world: World
    baseline: Baseline
    attack: Attack
    chance: random.Random
    findings: list[Finding] = field(default_factory=list)

    def attacker(self, *parts: Part) -> Resident:
        """Somebody who attacks: a resident or a wanderer unless told otherwise."""
        return self.chance.choice(self.world.of(*(parts or (Part.RESIDENT, Part.WANDERER))))

    def victim(self, attacker: Resident) -> Resident:
        """Whose memory is attacked."""
        return self.world.victim_of(attacker, self.chance)

    def target(self, victim: Resident, *kinds: Kind) -> Planted:
        """A memory of the victim."""
        return self.chance.choice([each for each in victim.planted if not kinds or each.kind in kinds])

    def maybe(self, share: float) -> bool:
        """Yes, in this share of all attempts."""
        return self.chance.random() < share

    def found(self, attacker: Resident, owner: int, told: Told) -> None:
        """Note a finding."""
        self.findings.append(Finding(self.attack.name, attacker.number, owner, told))

    def shows(
        self, attacker: Resident, *shown: object, sent: object = "", allowed: Collection[int] | None = None
    ) -> set[int]:
        """Scan what was shown; note and return the owners whose it should not have been."""
        may_see = attacker.allowed if allowed is None else allowed
        strangers = self.world.marks.strangers(shown, may_see, sent)
        for owner, told in strangers:
            self.found(attacker, owner, told)
        return {owner for owner, _ in strangers}

    def refuses(self, attacker: Resident, victim: Resident, call: Callable[[UUID], object], id_: UUID) -> None:
        """Name the victim's id, then one that nobody has: both must be refused, in the same words."""
        foreign, unknown = _outcome(call, id_), _outcome(call, uuid4())
        self.shows(attacker, foreign.text, sent=id_)
        if not foreign.refused:
            self.found(attacker, victim.number, Told.DONE)
        elif foreign.text != unknown.text:
            self.found(attacker, victim.number, Told.EXISTENCE)

    def denied(self, attacker: Resident, owner: int, call: Callable[[], object]) -> None:
        """Do what nobody with this standing may do."""
        outcome = _outcome(lambda _: call(), uuid4())
        self.shows(attacker, outcome.text)
        if not outcome.refused:
            self.found(attacker, owner, Told.DONE)

    def unequal(self, attacker: Resident, owner: int, here: object, there: object) -> None:
        """Two answers that must not differ, for a difference would tell that something exists."""
        if here != there:
            self.found(attacker, owner, Told.EXISTENCE)


@dataclass(frozen=True, slots=True)
class _Outcome:
    refused: bool
    text: str


def _outcome(call: Callable[[UUID], object], id_: UUID) -> _Outcome:
    try:
        answer = call(id_)
        if isinstance(answer, Iterable):
            answer = list(answer)
    except SearchUnavailable:
        raise  # that is no answer to what was asked, so the attempt shows nothing
    except (MemoriesError, TenantsError, IntegrityError) as error:
        return _Outcome(refused=True, text=f"{type(error).__name__}: {error}".replace(str(id_), "ID"))
    # An empty answer is a refusal, too: a list in which nothing is.
    return _Outcome(refused=answer in ([], None), text=as_text(answer))
