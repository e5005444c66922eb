"""Attacks, attempts, and the rules that decide whether an answer is a finding.

`scan` finds secrets and ids of others in an answer, `compare` and `denied` find calls that were not refused. An attack
itself records only wrong counts, moved scores and changed rows.
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
from memories.types import ALL_KINDS, Kind
from memoryhub.elasticsearch import reading_alias
from proof.marks import Exposure, as_text
from proof.requests import Row, filled
from proof.world import Persona, Planted, Resident, World
from tenants.audit.chain import owner_chain
from tenants.errors import TenantsError
from tenants.models import AuditEvent
from tenants.principal import Principal

if TYPE_CHECKING:
    from proof.baseline import Baseline

NOBODY: Final = -1
PROOF: Final = "isolation proof"  # the reason given for reading all owners' rows
SLUGS: Final = {Kind.SEMANTIC: "facts", Kind.PROCEDURAL: "how-tos", Kind.EPISODIC: "events", Kind.CATALOG: "shared"}
_IDS: Final = frozenset(
    {
        "memory",
        "session",
        "review",
        "proposal",
        "operation",
        "tenant",
        "user",
        "membership",
        "token",
        "webhook",
        "event",
        "case",
    }
)
# How many of the first events of a log are attacked.
_EVENTS: Final = 50


class Target(StrEnum):
    """The subject of an attack: the product as a whole, or one of its guards.

    The search guard keeps foreign ids from being found: a file for each owner, or the query in each key. The database
    guard keeps foreign ids from being loaded: the filter of a query. The row guard, on PostgreSQL, keeps foreign rows
    from every query. LIMIT is information that Elasticsearch is known to disclose to a key's holder.
    """

    PRODUCT = "product"
    SEARCH_GUARD = "search"
    DATABASE_GUARD = "database"
    ROW_GUARD = "rows"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack. `weight` is its share of the attempts; `only_on`: the search plane or database it needs."""

    name: str
    tests: Target
    weight: int
    only_on: str
    run: Callable[[Attempt], None]


@dataclass(frozen=True, slots=True, order=True)
class AttackFinding:
    """`attacker` saw or changed data of `owner` (both numbers; NOBODY if unknown)."""

    attack: str
    attacker: int
    owner: int
    exposure: Exposure


@dataclass(frozen=True, slots=True)
class Response:
    """Whether a call was refused, all text it showed, and the part that must equal the answer for an unknown id."""

    refused: bool
    text: str
    compared: str


ATTACKS: dict[str, Attack] = {}


def attack(
    name: str, *, weight: int = 4, tests: Target = Target.PRODUCT, only_on: str = ""
) -> Callable[[Callable[[Attempt], None]], Callable[[Attempt], None]]:
    """Register the decorated function as an attack."""

    def register(run: Callable[[Attempt], None]) -> Callable[[Attempt], None]:
        ATTACKS[name] = Attack(name, tests, weight, only_on, run)
        return run

    return register


@dataclass(frozen=True, slots=True)
class Aim:
    """The attacker, the victim, and the victim's memory under attack."""

    attacker: Resident
    victim: Resident
    target: Planted
    chance: random.Random

    @property
    def who(self) -> Principal:
        """The attacker's principal."""
        return self.attacker.principal

    @property
    def kind(self) -> Kind:
        """The kind of the memory under attack."""
        return self.target.kind

    def own(self, *kinds: Kind) -> Planted:
        """A memory of the attacker; the same one for the same target."""
        own = [each for each in self.attacker.planted if not kinds or each.kind in kinds]
        return own[self.target.id.int % len(own)]

    def value(self, name: str) -> str:  # noqa: PLR0911 - one line for each placeholder
        """The value of a placeholder in a request."""
        pick, victim = self.chance.choice, self.victim
        match name:
            case "memory":
                return str(self.target.id)
            case "session" | "review" | "proposal" | "operation" | "item" | "case":
                owned: list[UUID] = getattr(victim, f"{name}s")
                return str(pick(owned))
            case "own_session" | "own_review":
                return str(pick(self.attacker.sessions if name == "own_session" else self.attacker.reviews))
            case "tenant" | "user":
                return str(victim.principal.tenant_id if name == "tenant" else victim.principal.user_id)
            case "own_tenant":
                return str(self.who.tenant_id)
            case "membership" | "own_membership":
                return str((victim if name == "membership" else self.attacker).membership.id)
            case "event" | "webhook":
                return str(self.event() if name == "event" else victim.company.webhook)
            case "token" | "user_id":
                return victim.user_id if name == "user_id" else str(pick(victim.token_ids))
            case "kind" | "any_kind":
                return self.kind.value if name == "kind" else pick(list(ALL_KINDS)).value
            case "alias" | "facts":
                return reading_alias(self.target.index if name == "alias" else Kind.SEMANTIC)
            case "slug" | "username":
                return SLUGS[self.kind] if name == "slug" else victim.membership.user.username
            case _:
                return str(getattr(self.target, name))

    def event(self) -> UUID:
        """An event of the victim's audit log."""
        chain = owner_chain(self.victim.principal.tenant_id, self.victim.principal.user_id)
        events = AuditEvent.objects.filter(chain=chain).order_by("sequence").values_list("pk", flat=True)
        return self.chance.choice(list(events[:_EVENTS]))

    def fill(self, row: Row) -> tuple[Row, dict[str, str]]:
        """The row with its placeholders replaced, and their values."""
        values: dict[str, str] = {}
        return filled(row, lambda name: values.get(name) or values.setdefault(name, self.value(name))), values


@dataclass(slots=True)
class Attempt:
    """One run of an attack, with its own random generator, and its findings."""

    world: World
    baseline: Baseline
    attack: Attack
    chance: random.Random
    findings: list[AttackFinding] = field(default_factory=list)

    def attacker(self, *personas: Persona) -> Resident:
        """A random attacker with one of the personas; by default a resident or a wanderer."""
        return self.chance.choice(self.world.of(*(personas or (Persona.RESIDENT, Persona.WANDERER))))

    def aim(self, *personas: Persona, kinds: Collection[Kind] = ()) -> Aim:
        """A random attacker with one of the personas, a victim, and a memory of one of the kinds."""
        return self.aim_of(self.attacker(*personas), kinds=kinds)

    def aim_of(self, attacker: Resident, victim: Resident | None = None, kinds: Collection[Kind] = ()) -> Aim:
        """A victim and a memory for a given attacker."""
        victim = victim or self.world.victim_of(attacker, self.chance)
        targets = [each for each in victim.planted or victim.company.shared if not kinds or each.kind in kinds]
        return Aim(attacker, victim, self.chance.choice(targets), self.chance)

    def maybe(self, share: float) -> bool:
        """True with this probability."""
        return self.chance.random() < share

    def found(self, attacker: Resident, owner: int, exposure: Exposure) -> None:
        """Record a finding."""
        self.findings.append(AttackFinding(self.attack.name, attacker.number, owner, exposure))

    def scan(
        self, attacker: Resident, *shown: object, sent: object = "", allowed: Collection[int] | None = None
    ) -> None:
        """Record every owner outside `allowed` whose secrets or ids were shown and not in `sent`."""
        for owner, exposure in self.world.marks.foreign(shown, attacker.allowed if allowed is None else allowed, sent):
            self.found(attacker, owner, exposure)

    def compare(
        self, aim: Aim, row: Row, send: Callable[[Row], Response], allowed: Collection[int] | None = None
    ) -> None:
        """Send the row with the victim's ids, then with unknown ones: both must be refused with equal answers."""
        foreign_row, values = aim.fill(row)
        unknown_ids = {name: str(uuid4()) for name in values if name in _IDS}
        foreign = send(foreign_row)
        unknown = send(filled(row, lambda name: unknown_ids.get(name, values[name])))
        self.scan(aim.attacker, foreign.text, sent=foreign_row, allowed=allowed)
        here, there = foreign.compared, unknown.compared
        for name, unknown_id in unknown_ids.items():
            here, there = here.replace(values[name], "ID"), there.replace(unknown_id, "ID")
        if not foreign.refused:
            self.found(aim.attacker, aim.victim.number, Exposure.DONE)
        elif here != there:
            self.found(aim.attacker, aim.victim.number, Exposure.EXISTENCE)

    def refuses(self, aim: Aim, call: Callable[[Aim, UUID], object], named: str = "memory") -> None:
        """Call a function of the product with the victim's id, then with an unknown one; both must fail alike."""
        self.compare(aim, f"{{{named}}}", lambda id_: _response(lambda: call(aim, UUID(id_))))

    def denied(self, attacker: Resident, owner: int, call: Callable[[], object]) -> None:
        """Call a function that must be refused."""
        response = _response(call)
        self.scan(attacker, response.text)
        if not response.refused:
            self.found(attacker, owner, Exposure.DONE)


def _response(call: Callable[[], object]) -> Response:
    try:
        answer = call()
        if isinstance(answer, Iterable) and not isinstance(answer, str):
            answer = list(answer)
    except SearchUnavailable:
        raise  # an outage is no answer, so the attempt proves nothing
    except (MemoriesError, TenantsError, IntegrityError) as error:
        text = f"{type(error).__name__}: {error}"
        return Response(refused=True, text=text, compared=text)
    # An empty answer counts as a refusal.
    text = as_text(answer)
    return Response(refused=answer in ([], None), text=text, compared=text)
