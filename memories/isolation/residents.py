"""The people of the throwaway tenants: what is theirs, what they may be shown, and by which means they come in."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from memories.embedding import Floats
from memories.isolation.marks import Marks
from memories.types import Kind
from memoryhub.env import ARCHIVE
from tenants.models import Membership, Tenant
from tenants.principal import Principal

# How often the victim is of the attacker's own tenant, and how often one whose memories stay as they are.
_NEAR, _STILL = 0.5, 0.7


class Part(StrEnum):
    """What somebody is there for.

    Residents attack and write; watchers change nothing, so whatever changes for them was done by others; wanderers are
    users with two memberships; ghosts were deactivated; administrators write what their tenant shares.
    """

    RESIDENT = "resident"
    WATCHER = "watcher"
    WANDERER = "wanderer"
    GHOST = "ghost"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Planted:
    """A memory with a secret. `words` are all of its text but the secret, `rare` the rarest of them."""

    kind: Kind
    id: UUID
    words: str
    rare: str
    secret: str
    vector: Floats
    task: str = ""
    session_id: UUID | None = None
    archived: bool = False

    @property
    def shelf(self) -> str:
        """Where a cluster keeps it: with its kind, or in the archive."""
        return ARCHIVE if self.archived else self.kind.value


@dataclass(frozen=True, slots=True)
class Company:
    """A throwaway tenant; `number` is the owner of what its members share."""

    number: int
    tenant: Tenant
    shared: list[Planted] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Resident:
    """One owner, in one tenant. `allowed` are the numbers of the owners whose memories they may be shown."""

    number: int
    part: Part
    company: Company
    membership: Membership
    principal: Principal
    token: str = field(repr=False)
    revoked_token: str = field(repr=False)
    cookie: str = field(repr=False)
    planted: list[Planted] = field(default_factory=list)
    sessions: list[UUID] = field(default_factory=list)
    written: list[tuple[Kind, UUID]] = field(default_factory=list)
    reviews: list[UUID] = field(default_factory=list)

    @property
    def allowed(self) -> frozenset[int]:
        """Their own number and that of their company."""
        return frozenset((self.number, self.company.number))


@dataclass(frozen=True, slots=True)
class EndedKey:
    """A search key that must open nothing any more: whose it was, and why it ended."""

    resident: Resident
    why: str
    encoded: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class World:
    """Everybody, and the marks by which what is theirs is known; `ended_keys` only where members have keys."""

    marks: Marks
    companies: tuple[Company, ...]
    residents: tuple[Resident, ...]
    ended_keys: tuple[EndedKey, ...] = ()

    def of(self, *parts: Part) -> tuple[Resident, ...]:
        """Everybody with one of these parts."""
        return tuple(each for each in self.residents if each.part in parts)

    def victim_of(self, attacker: Resident, chance: random.Random) -> Resident:
        """Somebody else with memories: half of the time of the same tenant, mostly one who changes nothing."""
        others = [each for each in self.residents if each.planted and each.number != attacker.number]
        near = [each for each in others if each.company is attacker.company]
        pool = near if near and chance.random() < _NEAR else others
        still = [each for each in pool if each.part in (Part.WATCHER, Part.GHOST)]
        return chance.choice(still if still and chance.random() < _STILL else pool)

    def named(self, number: int) -> tuple[UUID, UUID | None]:
        """The ids of an owner: the tenant's, and the user's unless it is what the tenant shares."""
        for resident in self.residents:
            if resident.number == number:
                return resident.principal.tenant_id, resident.principal.user_id
        return next(company.tenant.id for company in self.companies if company.number == number), None
