"""Making the throwaway tenants: through the services, so that everything is as it is for everybody else.

Invariant: each tenant and user that the proof makes is recorded as such in the transaction that makes it, so that
nothing else is ever taken for one (`erasing.py`).
"""

from __future__ import annotations

import random
import secrets as entropy
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session as BrowserSession
from django.db import transaction
from django.utils import timezone

from memories.embedding import encoder
from memories.models import MEMORY_MODELS, Fact, Playbook, ReviewItem
from memories.search import search_plane
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import supersede
from memories.services.playbooks import remember_playbook
from memories.services.reviews.queue import open_contradiction, open_eviction
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.services.sessions.working_memory import set_task
from memories.services.write import write
from memories.types import Kind, Scope
from proof import cluster
from proof.marks import Marks
from proof.residents import CATALOG, FACTS, HOW_TOS, SAID, Company, Part, Planted, Resident, World
from tenants.audit.chain import EventDraft, record_platform_event
from tenants.models import Membership, Tenant, User
from tenants.principal import SYSTEM, ActorKind, Role
from tenants.principals import principal_of
from tenants.services import (
    add_member,
    create_tenant,
    create_user,
    deactivate_member,
    issue_token,
    revoke_token,
)

MADE = "isolation.made"
COOKIE_PREFIX = "isolation"
COMPANIES = 3
_PARTS = (Part.ADMIN, Part.WATCHER, Part.RESIDENT, Part.RESIDENT, Part.GHOST)
_SHARED_FROM = 900  # the numbers of companies as owners
_TASK = "move"
_SESSION_LASTS = timedelta(hours=6)


def build(chance: random.Random, advance: Callable[[], None] = lambda: None) -> World:
    """Everybody with their memories; nothing of it is in the search plane yet. `advance` is called for each member."""
    marks = Marks(random.Random(chance.random()))  # noqa: S311 - chance that can be repeated
    run = entropy.token_hex(4)
    companies = tuple(_company(marks, run, number) for number in range(COMPANIES))
    residents: list[Resident] = []
    for company in companies:
        for part in _PARTS:
            residents.append(_resident(marks, run, len(residents), part, company, _user(run, len(residents))))
    wanderer = _user(run, len(residents))
    for company in companies[:2]:
        residents.append(_resident(marks, run, len(residents), Part.WANDERER, company, wanderer))
    for resident in residents:
        _remember(marks, resident)
        advance()
    ghosts = [resident for resident in residents if resident.part is Part.GHOST]
    kept = tuple(map(cluster.remembered, ghosts)) if search_plane().name == cluster.PLANE else ()
    for ghost in ghosts:
        deactivate_member(ghost.membership)
    return World(marks, companies, tuple(residents), kept)


def steps() -> int:
    """How often `build` advances."""
    return COMPANIES * len(_PARTS) + 2


def _company(marks: Marks, run: str, number: int) -> Company:
    with transaction.atomic():
        tenant = create_tenant(name=f"Isolation proof {run} {number}", slug=f"isolation-proof-{run}-{number}")
        record_platform_event(SYSTEM, EventDraft(MADE, "tenant", tenant.id))
    company = Company(_SHARED_FROM + number, tenant)
    marks.own(company.number, [tenant.id])
    return company


def _user(run: str, number: int) -> User:
    with transaction.atomic():
        user = create_user(username=f"isolation-proof-{run}-{number}", display_name=f"Resident {number}")
        record_platform_event(SYSTEM, EventDraft(MADE, "user", user.id))
    return user


def _resident(marks: Marks, run: str, number: int, part: Part, company: Company, user: User) -> Resident:
    role = Role.ADMIN if part is Part.ADMIN else Role.MEMBER
    membership = add_member(tenant=company.tenant, user=user, role=role, external_id=f"isolation-proof-{run}-{number}")
    _, token = issue_token(membership, name="isolation proof")
    stale, revoked = issue_token(membership, name="isolation proof, revoked")
    revoke_token(stale)
    marks.own(number, [membership.id] if part is Part.WANDERER else [membership.id, user.id])
    return Resident(
        number=number,
        part=part,
        company=company,
        membership=membership,
        principal=principal_of(membership, actor_kind=ActorKind.MEMBER),
        token=token,
        revoked_token=revoked,
        cookie=_signed_in(user, company.tenant),
    )


def _signed_in(user: User, tenant: Tenant) -> str:
    """The key of a browser session of this user in this tenant; it begins so that it can be found again."""
    key = COOKIE_PREFIX + entropy.token_hex(15)
    content = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
        HASH_SESSION_KEY: user.get_session_auth_hash(),
        "tenant_id": str(tenant.id),
    }
    BrowserSession.objects.save(key, content, timezone.now() + _SESSION_LASTS)
    return key


def _remember(marks: Marks, resident: Resident) -> None:
    """Something in every kind of memory, with a secret in each text."""
    if resident.part is Part.ADMIN:
        _share(marks, resident)
        return
    for said in SAID:
        _say(marks, resident, said)
    facts = [_fact(marks, resident, text, key=key) for key, text in FACTS]
    _fact(marks, resident, "While we move, the keys are kept at the", task=_TASK)
    old = facts[0]
    changed, rare, secret = _text(marks, resident.number, FACTS[0][1])
    newer = supersede(resident.principal, old_ids=[old], text=f"{changed} {secret}").memory_id
    _plant(marks, resident.number, resident.planted, Kind.SEMANTIC, newer, (changed, rare, secret))
    _archive(resident, old)
    pin_fact(resident.principal, fact_id=facts[1], pinned=True)
    how_tos = []
    for title, step in HOW_TOS:
        words, rare, secret = _text(marks, resident.number, step)
        outcome = remember_playbook(resident.principal, title=title, trigger=title, steps=[f"{words} {secret}"])
        _plant(marks, resident.number, resident.planted, Kind.PROCEDURAL, outcome.memory_id, (words, rare, secret))
        how_tos.append(outcome.memory_id)
    _ask(marks, resident, facts[1:3], how_tos[0])


def _ask(marks: Marks, resident: Resident, facts: list[UUID], playbook: UUID) -> None:
    """What a machine asks about one's memory: a secret stands in the reason, too."""
    reason = f"They do not fit together, says {marks.secret(resident.number)}"
    with write(resident.principal) as w:
        first, second = (Fact.objects.of(resident.principal).get(pk=pk) for pk in facts)
        how_to = Playbook.objects.of(resident.principal).get(pk=playbook)
        asked = (
            open_contradiction(w, first, second, reason=reason, evidence={}),
            open_eviction(w, how_to, reason=reason, evidence={"staleness": 0.95}),
        )
    resident.reviews.extend(item.pk for item in asked if item is not None)
    marks.own(resident.number, resident.reviews)


def _say(marks: Marks, resident: Resident, said: tuple[str, ...]) -> None:
    """A conversation of several turns; its title, what was said and what was answered hold a secret each."""
    session: UUID | None = None
    for line in said:
        words, rare, secret = _text(marks, resident.number, line)
        turn = begin_turn(resident.principal, text=f"{secret} {words}", session_id=session, turn_id=uuid.uuid4())
        answer = f"Noted. {marks.secret(resident.number)}"
        reply = finish_turn(resident.principal, session_id=turn.session_id, turn=turn.turn, text=answer)
        session = turn.session_id
        marks.own(resident.number, [session, turn.message_id, reply.pk])
        if turn.episode_id is not None:
            planted = (words, rare, secret)
            _plant(marks, resident.number, resident.planted, Kind.EPISODIC, turn.episode_id, planted, session=session)
    if session is not None:
        resident.sessions.append(session)
        rule = f"Nobody may know of {marks.secret(resident.number)}"
        goal = f"Look after {marks.secret(resident.number)}"
        set_task(resident.principal, session_id=session, goal=goal, constraints=[rule])


def _fact(marks: Marks, resident: Resident, line: str, *, key: str = "", task: str = "") -> UUID:
    words, rare, secret = _text(marks, resident.number, line)
    outcome = remember_fact(
        resident.principal,
        text=f"{words} {secret}",
        key=key,
        category=f"about {marks.secret(resident.number)}",
        scope=Scope.TASK if task else Scope.USER,
        task=task,
    )
    planted = (words, rare, secret)
    _plant(marks, resident.number, resident.planted, Kind.SEMANTIC, outcome.memory_id, planted, task=task)
    return outcome.memory_id


def _archive(resident: Resident, fact_id: UUID) -> None:
    """Put a superseded fact into the archive, as the collection does with one that was superseded long ago."""
    with write(resident.principal) as w:
        fact = Fact.objects.of(resident.principal).get(pk=fact_id)
        fact.archived_at = timezone.now()
        fact.version += 1
        fact.save(update_fields=["archived_at", "version", "updated_at"])
        w.audit(".archived", fact, reason="archived")
        w.index(fact)
    resident.planted[:] = [replace(each, archived=each.archived or each.id == fact_id) for each in resident.planted]


def _share(marks: Marks, admin: Resident) -> None:
    """What a company shares: catalog entries, a fact and a how-to of its scope."""
    company = admin.company
    for title, line in CATALOG:
        words, rare, secret = _text(marks, company.number, line)
        outcome = remember_catalog_entry(admin.principal, title=title, text=f"{words} {secret}")
        _plant(marks, company.number, company.shared, Kind.CATALOG, outcome.memory_id, (words, rare, secret))
    words, rare, secret = _text(marks, company.number, "Everybody gets a locker code from the front desk, which is")
    fact = remember_fact(admin.principal, text=f"{words} {secret}", scope=Scope.TENANT)
    _plant(marks, company.number, company.shared, Kind.SEMANTIC, fact.memory_id, (words, rare, secret))
    words, rare, secret = _text(marks, company.number, "Ask the front desk for the word of the day:")
    steps = [f"{words} {secret}"]
    how_to = remember_playbook(admin.principal, title="When locked out of the office", steps=steps, scope=Scope.TENANT)
    _plant(marks, company.number, company.shared, Kind.PROCEDURAL, how_to.memory_id, (words, rare, secret))


def _text(marks: Marks, owner: int, line: str) -> tuple[str, str, str]:
    """What an attacker may know of a text, its rarest word, and the secret."""
    rare = marks.rare_word()
    return f"{line} {rare}", rare, marks.secret(owner)


def _plant(
    marks: Marks,
    owner: int,
    into: list[Planted],
    kind: Kind,
    memory_id: UUID,
    text: tuple[str, str, str],
    *,
    task: str = "",
    session: UUID | None = None,
) -> None:
    words, rare, secret = text
    marks.own(owner, [memory_id])
    (vector,) = encoder().encode([f"{words} {secret}"])
    into.append(Planted(kind, memory_id, words, rare, secret, vector, task, session))


def snapshot_of(world: World) -> dict[UUID, tuple[object, ...]]:
    """What is stored of those who change nothing, and of what is shared, without what a recall may count."""
    still = {each.number for each in world.of(Part.WATCHER, Part.GHOST)}
    stored: dict[UUID, tuple[object, ...]] = {}
    for kind, model in MEMORY_MODELS.items():
        planted = [p.id for each in world.residents if each.number in still for p in each.planted if p.kind is kind]
        planted += [p.id for company in world.companies for p in company.shared if p.kind is kind]
        names = ["tenant_id", "user_id", "scope", "task", "text", "status", "version"]
        names += ["pinned"] if kind is Kind.SEMANTIC else []
        names += ["superseded_by_id"] if kind in (Kind.SEMANTIC, Kind.PROCEDURAL) else []
        rows = model.objects.unscoped("isolation proof").filter(pk__in=planted).values_list("pk", *names)
        stored |= {row[0]: tuple(row[1:]) for row in rows}
    asked = [pk for each in world.residents if each.number in still for pk in each.reviews]
    reviews = (
        ReviewItem.objects.unscoped("isolation proof")
        .filter(pk__in=asked)
        .values_list("pk", "decision", "first_id", "second_id")
    )
    return stored | {row[0]: tuple(row[1:]) for row in reviews}


def members_of(world: World) -> list[Membership]:
    """Everybody's membership."""
    return [each.membership for each in world.residents]
