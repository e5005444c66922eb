"""Seeds the demo: companies, people, catalogs, imported memories, and stories replayed turn by turn.

Turns use the same services as the agent, and everything happens at the time of its story (`clock.py`), so that events,
charts and histories are as old as what they tell. Each step recognizes what already exists, so an interrupted seeding
can be continued. A completed seeding is recorded in the audit log, and later ones do nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.agent.prompt import call_id
from memories.agent.tool_schemas import RECALL, WRITE
from memories.constants import AUTOMATIC_RECALL_ITEMS, AUTOMATIC_RECALL_TOKENS, AUTOMATIC_SETTLED_ITEMS
from memories.demo.clock import set_back
from memories.demo.metering import meter
from memories.demo.story import (
    BEFORE_COMPLAINING,
    BETWEEN_TURNS,
    COMPANIES,
    CONTENT,
    OPERATOR,
    PASSWORD,
    PEOPLE,
    Person,
    StoryMemory,
    StorySession,
    StoryTurn,
    read_story,
)
from memories.errors import Conflict
from memories.importing import parse_memories
from memories.importing.conversations import read_lines
from memories.importing.records import MemoryRecord
from memories.models import EpisodeLedger, FeedbackVerdict, MessageState
from memories.recall import recording
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.memories import list_memories
from memories.selectors.sessions import find_turn
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.feedback import give_feedback
from memories.services.playbooks import remember_playbook
from memories.services.policies import set_policy
from memories.services.portability.memories_import import import_memories
from memories.services.sessions.sessions import start_session, title_from
from memories.services.sessions.turns import Turn, add_tool_result, add_tool_step, begin_turn, clear_answer, finish_turn
from memories.types import Kind, Owner, WriteOutcome
from tenants.audit.chain import PLATFORM_CHAIN, EventDraft, record_platform_event
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.principal import SYSTEM, ActorKind, Principal, Role
from tenants.principals import principal_of, system_principal
from tenants.services import add_member, create_tenant, create_user

# How long ago the companies began, before any story.
OPENED = timedelta(days=430)
# Milliseconds that an answer appears to have taken: a delay before the first word, and the time to write it.
FIRST_WORD_MS, MS_PER_CHARACTER = 600, 9


def tell(principal: Principal, story: Sequence[StorySession], *, today: datetime, told: Callable[[int], None]) -> None:
    """Replay a member's story, dated relative to `today`; `told` is called with the number of turns done."""
    for number, session in enumerate(story):
        drain(owner=Owner(principal.tenant_id, principal.user_id))  # past sessions must not be in the tail
        at = session.begins(today)
        session_id = uuid.uuid5(principal.user_id, f"{principal.tenant_id}:demo:{number}")
        with set_back(at):
            start_session(principal, session_id=session_id, title=title_from(session.turn[0].said), created_at=at)
        for turn in session.turn:
            with set_back(at):
                place = _tell_turn(principal, session_id, turn, at)
            if turn.complaint:
                with set_back(at + BEFORE_COMPLAINING):
                    verdict = FeedbackVerdict.DOWN.value
                    give_feedback(principal, session_id=session_id, turn=place, verdict=verdict, note=turn.complaint)
            at += BETWEEN_TURNS
            told(1)
    # Consolidation begins with the server: no episode counts as waiting since its story.
    EpisodeLedger.objects.of(principal).filter(waiting_since__isnull=False).update(waiting_since=today)


def _tell_turn(principal: Principal, session_id: UUID, turn: StoryTurn, at: datetime) -> int:
    """Replay a turn, unless it is there already, and return its number."""
    turn_id = uuid.uuid5(session_id, turn.said)
    stored = begin_turn(principal, text=turn.said, session_id=session_id, turn_id=turn_id, at=at)
    if not stored.created:
        if find_turn(principal, session_id, stored.turn).answer_state == MessageState.COMPLETE:
            return stored.turn
        stored = clear_answer(principal, session_id=session_id, turn=stored.turn)
    _AgentTurn(principal.as_agent(), stored, at).answer(turn)
    return stored.turn


class _AgentTurn:
    """The agent's part of one turn."""

    def __init__(self, principal: Principal, stored: Turn, at: datetime) -> None:
        self._principal = principal
        self._stored = stored
        self._at = at
        self._place: dict[str, Any] = {"session_id": stored.session_id, "turn": stored.turn, "at": at}
        self._episodes = () if stored.episode_id is None else (stored.episode_id,)

    def answer(self, turn: StoryTurn) -> None:
        """Recall, write the memories of the story's turn, and answer."""
        found = recall(
            self._principal,
            turn.said,
            limit=AUTOMATIC_RECALL_ITEMS - AUTOMATIC_SETTLED_ITEMS,
            token_budget=AUTOMATIC_RECALL_TOKENS,
            session_id=self._stored.session_id,
            exclude_episode_ids=self._episodes,
            as_of=self._at,
        )
        identity = self._call(0, RECALL, {"query": turn.said})
        add_tool_result(self._principal, tool_call_id=identity, recall=found, **self._place)
        for step, written in enumerate(turn.written, start=1):
            identity = self._call(step, WRITE, _arguments(written))
            add_tool_result(self._principal, tool_call_id=identity, written=[self._write(written)], **self._place)
        took = FIRST_WORD_MS + MS_PER_CHARACTER * len(turn.answered)
        ended = self._place | {"at": self._at + timedelta(milliseconds=took)}
        finish_turn(self._principal, text=turn.answered, took_ms=took, **ended)

    def _call(self, step: int, tool: str, arguments: dict[str, Any]) -> str:
        identity = call_id(self._stored.turn, step)
        call = {"id": identity, "name": tool, "arguments": arguments}
        add_tool_step(self._principal, tool_calls=[call], **self._place)
        return identity

    def _write(self, written: StoryMemory) -> WriteOutcome:
        memory_id = uuid.uuid5(self._stored.message_id, written.title or written.text)
        shared: dict[str, Any] = {
            "category": written.category,
            "learned_at": self._at,
            "supersedes_ids": self._replaced(written),
            "reason": "said in chat",
        }
        if written.kind is Kind.SEMANTIC:
            own = {name: getattr(written, name) for name in ("text", "key", "source", "contradiction", "pinned")}
            return remember_fact(
                self._principal, **own, **shared, supporting_episode_ids=self._episodes, fact_id=memory_id
            )
        own = {name: getattr(written, name) for name in (*_PROCEDURE, "success_count", "failure_count")}
        succeeded = self._at if written.success_count else None
        return remember_playbook(self._principal, **own, **shared, last_success_at=succeeded, playbook_id=memory_id)

    def _replaced(self, written: StoryMemory) -> list[UUID]:
        """Return the ids of the current memories that `replaces` names."""
        column = "text" if written.kind is Kind.SEMANTIC else "title"
        rows = list_memories(self._principal, written.kind).filter(**{f"{column}__in": written.replaces})
        return list(rows.values_list("pk", flat=True))


_PROCEDURE = ("title", "trigger", "steps")
_ASKED = ("kind", "text", "key", "category", *_PROCEDURE, "contradiction")


def _arguments(written: StoryMemory) -> dict[str, Any]:
    """Return the arguments of the tool call that would have written this memory."""
    return {name: value for name in _ASKED if (value := getattr(written, name))}


SEEDED = "demo.seeded"

Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class _PersonDemo:
    """The records and story of one person, read before anything is written."""

    person: Person
    records: Path | None
    story: tuple[StorySession, ...]

    @property
    def steps(self) -> int:
        """The number of progress steps: each turn, and the import as one."""
        return sum(len(session.turn) for session in self.story) + (self.records is not None)


def is_seeded() -> bool:
    """True if a seeding was completed in this database."""
    return AuditEvent.objects.filter(chain=PLATFORM_CHAIN, action=SEEDED).exists()


def steps() -> int:
    """Return the number of steps that `seed` reports."""
    return sum(part.steps for part in _parts()) + len(COMPANIES)


def seed(step: Step) -> None:
    """Seed everything that is missing. Raises Conflict if an existing user has a username of the demo."""
    if is_seeded():
        return
    today = timezone.now()
    _refuse_strangers()
    with set_back(today - OPENED):
        _operator()
        tenants = {company.slug: _tenant(company.slug, company.name) for company in COMPANIES}
        members = {person: _members(person, tenants) for person in PEOPLE}
        for company in COMPANIES:
            admin = next(person for person in PEOPLE if person.role is Role.ADMIN and company.slug in person.companies)
            _catalog(company.slug, members[admin][0])
            step(1)
    for part in _parts():
        _memory(part, members[part.person][0], today, step)
    recording.flush()
    drain()
    meter(today)
    with transaction.atomic():
        record_platform_event(SYSTEM, EventDraft(SEEDED))


def _parts() -> list[_PersonDemo]:
    parts = []
    for person in PEOPLE:
        folder = CONTENT / person.companies[0]
        story = read_story(folder / person.story) if person.story else ()
        parts.append(_PersonDemo(person, folder / person.records if person.records else None, story))
    return parts


def _refuse_strangers() -> None:
    for user in User.objects.filter(username__in=[OPERATOR, *(person.username for person in PEOPLE)]):
        if user.has_usable_password() and not user.check_password(PASSWORD):
            raise Conflict(
                f"There is a user {user.username!r} already, and it is not the demo's. Seed the demo into a database "
                "of its own: set MEMORYHUB_DATA_DIR to another folder."
            )


def _tenant(slug: str, name: str) -> Tenant:
    """A company; an erasure in it begins at once, so that one can watch it."""
    tenant = Tenant.objects.filter(slug=slug).first() or create_tenant(name=name, slug=slug)
    set_policy(SYSTEM, tenant_id=tenant.pk, erasure_delay_hours=0)
    return tenant


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
            email=f"{OPERATOR}@platform.example",
            password=PASSWORD,
            is_staff=True,
            is_superuser=True,
        )


def _catalog(slug: str, admin: Membership) -> None:
    """Seed the company's catalog entries, and those about memoryhub that each company of the demo has.

    They are not global: other tenants, made beside the demo, begin with nothing.
    """
    principal = system_principal(admin)
    import_memories(principal, parse_memories(read_lines(CONTENT / slug / "catalog.jsonl")))
    for record in parse_memories(read_lines(CONTENT / "everybody.jsonl")):
        entry_id = uuid.uuid5(uuid.NAMESPACE_DNS, f"{record.id}.{slug}.example")
        remember_catalog_entry(principal, title=record.title, text=record.text, entry_id=entry_id)


def moments_of(record: MemoryRecord) -> list[datetime]:
    """The times that a record holds."""
    return [value for each in fields(record) if isinstance(value := getattr(record, each.name), datetime)]


def later(record: MemoryRecord, by: timedelta) -> MemoryRecord:
    """The record with all its times moved."""
    moved: dict[str, Any] = {
        each.name: at + by for each in fields(record) if isinstance(at := getattr(record, each.name), datetime)
    }
    return replace(record, **moved)


def _memory(part: _PersonDemo, membership: Membership, today: datetime, step: Step) -> None:
    """Seed one member's memory: first the imported records, then the story, which recalls them.

    The records are moved in time, by whole weeks, so that the last of them was made in the week before the import.
    """
    if part.records is not None:
        at = (part.story[0].begins(today) if part.story else today) - timedelta(days=1)
        records = parse_memories(read_lines(part.records))
        weeks = (at - max(moment for record in records for moment in moments_of(record))) // timedelta(weeks=1)
        with set_back(at):
            moved = [later(record, timedelta(weeks=weeks)) for record in records]
            import_memories(system_principal(membership), moved)
        step(1)
    tell(principal_of(membership, actor_kind=ActorKind.MEMBER), part.story, today=today, told=step)
