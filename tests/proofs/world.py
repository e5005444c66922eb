"""Owners in several tenants, each with a word of their own in every text they store.

Invariant: an owner's word is in no text but theirs, and a tenant's word in none but what it shares: whoever is shown a
foreign word was shown a foreign memory.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from uuid import UUID

from benchmarks.texts import Writer
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind
from tenants.models import User
from tenants.principal import Principal
from tenants.tokens import issue_token
from tests.factories import make_membership, make_tenant, own_principal

TENANTS = 3
MEMBERS_EACH = 3


@dataclass(frozen=True, slots=True)
class Resident:
    """An owner: as whom they act, their word and their tenant's, and the ids of what is theirs."""

    user: User
    principal: Principal
    token: str
    word: str
    tenant_word: str
    sessions: list[UUID] = field(default_factory=list)
    memories: dict[Kind, set[UUID]] = field(default_factory=lambda: defaultdict(set))

    def all_ids(self) -> list[tuple[Kind, UUID]]:
        """Everything that this owner may name and nobody else may."""
        return [(kind, id_) for kind, ids in sorted(self.memories.items()) for id_ in sorted(ids)]


class World:
    """All owners, and what they may be shown."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.writer = Writer(chance.randrange(10**6))
        self.residents = [resident for number in range(TENANTS) for resident in self._tenant(number)]
        self._words = {word for each in self.residents for word in (each.word, each.tenant_word)}

    def leaks(self, viewer: Resident, shown: object) -> set[str]:
        """The words in what was shown that are neither the viewer's nor their tenant's."""
        text = shown.decode() if isinstance(shown, bytes) else str(shown)
        return {word for word in self._words - {viewer.word, viewer.tenant_word} if word in text}

    def another(self, resident: Resident) -> Resident:
        """Somebody else: half of the time in the same tenant."""
        others = [each for each in self.residents if each is not resident]
        neighbours = [each for each in others if each.tenant_word == resident.tenant_word]
        return self.chance.choice(neighbours if self.chance.random() < 0.5 else others)

    def remember(self, resident: Resident) -> None:
        """One more memory of some kind, with the resident's word in it."""
        who, word = resident.principal, resident.word
        kind = self.chance.choice([Kind.EPISODIC, Kind.EPISODIC, Kind.SEMANTIC, Kind.SEMANTIC, Kind.PROCEDURAL])
        if kind is Kind.EPISODIC:
            if not resident.sessions or self.chance.random() < 0.2:
                resident.sessions.append(start_session(who, title=f"About {word}").pk)
            session = self.chance.choice(resident.sessions)
            outcome = remember_episode(who, session_id=session, text=f"{self.writer.episode()} {word}")
        elif kind is Kind.SEMANTIC:
            key = self.chance.choice(["", "", "home_city", "employer"])
            outcome = remember_fact(who, text=f"{self.writer.fact()} {word}", key=key, category=f"about {word}")
        else:
            how_to = self.writer.how_to()
            outcome = remember_playbook(who, title=f"{how_to.title} {word}", trigger=how_to.trigger, steps=how_to.steps)
        resident.memories[kind].add(outcome.memory_id)

    def _tenant(self, number: int) -> list[Resident]:
        tenant, tenant_word = make_tenant(), f"sharedword{number}x{self.chance.getrandbits(48):012x}"
        residents = []
        for _ in range(MEMBERS_EACH):
            membership = make_membership(tenant)
            word = f"ownword{self.chance.getrandbits(48):012x}"
            _, token = issue_token(membership, name="fuzz")
            residents.append(Resident(membership.user, own_principal(membership), token, word, tenant_word))
        admin = own_principal(make_membership(tenant, role="admin"))
        remember_catalog_entry(admin, title=f"Opening hours {tenant_word}", text=f"{self.writer.fact()} {tenant_word}")
        return residents
