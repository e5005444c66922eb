"""Seeding the demo: companies, people, catalogs, what was imported, and the stories.

Invariant: each step finds what it made before; when all are done that is recorded, and a seeding after it does nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from memories.demo.people import COMPANIES, OPERATOR, PASSWORD, PEOPLE, Person
from memories.demo.story import StorySession, read_story
from memories.demo.telling import tell
from memories.errors import Conflict
from memories.importing import parse_memories
from memories.importing.conversations import read_lines
from memories.recall import recording
from memories.search.outbox import drain
from memories.services.catalog import remember_catalog_entry
from memories.services.portability.import_records import import_memories
from memories.types import Scope
from tenants.audit.chain import PLATFORM_CHAIN, EventDraft, record_platform_event
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.principal import SYSTEM, ActorKind, Role
from tenants.principals import principal_of, system_principal
from tenants.services import add_member, create_tenant, create_user

CONTENT = Path(__file__).parent / "content"
SEEDED = "demo.seeded"

Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class _Part:
    """What one person's memory consists of, read before anything is written."""

    person: Person
    records: Path | None
    story: tuple[StorySession, ...]

    @property
    def steps(self) -> int:
        """How much there is to do, for a progress bar: turns, and an import as one."""
        return sum(len(session.turns) for session in self.story) + (self.records is not None)


def is_seeded() -> bool:
    """Whether a seeding was completed in this database."""
    return AuditEvent.objects.filter(chain=PLATFORM_CHAIN, action=SEEDED).exists()


def steps() -> int:
    """How many steps `seed` reports."""
    return sum(part.steps for part in _parts()) + len(COMPANIES)


def seed(step: Step) -> None:
    """Seed whatever is not there yet. Raises Conflict if a name of the demo belongs to somebody else."""
    if is_seeded():
        return
    today = timezone.now()
    _refuse_strangers()
    tenants = {company.slug: _tenant(company.slug, company.name) for company in COMPANIES}
    members = {person: _members(person, tenants) for person in PEOPLE}
    _operator()
    for company in COMPANIES:
        admin = next(person for person in PEOPLE if person.role is Role.ADMIN and company.slug in person.companies)
        _catalog(company.slug, members[admin][0])
        step(1)
    for part in _parts():
        _memory(part, members[part.person][0], today, step)
    recording.flush()
    drain()
    with transaction.atomic():
        record_platform_event(SYSTEM, EventDraft(SEEDED))


def _parts() -> list[_Part]:
    parts = []
    for person in PEOPLE:
        folder = CONTENT / person.companies[0]
        story = read_story(folder / person.story) if person.story else ()
        parts.append(_Part(person, folder / person.records if person.records else None, story))
    return parts


def _refuse_strangers() -> None:
    for user in User.objects.filter(username__in=[OPERATOR, *(person.username for person in PEOPLE)]):
        if user.has_usable_password() and not user.check_password(PASSWORD):
            raise Conflict(
                f"There is a user {user.username!r} already, and it is not the demo's. Seed the demo into a database "
                "of its own: set MEMORYHUB_DATA_DIR to another folder."
            )


def _tenant(slug: str, name: str) -> Tenant:
    return Tenant.objects.filter(slug=slug).first() or create_tenant(name=name, slug=slug)


def _members(person: Person, tenants: dict[str, Tenant]) -> list[Membership]:
    user = User.objects.filter(username=person.username).first() or create_user(
        username=person.username,
        display_name=person.name,
        email=f"{person.username}@{person.companies[0]}.example",
        password=PASSWORD if person.signs_in else None,
        is_staff=person.role is not Role.MEMBER,
    )
    return [
        Membership.objects.filter(tenant=tenants[slug], user=user).first()
        or add_member(tenant=tenants[slug], user=user, role=person.role, external_id=person.external_id)
        for slug in person.companies
    ]


def _operator() -> None:
    if not User.objects.filter(username=OPERATOR).exists():
        create_user(
            username=OPERATOR,
            display_name="Platform operator",
            email=f"{OPERATOR}@memoryhub.example",
            password=PASSWORD,
            is_staff=True,
            is_superuser=True,
        )


def _catalog(slug: str, admin: Membership) -> None:
    """The company's own entries, and those that everybody sees."""
    principal = system_principal(admin)
    import_memories(principal, parse_memories(read_lines(CONTENT / slug / "catalog.jsonl")))
    for record in parse_memories(read_lines(CONTENT / "everybody.jsonl")):
        entry_id = uuid.uuid5(uuid.NAMESPACE_DNS, f"{record.id}.memoryhub.example")
        remember_catalog_entry(principal, title=record.title, text=record.text, scope=Scope.GLOBAL, entry_id=entry_id)


def _memory(part: _Part, membership: Membership, today: datetime, step: Step) -> None:
    """One member's memory: first what was imported, then the story, which recalls it."""
    if part.records is not None:
        import_memories(system_principal(membership), parse_memories(read_lines(part.records)))
        step(1)
    tell(principal_of(membership, actor_kind=ActorKind.MEMBER), part.story, today=today, told=step)
