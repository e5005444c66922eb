"""The members of the throwaway tenants, their memories and credentials, and the texts that they are made of."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from memories.embedding import Floats
from memories.types import Kind
from memoryhub.env.values import ARCHIVE
from proof.marks import Marks
from tenants.models import Membership, Tenant
from tenants.principal import Principal

# All members say the same but for a rare word and the secret, so a search ranks their memories alike. No text names a
# person, and none is a request that the agent would act on.
SAID: tuple[tuple[str, ...], ...] = (
    (
        "Yesterday I opened the locker at the gym again, and behind the towel lay the",
        "By the way, the word for the alarm at the cabin is now",
        "We met the neighbours for dinner, and they talked all evening of the",
    ),
    (
        "The doctor wrote down for me, after the examination, the word",
        "In the drawer next to the stove there is still the old recipe for the",
        "The train was late, so I read half of the book about the",
    ),
)
FACTS: tuple[tuple[str, str], ...] = (
    ("locker_code", "The code of my locker at the gym is"),
    ("alarm_word", "The word for the alarm at the cabin is"),
    ("", "My favourite dish since the summer is the"),
    ("", "The spare key of the office lies under the"),
    ("account_name", "At the bank my account goes by the name of"),
)
HOW_TOS: tuple[tuple[str, str], ...] = (
    ("When the alarm goes off", "Call the guard and say the word"),
    ("When the locker is stuck", "Knock twice and turn the dial to"),
)
CATALOG: tuple[tuple[str, str], ...] = (
    ("Opening hours of the gym", "The gym opens at seven; the side door opens with"),
    ("Alarm handbook", "After a false alarm the guard asks for the word"),
)
QUESTIONS: tuple[str, ...] = (
    "What is the code of my locker at the gym?",
    "Which word do I say when the alarm goes off at the cabin?",
    "What did the doctor write down?",
    "Where is the spare key of the office?",
)
# What others keep writing while the answers of the watchers must not change.
WRITTEN: tuple[str, ...] = (
    "The code of the locker at the gym changed again, it is now",
    "The guard at the cabin asked twice for the alarm word",
    "The doctor wrote down another word after the examination,",
    "The spare key of the office lies in the drawer with the",
)
# How often the victim is in the attacker's own tenant, and how often a member whose memories never change.
_SAME_TENANT, _UNCHANGING = 0.5, 0.7


class Persona(StrEnum):
    """What a member does in the proof.

    Residents attack and write; watchers change nothing, so others caused whatever changes for them; wanderers are one
    user with two memberships; ghosts are deactivated; administrators write what their tenant shares.
    """

    RESIDENT = "resident"
    WATCHER = "watcher"
    WANDERER = "wanderer"
    GHOST = "ghost"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Planted:
    """A memory with a secret. `words` is its text without the secret, `rare` the rarest word of it."""

    kind: Kind
    id: UUID
    words: str
    rare: str
    secret: str
    vector: Floats
    task: str = ""
    archived: bool = False

    @property
    def index(self) -> str:
        """The index of a cluster that holds it: that of its kind, or the archive."""
        return ARCHIVE if self.archived else self.kind.value

    @property
    def beginning(self) -> str:
        """The first letters of the secret; an attacker knows the owner's number in them."""
        return self.secret[:10]

    @property
    def misspelt(self) -> str:
        """The secret without its last digit."""
        return self.secret[:-1]


@dataclass(frozen=True, slots=True)
class Company:
    """A throwaway tenant; `number` is the owner of what its members share."""

    number: int
    tenant: Tenant
    shared: list[Planted] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Resident:
    """One owner, in one tenant."""

    number: int
    persona: Persona
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
        """The owners whose memories this member may see."""
        return frozenset((self.number, self.company.number))


@dataclass(frozen=True, slots=True)
class EndedKey:
    """A search key that must not open anything any more, with its former holder."""

    resident: Resident
    encoded: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class World:
    """Everybody, and the marks of what is theirs; `ended_keys` only where members have search keys."""

    marks: Marks
    companies: tuple[Company, ...]
    residents: tuple[Resident, ...]
    ended_keys: tuple[EndedKey, ...] = ()

    def of(self, *personas: Persona) -> tuple[Resident, ...]:
        """Everybody with one of these personas."""
        return tuple(each for each in self.residents if each.persona in personas)

    def victim_of(self, attacker: Resident, chance: random.Random) -> Resident:
        """Another member with memories: half of the time of the same tenant, mostly one who changes nothing."""
        others = [each for each in self.residents if each.planted and each.number != attacker.number]
        near = [each for each in others if each.company is attacker.company]
        pool = near if near and chance.random() < _SAME_TENANT else others
        still = [each for each in pool if each.persona in (Persona.WATCHER, Persona.GHOST)]
        return chance.choice(still if still and chance.random() < _UNCHANGING else pool)

    def ids_of(self, number: int) -> tuple[UUID, UUID | None]:
        """The tenant's id of an owner, and the user's id unless the tenant shares what it owns."""
        for resident in self.residents:
            if resident.number == number:
                return resident.principal.tenant_id, resident.principal.user_id
        return next(company.tenant.id for company in self.companies if company.number == number), None
