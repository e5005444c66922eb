"""The members of the throwaway tenants, their memories and credentials, and the texts of the memories."""

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

# All members' texts are equal except for a rare word and the secret, so searches rank them alike. No text names a
# person or asks the agent to act.
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
# Texts that others write while the watchers' answers must not change.
WRITTEN: tuple[str, ...] = (
    "The code of the locker at the gym changed again, it is now",
    "The guard at the cabin asked twice for the alarm word",
    "The doctor wrote down another word after the examination,",
    "The spare key of the office lies in the drawer with the",
)
# The probability that the victim is in the attacker's tenant, and that it is a member whose memories never change.
_SAME_TENANT, _UNCHANGING = 0.5, 0.7


# The id that a member's program gives a conversation, by its number.
EXTERNAL_ID = "thread-{}"


class Persona(StrEnum):
    """The part of a member in the proof.

    Residents attack and write; watchers only read, so others caused any change that they see; wanderers are one user
    with two memberships; ghosts are deactivated; administrators write their tenant's shared memories.
    """

    RESIDENT = "resident"
    WATCHER = "watcher"
    WANDERER = "wanderer"
    GHOST = "ghost"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Planted:
    """A memory with a secret. `words` is its text without the secret, `rare` its rarest word."""

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
        """The Elasticsearch index that holds it: its kind's, or the archive."""
        return ARCHIVE if self.archived else self.kind.value

    @property
    def beginning(self) -> str:
        """The secret's first letters, which an attacker could guess from the owner's number."""
        return self.secret[:10]

    @property
    def misspelt(self) -> str:
        """The secret without its last digit."""
        return self.secret[:-1]


@dataclass(frozen=True, slots=True)
class ProofTenant:
    """A throwaway tenant; `number` is the owner number of its shared memories.

    `key` may do everything, `reading_key` only read, `members_key` only administer members; `ended_keys` do not work.
    `makes_members`: its keys make members on first use.
    """

    number: int
    tenant: Tenant
    makes_members: bool = False
    key: str = field(default="", repr=False)
    reading_key: str = field(default="", repr=False)
    members_key: str = field(default="", repr=False)
    ended_keys: tuple[str, ...] = field(default=(), repr=False)
    webhook: UUID | None = None
    shared: list[Planted] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Resident:
    """A member of one tenant, with memories and credentials."""

    number: int
    persona: Persona
    company: ProofTenant
    membership: Membership
    principal: Principal
    token: str = field(repr=False)
    revoked_token: str = field(repr=False)
    cookie: str = field(repr=False)
    planted: list[Planted] = field(default_factory=list)
    sessions: list[UUID] = field(default_factory=list)
    written: list[tuple[Kind, UUID]] = field(default_factory=list)
    token_ids: tuple[UUID, ...] = ()
    reviews: list[UUID] = field(default_factory=list)
    proposals: list[UUID] = field(default_factory=list)
    operations: list[UUID] = field(default_factory=list)
    items: list[UUID] = field(default_factory=list)
    cases: list[UUID] = field(default_factory=list)

    @property
    def user_id(self) -> str:
        """The id that the tenant's own system has for this member, as members of other tenants have it in theirs."""
        return self.membership.external_id

    @property
    def allowed(self) -> frozenset[int]:
        """The numbers of owners whose memories this member may see."""
        return frozenset((self.number, self.company.number))


@dataclass(frozen=True, slots=True)
class EndedKey:
    """A search key that must not work any more, and its former holder."""

    resident: Resident
    encoded: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class World:
    """All members with their marks. `ended_keys` is empty on search planes without keys."""

    marks: Marks
    companies: tuple[ProofTenant, ...]
    residents: tuple[Resident, ...]
    ended_keys: tuple[EndedKey, ...] = ()

    def of(self, *personas: Persona) -> tuple[Resident, ...]:
        """All members with one of these personas."""
        return tuple(each for each in self.residents if each.persona in personas)

    def victim_of(self, attacker: Resident, chance: random.Random) -> Resident:
        """Another member with memories: in half of all cases of the same tenant, mostly one who changes nothing."""
        others = [each for each in self.residents if each.planted and each.number != attacker.number]
        near = [each for each in others if each.company is attacker.company]
        pool = near if near and chance.random() < _SAME_TENANT else others
        still = [each for each in pool if each.persona in (Persona.WATCHER, Persona.GHOST)]
        return chance.choice(still if still and chance.random() < _UNCHANGING else pool)

    def ids_of(self, number: int) -> tuple[UUID, UUID | None]:
        """An owner's tenant id and user id; the latter is None for shared memories."""
        for resident in self.residents:
            if resident.number == number:
                return resident.principal.tenant_id, resident.principal.user_id
        return next(company.tenant.id for company in self.companies if company.number == number), None
