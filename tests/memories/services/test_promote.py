"""Promote: what holds for more than it was said for is copied into a wider scope; the copy lives on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from memories.errors import Blocked, Conflict, InvalidInput, NotFound
from memories.models import Fact, MemoryPolicy, OutboxEntry, Playbook
from memories.recall.pipeline import recall
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Contradiction, Kind, Scope, WriteOutcome, WriteResult
from tenants.audit.chain import PLATFORM_CHAIN, owner_chain, tenant_chain
from tenants.errors import Forbidden
from tenants.models import AuditEvent, AuditPayload, Membership, User
from tenants.principal import ActorKind, Principal, Role
from tenants.principals import platform_principal, principal_of, system_principal
from tenants.services import record_user
from tests.factories import make_membership
from tests.memories.retelling import retell

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

WORDS = "The tap on the second floor drips"


@pytest.fixture
def staff(db: None) -> User:
    """A superuser of the platform."""
    root = User.objects.create_superuser("root")
    record_user(root)
    return root


@pytest.fixture
def platform(admin_principal: Principal, staff: User) -> Principal:
    """They in the place of Alice."""
    return platform_principal(Membership.objects.get(pk=admin_principal.membership_id), staff=staff)


@pytest.fixture
def shared(admin_principal: Principal) -> UUID:
    """What Alice shares with her tenant."""
    return raised(admin_principal, remember_fact(admin_principal, text=WORDS).memory_id, Scope.TENANT).memory_id


def in_task(principal: Principal, text: str = WORDS, task: str = "kitchen", key: str = "") -> UUID:
    return remember_fact(principal, text=text, scope=Scope.TASK, task=task, key=key).memory_id


def raised(principal: Principal, memory_id: UUID, to: Scope, kind: Kind = Kind.SEMANTIC) -> WriteOutcome:
    return promote(principal, kind=kind, memory_id=memory_id, to=to, reason="it helps everybody")


def test_a_memory_of_a_task_is_copied_to_its_user(principal: Principal) -> None:
    episode = remember_episode(principal, session_id=start_session(principal).pk, text="It drips").memory_id
    said: dict[str, Any] = {"key": "tap", "confidence": 0.7, "pinned": True, "supporting_episode_ids": [episode]}
    original = remember_fact(principal, text=WORDS, scope=Scope.TASK, task="kitchen", **said).memory_id
    outcome = raised(principal, original, Scope.USER)
    copy = Fact.objects.get(pk=outcome.memory_id)
    assert outcome.result is WriteResult.CREATED
    assert (copy.text, copy.key, copy.confidence, copy.pinned) == (WORDS, "tap", 0.7, True)
    assert (copy.scope, copy.task, copy.promoted_from) == (Scope.USER, None, original)
    assert [each.pk for each in copy.supporting_episodes.all()] == [episode]
    assert Fact.objects.current().count() == 2


@pytest.mark.parametrize("scope", [Scope.TASK, Scope.USER])
def test_an_administrator_publishes_to_their_tenant(
    admin_principal: Principal, principal: Principal, other_tenant_member: Principal, scope: Scope
) -> None:
    episode = remember_episode(admin_principal, session_id=start_session(admin_principal).pk, text="x").memory_id
    said: dict[str, Any] = {"pinned": True, "supporting_episode_ids": [episode]}
    task = "kitchen" if scope is Scope.TASK else ""
    original = remember_fact(admin_principal, text=WORDS, scope=scope, task=task, **said).memory_id
    copy = Fact.objects.get(pk=raised(admin_principal, original, Scope.TENANT).memory_id)
    assert (copy.tenant_id, copy.user_id, copy.promoted_from) == (admin_principal.tenant_id, None, original)
    assert (copy.pinned, copy.supporting_episodes.count()) == (False, 0)
    assert [item.text for item in recall(principal, "which tap drips?").items] == [WORDS]
    assert not recall(other_tenant_member, "which tap drips?").items


def test_a_playbook_takes_its_outcomes_along_once(principal: Principal) -> None:
    def howto(task: str) -> UUID:
        where: dict[str, Any] = {"scope": Scope.TASK, "task": task}
        return remember_playbook(principal, title="Bleed", steps=["Open"], success_count=3, **where).memory_id

    original = howto("heating")
    copy = raised(principal, original, Scope.USER, Kind.PROCEDURAL).memory_id
    for known in (original, howto("boiler")):
        again = raised(principal, known, Scope.USER, Kind.PROCEDURAL)
        assert again.memory_id == copy
    assert (Playbook.objects.get(pk=copy).success_count, Playbook.objects.get(pk=copy).steps) == (3, ["Open"])


def test_promoted_twice_there_is_one_copy_and_nothing_changes(principal: Principal) -> None:
    original = in_task(principal)
    copy = raised(principal, original, Scope.USER).memory_id
    before = AuditEvent.objects.count(), OutboxEntry.objects.count()
    outcome = raised(principal, original, Scope.USER)
    assert (outcome.memory_id, outcome.result) == (copy, WriteResult.MERGED)
    assert (AuditEvent.objects.count(), OutboxEntry.objects.count()) == before


def test_it_passes_the_gates_of_the_wider_scope(principal: Principal) -> None:
    old = remember_fact(principal, text="The tap is fine", key="tap").memory_id
    known = remember_fact(principal, text="The boiler hums").memory_id
    replacing = raised(principal, in_task(principal, key="tap"), Scope.USER)
    merging = raised(principal, in_task(principal, "the boiler hums"), Scope.USER)
    assert (replacing.result, replacing.superseded_ids) == (WriteResult.SUPERSEDED, (old,))
    assert (merging.result, merging.memory_id) == (WriteResult.MERGED, known)


def test_what_becomes_of_one_does_not_touch_the_other(principal: Principal) -> None:
    first, second = in_task(principal), in_task(principal, "The boiler hums")
    copies = [raised(principal, each, Scope.USER).memory_id for each in (first, second)]
    retire(principal, kind=Kind.SEMANTIC, memory_id=first)
    supersede(principal, old_ids=[copies[1]], text="The boiler is quiet")
    assert Fact.objects.get(pk=copies[0]).status == "active"
    assert Fact.objects.get(pk=second).status == "active"


def test_a_date_that_was_given_holds_for_the_copy(principal: Principal) -> None:
    friday = timezone.now() + timedelta(days=3)
    fact = remember_fact(principal, text=WORDS, scope=Scope.TASK, task="kitchen", expires_at=friday).memory_id
    assert Fact.objects.get(pk=raised(principal, fact, Scope.USER).memory_id).expires_at == friday
    other = in_task(principal, "The boiler hums")
    Fact.objects.filter(pk=other).update(expires_at=timezone.now() - timedelta(days=1))
    retell(principal, other)
    with pytest.raises(Conflict, match="was superseded"):
        raised(principal, other, Scope.USER)


def test_forgetting_one_takes_along_the_copy_in_the_same_memory(principal: Principal) -> None:
    original = in_task(principal)
    copy = raised(principal, original, Scope.USER).memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=copy)
    assert not Fact.objects.exists()
    assert not AuditPayload.objects.filter(document__contains="drips").exists()


def test_forgetting_the_original_leaves_the_published_copy_and_no_other_trace(admin_principal: Principal) -> None:
    original = remember_fact(admin_principal, text=WORDS, key="tap_state").memory_id
    copy = promote(admin_principal, kind=Kind.SEMANTIC, memory_id=original, to=Scope.TENANT, reason=WORDS).memory_id
    forget(admin_principal, kind=Kind.SEMANTIC, memory_id=original)
    assert Fact.objects.get().pk == copy
    assert Fact.objects.get().text == WORDS
    for document in AuditPayload.objects.values_list("document", flat=True):
        assert "drips" not in document
        assert "tap_state" not in document


def test_it_is_told_in_the_chains_of_owner_and_tenant(admin_principal: Principal) -> None:
    original = remember_fact(admin_principal, text=WORDS).memory_id
    copy = raised(admin_principal, original, Scope.TENANT).memory_id
    who = admin_principal
    told = [
        (event.chain, event.target_id, event.payload.data["reason"], event.payload.data["after"])
        for event in AuditEvent.objects.filter(action="fact.promoted").select_related("payload")
    ]
    own, shared = {"copy": str(copy), "scope": "tenant"}, {"from": str(original), "scope": "tenant"}
    assert told == [
        (owner_chain(who.tenant_id, who.user_id), original, "it helps everybody", own),
        (tenant_chain(who.tenant_id), copy, "", shared),
    ]


def refused_to(principal: Principal, memory_id: UUID, to: Scope) -> None:
    rows = Fact.objects.count()
    with pytest.raises(Forbidden):
        raised(principal, memory_id, to)
    assert Fact.objects.count() == rows


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_only_administrators_publish(role: Role) -> None:
    member = principal_of(make_membership(role=role.value), actor_kind=ActorKind.MEMBER)
    fact = remember_fact(member, text=WORDS).memory_id
    refused_to(member, fact, Scope.TENANT)
    refused_to(member, fact, Scope.GLOBAL)


def test_an_agent_never_writes_above_its_user_and_the_system_may_publish(admin_principal: Principal) -> None:
    agent = admin_principal.as_agent()
    fact = in_task(agent)
    refused_to(agent, fact, Scope.TENANT)
    with pytest.raises(Forbidden):
        remember_fact(agent, text=WORDS, scope=Scope.TENANT)
    system = system_principal(Membership.objects.get(pk=admin_principal.membership_id))
    for who, scope in ((agent, Scope.USER), (system, Scope.TENANT)):
        assert raised(who, fact, scope).result is WriteResult.CREATED


def test_platform_staff_share_with_all_what_a_tenant_shares(
    shared: UUID, platform: Principal, other_tenant_member: Principal
) -> None:
    copy = Fact.objects.get(pk=raised(platform, shared, Scope.GLOBAL).memory_id)
    assert (copy.scope, copy.tenant_id, copy.promoted_from) == (Scope.GLOBAL, None, shared)
    assert [item.text for item in recall(other_tenant_member, "which tap drips?").items] == [WORDS]
    event = AuditEvent.objects.get(chain=PLATFORM_CHAIN, action="fact.promoted")
    assert (event.target_id, event.actor_id, event.actor_kind) == (copy.pk, platform.actor_id, "staff")
    assert raised(platform, shared, Scope.GLOBAL).result is WriteResult.MERGED


def test_nobody_else_shares_with_all(admin_principal: Principal, platform: Principal, shared: UUID) -> None:
    as_token = replace(platform, actor_kind=ActorKind.TOKEN)
    for who in (admin_principal, platform.as_agent(), replace(platform, platform=False), as_token):
        refused_to(who, shared, Scope.GLOBAL)


def test_staff_in_a_member_s_place_do_not_publish_for_them(admin_principal: Principal, platform: Principal) -> None:
    refused_to(platform, remember_fact(admin_principal, text=WORDS).memory_id, Scope.TENANT)


def test_what_is_private_is_not_shared_with_all(membership: Membership, principal: Principal, staff: User) -> None:
    private = remember_fact(principal, text=WORDS).memory_id
    with pytest.raises(NotFound):
        raised(platform_principal(membership, staff=staff), private, Scope.GLOBAL)


def test_only_an_active_superuser_is_platform_staff(membership: Membership, staff: User) -> None:
    with pytest.raises(Forbidden):
        platform_principal(membership, staff=membership.user)
    staff.is_active = False
    with pytest.raises(Forbidden):
        platform_principal(membership, staff=staff)


@pytest.mark.parametrize(("scope", "to"), [("user", "user"), ("user", "task"), ("task", "task")])
def test_it_goes_upward_only(principal: Principal, scope: str, to: str) -> None:
    fact = remember_fact(principal, text=WORDS, scope=Scope(scope), task="kitchen" if scope == "task" else "").memory_id
    with pytest.raises(InvalidInput, match="wider"):
        raised(principal, fact, Scope(to))


def test_what_is_not_believed_is_not_promoted(principal: Principal) -> None:
    fact = in_task(principal)
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact)
    with pytest.raises(Conflict, match="was superseded"):
        raised(principal, fact, Scope.USER)


@pytest.mark.parametrize("stranger", ["principal", "other_tenant_member"])
@pytest.mark.parametrize("to", [Scope.USER, Scope.TENANT])
def test_promote_isolates_others(
    admin_principal: Principal, stranger: str, to: Scope, request: pytest.FixtureRequest
) -> None:
    theirs = in_task(request.getfixturevalue(stranger))
    said = []
    for unknown in (theirs, uuid4()):
        with pytest.raises(NotFound) as refusal:
            raised(admin_principal, unknown, to)
        said.append(str(refusal.value))
    assert said == ["No such fact."] * 2
    assert Fact.objects.count() == 1


def test_an_administrator_corrects_retires_and_takes_back_what_the_tenant_shares(admin_principal: Principal) -> None:
    who = admin_principal
    original = remember_fact(who, text=WORDS).memory_id
    copy = raised(who, original, Scope.TENANT).memory_id
    right = correct(who, kind=Kind.SEMANTIC, memory_id=copy, text="The tap on the third floor drips").memory_id
    back = undo(who, kind=Kind.SEMANTIC, memory_id=right).memory_id
    newer = supersede(who, old_ids=[back], text="No tap drips").memory_id
    past = correct(who, kind=Kind.SEMANTIC, memory_id=back, text="The tap in the cellar drips").memory_id
    retire(who, kind=Kind.SEMANTIC, memory_id=newer, contradiction=Contradiction.HARSH)
    shared = Fact.objects.filter(pk__in=[copy, right, back, newer, past])
    assert {(row.scope, row.user_id, row.status) for row in shared} == {(Scope.TENANT, None, "superseded")}
    assert Fact.objects.current().get().pk == original


@pytest.mark.parametrize("stranger", ["principal", "other_tenant_admin", "agent", "system"])
def test_what_a_tenant_shares_is_not_changed_by_others(
    admin_principal: Principal, principal: Principal, shared: UUID, stranger: str
) -> None:
    who = {
        "principal": principal,
        "other_tenant_admin": principal_of(make_membership(role="admin"), actor_kind=ActorKind.MEMBER),
        "agent": admin_principal.as_agent(),
        "system": system_principal(Membership.objects.get(pk=admin_principal.membership_id)),
    }[stranger]
    attempts: list[Callable[[], object]] = [
        lambda: correct(who, kind=Kind.SEMANTIC, memory_id=shared, text="Mine"),
        lambda: supersede(who, old_ids=[shared], text="Mine"),
        lambda: retire(who, kind=Kind.SEMANTIC, memory_id=shared),
        lambda: undo(who, kind=Kind.SEMANTIC, memory_id=shared),
        lambda: remember_fact(who, text="Mine", supersedes_ids=[shared]),
    ]
    for attempt in attempts:
        with pytest.raises(NotFound, match="No such fact"):
            attempt()
    assert Fact.objects.get(pk=shared).status == "active"


def test_what_the_tenant_refuses_by_now_is_not_spread_and_that_is_noted(principal: Principal) -> None:
    memory_id = in_task(principal, text="The plumber answers at +44 20 7946 " + "0958")
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, handling={"phone": "block"})
    with pytest.raises(Blocked):
        raised(principal, memory_id, Scope.USER)
    assert not Fact.objects.filter(scope=Scope.USER).exists()
    assert AuditEvent.objects.filter(owner_id=principal.user_id, action="memory.blocked").count() == 1
