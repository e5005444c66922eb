"""Creates the throwaway tenants with the product's services.

An audit event in the same transaction marks each tenant and user as made by the proof; only marked ones are erased.
"""

from __future__ import annotations

import random
import secrets as entropy
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import transaction
from django.utils import timezone

from memories.embedding import encoder
from memories.models import (
    Fact,
    FeedbackVerdict,
    LearningOperation,
    Playbook,
    Session,
    SupportCase,
    WebhookEndpoint,
)
from memories.search import search_plane
from memories.services.catalog import remember_catalog_entry
from memories.services.erasure.proposals import propose
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.facts.supersede import supersede
from memories.services.feedback import give_feedback
from memories.services.items import put
from memories.services.playbooks import remember_playbook
from memories.services.policies import set_policy
from memories.services.reviews.queue import open_contradiction, open_eviction
from memories.services.sessions.turns import begin_turn, finish_turn
from memories.services.sessions.working_memory import set_task
from memories.services.write import write
from memories.types import Kind, Scope
from memoryhub.session_store import SessionStore
from proof import cluster
from proof.marks import Marks
from proof.world import CATALOG, EXTERNAL_ID, FACTS, HOW_TOS, SAID, Persona, Planted, ProofTenant, Resident, World
from tenants.audit.chain import EventDraft, record_platform_event
from tenants.models import Tenant, User
from tenants.principal import ALL_RIGHTS, SYSTEM, ActorKind, Right, Role
from tenants.principals import principal_of
from tenants.services import (
    add_member,
    create_tenant,
    create_user,
    deactivate,
    issue_key,
    issue_token,
    revoke_token,
    rotate_token,
)
from tenants.session_rules import SEEN_AT, SIGNED_IN_AT

MADE = "isolation.made"
COMPANIES = 3
_PERSONAS = (Persona.ADMIN, Persona.WATCHER, Persona.RESIDENT, Persona.RESIDENT, Persona.GHOST)
_SHARED_FROM = 900  # companies' numbers as owners start here
_TASK = "move"
_SESSION_LASTS = timedelta(hours=6)


# A key is made with its end ahead; it has passed when `build` returns.
_EXPIRED_KEY_LASTS = timedelta(seconds=1)


def build(chance: random.Random, advance: Callable[[], None] = lambda: None) -> World:
    """Create all members and memories, but do not index them; calls `advance` once per step (`steps()`)."""
    marks = Marks(random.Random(chance.random()))  # noqa: S311 - reproducible by its seed
    run = entropy.token_hex(4)
    companies = tuple(_company(marks, run, number) for number in range(COMPANIES))
    residents: list[Resident] = []
    for company in companies:
        for persona in _PERSONAS:
            residents.append(_resident(marks, len(residents), persona, company, _user(run, len(residents))))
    wanderer = _user(run, len(residents))
    for company in companies[:2]:
        residents.append(_resident(marks, len(residents), Persona.WANDERER, company, wanderer))
    for resident in residents:
        if resident.persona is Persona.ADMIN:
            _share(_Planter(marks, resident.company.number, resident.company.shared), resident)
        else:
            _remember(_Planter(marks, resident.number, resident.planted), resident)
        advance()
    ghosts = [resident for resident in residents if resident.persona is Persona.GHOST]
    kept = tuple(map(cluster.ghost_key, ghosts)) if search_plane().name == cluster.PLANE else ()
    for ghost in ghosts:
        deactivate(ghost.membership)
    time.sleep(_EXPIRED_KEY_LASTS.total_seconds())
    return World(marks, companies, tuple(residents), kept)


def steps() -> int:
    """The number of calls of `advance` in `build`."""
    return COMPANIES * len(_PERSONAS) + 2


@dataclass(frozen=True, slots=True)
class _Planter:
    """Creates texts with a secret of one owner, and records the memories that hold them."""

    marks: Marks
    owner: int
    into: list[Planted]

    def secret(self) -> str:
        return self.marks.secret(self.owner)

    def text(self, line: str) -> tuple[str, str, str]:
        """A text without its secret, its rarest word, and the secret."""
        rare = self.marks.rare_word()
        return f"{line} {rare}", rare, self.secret()

    def plant(self, kind: Kind, memory_id: UUID, text: tuple[str, str, str], *, task: str = "") -> UUID:
        """Record a memory that was created from `text`."""
        words, rare, secret = text
        self.marks.own(self.owner, [memory_id])
        (vector,) = encoder().encode([f"{words} {secret}"])
        self.into.append(Planted(kind, memory_id, words, rare, secret, vector, task))
        return memory_id


def _company(marks: Marks, run: str, number: int) -> ProofTenant:
    with transaction.atomic():
        tenant = create_tenant(name=f"Isolation proof {run} {number}", slug=f"isolation-proof-{run}-{number}")
        record_platform_event(SYSTEM, EventDraft(MADE, "tenant", tenant.id))
    marks.own(_SHARED_FROM + number, [tenant.id])
    # Disabled, so that nothing of the proof is sent anywhere.
    webhook = WebhookEndpoint.objects.create(tenant=tenant, url="https://hooks.example.org/", enabled=False)
    marks.own(_SHARED_FROM + number, [webhook.pk])
    makes_members = number % 2 == 0
    set_policy(SYSTEM, tenant_id=tenant.id, provision_members=makes_members, apps_apart=True)
    return ProofTenant(
        _SHARED_FROM + number,
        tenant,
        makes_members,
        key=_key(tenant, Right),
        reading_key=_key(tenant, [Right.READ]),
        members_key=_key(tenant, [Right.MEMBERS]),
        ended_keys=_ended_keys(tenant),
        webhook=webhook.pk,
    )


def _key(tenant: Tenant, scopes: Iterable[Right], networks: Sequence[str] = ()) -> str:
    return issue_key(tenant, name="isolation proof", scopes=scopes, networks=networks)[1]


def _ended_keys(tenant: Tenant) -> tuple[str, ...]:
    """Keys that were revoked, expired, rotated, or made with a revoked one; and one for another network."""
    ends = timezone.now() + _EXPIRED_KEY_LASTS
    (revoked, one), (rotated, two), (maker, _) = (
        issue_key(tenant, name="isolation proof, ended", scopes=Right) for _ in range(3)
    )
    _expired, three = issue_key(tenant, name="isolation proof, ended", scopes=Right, expires_at=ends)
    _made, four = issue_key(tenant, name="isolation proof, ended", maker_id=maker.id)
    for key in (revoked, maker):
        revoke_token(key)
    rotate_token(rotated, grace=timedelta())
    return one, two, three, four, _key(tenant, Right, ["198.51.100.0/24"])


def _user(run: str, number: int) -> User:
    with transaction.atomic():
        user = create_user(username=f"isolation-proof-{run}-{number}", display_name=f"Resident {number}")
        record_platform_event(SYSTEM, EventDraft(MADE, "user", user.id))
    return user


def _resident(marks: Marks, number: int, persona: Persona, company: ProofTenant, user: User) -> Resident:
    role = Role.ADMIN if persona is Persona.ADMIN else Role.MEMBER
    place = "both" if persona is Persona.WANDERER else str(number % len(_PERSONAS))
    membership = add_member(tenant=company.tenant, user=user, role=role, external_id=f"isolation-proof-{place}")
    row, token = issue_token(membership, name="isolation proof", scopes=ALL_RIGHTS)
    stale, revoked = issue_token(membership, name="isolation proof, revoked")
    revoke_token(stale)
    marks.own(number, [membership.id] if persona is Persona.WANDERER else [membership.id, user.id])
    return Resident(
        number=number,
        persona=persona,
        company=company,
        membership=membership,
        principal=principal_of(membership, actor_kind=ActorKind.MEMBER),
        token=token,
        revoked_token=revoked,
        cookie=_signed_in(user, company.tenant),
        token_ids=(row.id, stale.id),
    )


def _signed_in(user: User, tenant: Tenant) -> str:
    """The key of a browser session of this user in this tenant."""
    session = SessionStore()
    session.update(
        {
            SESSION_KEY: str(user.pk),
            BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
            HASH_SESSION_KEY: user.get_session_auth_hash(),
            "tenant_id": str(tenant.id),
            SIGNED_IN_AT: time.time(),
            SEEN_AT: time.time() + _SESSION_LASTS.total_seconds(),
        }
    )
    session.set_expiry(_SESSION_LASTS)
    session.save()
    return str(session.session_key)


def _remember(planter: _Planter, resident: Resident) -> None:
    """Create memories of every kind for a member, each text with a secret."""
    who = resident.principal
    for said in SAID:
        _say(planter, resident, said)
    for session in resident.sessions:  # a thumbs down opens a case
        note = f"It is not {planter.secret()}"
        give_feedback(who, session_id=session, turn=1, verdict=FeedbackVerdict.DOWN, note=note)
    resident.cases.extend(SupportCase.objects.of(who).values_list("pk", flat=True))
    planter.marks.own(resident.number, resident.cases)
    facts = [_fact(planter, resident, line, key=key) for key, line in FACTS]
    _fact(planter, resident, "While we move, the keys are kept at the", task=_TASK)
    changed = planter.text(FACTS[0][1])
    newer = supersede(who, old_ids=facts[:1], text=f"{changed[0]} {changed[2]}").memory_id
    planter.plant(Kind.SEMANTIC, newer, changed)
    _archive(resident, facts[0])
    pin_fact(who, fact_id=facts[1], pinned=True)
    how_tos = []
    for title, line in HOW_TOS:
        text = planter.text(line)
        outcome = remember_playbook(who, title=title, trigger=title, steps=[f"{text[0]} {text[2]}"])
        how_tos.append(planter.plant(Kind.PROCEDURAL, outcome.memory_id, text))
    words, _, secret = planter.text("The desk of a program has the number")
    # Every member's programs name their items alike.
    item, _ = put(who, namespace=("desk", "notes"), key="number", value={"note": f"{words} {secret}"})
    resident.items.append(item.pk)
    planter.marks.own(resident.number, resident.items)
    reason = f"They do not fit together, says {planter.secret()}"
    with write(who) as w:
        first, second = (Fact.objects.of(who).get(pk=pk) for pk in facts[1:3])
        how_to = Playbook.objects.of(who).get(pk=how_tos[0])
        reviews = (
            open_contradiction(w, first, second, reason=reason, evidence={}),
            open_eviction(w, how_to, reason=reason, evidence={"staleness": 0.95}),
        )
    proposal, _ = propose(who.as_agent(), targets=[(Kind.PROCEDURAL, how_tos[1])])
    resident.proposals.append(proposal.pk)
    planter.marks.own(resident.number, resident.proposals)
    resident.reviews.extend(item.pk for item in reviews if item is not None)
    planter.marks.own(resident.number, resident.reviews)


def _say(planter: _Planter, resident: Resident, said: tuple[str, ...]) -> None:
    """A conversation of several turns, with a secret in each message, answer, goal and constraint."""
    who, session = resident.principal, None
    for line in said:
        text = planter.text(line)
        turn = begin_turn(who, text=f"{text[2]} {text[0]}", session_id=session, turn_id=uuid.uuid4())
        session = turn.session_id
        reply = finish_turn(who, session_id=session, turn=turn.turn, text=f"Noted. {planter.secret()}")
        planter.marks.own(resident.number, [session, turn.message_id, reply.pk])
        if turn.episode_id is not None:
            planter.plant(Kind.EPISODIC, turn.episode_id, text)
    if session is not None:
        with write(who):  # every member's programs number their conversations alike
            Session.objects.of(who).filter(pk=session).update(external_id=EXTERNAL_ID.format(len(resident.sessions)))
        resident.sessions.append(session)
        rule, goal = f"Nobody may know of {planter.secret()}", f"Look after {planter.secret()}"
        set_task(who, session_id=session, goal=goal, constraints=[rule])
        with write(who):
            asked = LearningOperation.objects.create(
                tenant_id=who.tenant_id, user_id=who.user_id, session_id=session, first_ordinal=1, last_ordinal=1
            )
        resident.operations.append(asked.pk)
        planter.marks.own(resident.number, [asked.pk])


def _fact(planter: _Planter, resident: Resident, line: str, *, key: str = "", task: str = "") -> UUID:
    text = planter.text(line)
    outcome = remember_fact(
        resident.principal,
        text=f"{text[0]} {text[2]}",
        key=key,
        category=f"about {planter.secret()}",
        scope=Scope.TASK if task else Scope.USER,
        task=task,
    )
    return planter.plant(Kind.SEMANTIC, outcome.memory_id, text, task=task)


def _archive(resident: Resident, fact_id: UUID) -> None:
    """Archive a superseded fact, as garbage collection does."""
    with write(resident.principal) as w:
        fact = Fact.objects.of(resident.principal).get(pk=fact_id)
        fact.archived_at = timezone.now()
        fact.version += 1
        fact.save(update_fields=["archived_at", "version", "updated_at"])
        w.audit(".archived", fact, reason="archived")
        w.index(fact)
    resident.planted[:] = [replace(each, archived=each.archived or each.id == fact_id) for each in resident.planted]


def _share(planter: _Planter, admin: Resident) -> None:
    """Create the tenant's catalog entries, fact and how-to."""
    who = admin.principal
    for title, line in CATALOG:
        text = planter.text(line)
        outcome = remember_catalog_entry(who, title=title, text=f"{text[0]} {text[2]}")
        planter.plant(Kind.CATALOG, outcome.memory_id, text)
    text = planter.text("Everybody gets a locker code from the front desk, which is")
    fact = remember_fact(who, text=f"{text[0]} {text[2]}", scope=Scope.TENANT)
    planter.plant(Kind.SEMANTIC, fact.memory_id, text)
    text = planter.text("Ask the front desk for the word of the day:")
    steps_ = [f"{text[0]} {text[2]}"]
    how_to = remember_playbook(who, title="When locked out of the office", steps=steps_, scope=Scope.TENANT)
    planter.plant(Kind.PROCEDURAL, how_to.memory_id, text)
