"""Legal holds: while one is in force nothing is erased and nothing expires; afterwards all goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact, LegalHold, Message, MessageState, Session, SessionEntry
from memories.services.erasure.forget import forget, forget_session
from memories.services.erasure.requests import place_hold, release_hold
from memories.services.facts.remember import remember_fact
from memories.services.retention.collection import collect
from memories.services.sessions.sessions import expire_sessions
from memories.services.sessions.turns import begin_turn, clear_answer, finish_turn
from memories.services.sessions.working_memory import observe
from memories.types import Kind, Status
from tenants.errors import Forbidden
from tenants.models import AuditEvent, Membership
from tenants.principal import Actor, ActorKind, Principal
from tests.factories import MakeMember

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(membership: Membership, make_member: MakeMember) -> Actor:
    return Actor(ActorKind.STAFF, make_member(membership.tenant, "admin").user_id)


@pytest.fixture(params=["member", "tenant"])
def hold(request: pytest.FixtureRequest, admin: Actor, membership: Membership) -> LegalHold:
    only = {"membership_id": membership.pk} if request.param == "member" else {}
    return place_hold(admin, tenant_id=membership.tenant_id, reason="a lawsuit", **only)


def test_forgetting_is_refused_and_erases_nothing(principal: Principal, hold: LegalHold, admin: Actor) -> None:
    turn = begin_turn(principal, text="I play the cello")
    fact = remember_fact(principal, text="Plays the cello").memory_id
    with pytest.raises(Conflict, match="legal hold"):
        forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    with pytest.raises(Conflict, match="legal hold"):
        forget_session(principal, session_id=turn.session_id, cascade=True)
    assert Fact.objects.filter(pk=fact).exists() and Message.objects.exists()
    release_hold(admin, hold_id=hold.pk)
    forget(principal, kind=Kind.SEMANTIC, memory_id=fact)
    assert not Fact.objects.filter(pk=fact).exists()


def test_a_session_keeps_what_it_works_with(principal: Principal, hold: LegalHold, admin: Actor) -> None:
    turn = begin_turn(principal, text="I play the cello")
    observe(principal, session_id=turn.session_id, text="Needs new strings", turn=1)
    Session.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    assert expire_sessions().expired == 0
    begin_turn(principal, text="And the viola", session_id=turn.session_id)
    assert SessionEntry.objects.count() == 1
    Session.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    release_hold(admin, hold_id=hold.pk)
    assert expire_sessions().expired == 1


def test_half_an_answer_is_not_cleared_for_another(principal: Principal, hold: LegalHold, admin: Actor) -> None:
    turn = begin_turn(principal, text="I play the cello")
    place: dict[str, Any] = {"session_id": turn.session_id, "turn": turn.turn}
    finish_turn(principal, **place, text="A cello, how", state=MessageState.CUT_OFF)
    with pytest.raises(Conflict, match="legal hold"):
        clear_answer(principal, **place)
    assert Message.objects.filter(text="A cello, how").exists()
    release_hold(admin, hold_id=hold.pk)
    clear_answer(principal, **place)
    assert Message.objects.count() == 1


@pytest.mark.usefixtures("hold")
def test_an_answer_without_a_word_is_cleared_all_the_same(principal: Principal) -> None:
    turn = begin_turn(principal, text="I play the cello")
    finish_turn(principal, session_id=turn.session_id, turn=turn.turn, text="", state=MessageState.FAILED, error="down")
    assert clear_answer(principal, session_id=turn.session_id, turn=turn.turn).turn == turn.turn


def test_nothing_is_collected_and_a_dry_run_says_so(principal: Principal, hold: LegalHold, admin: Actor) -> None:
    expired, evicted = (remember_fact(principal, text=f"Plays the {what}").memory_id for what in ("cello", "viola"))
    long_ago = timezone.now() - timedelta(days=400)
    Fact.objects.filter(pk=expired).update(expires_at=long_ago)
    gone = Fact.objects.filter(pk=evicted)
    gone.update(status=Status.EVICTED, evicted_from=Status.ACTIVE, evicted_at=long_ago)
    for apply in (False, True):
        assert not collect(apply=apply).decisions
    assert Fact.objects.get(pk=expired).status == Status.ACTIVE and gone.exists()
    release_hold(admin, hold_id=hold.pk)
    assert len(collect(apply=True).decisions) == 2
    assert not gone.exists()


def test_a_hold_on_a_member_keeps_nothing_of_another(
    admin: Actor, membership: Membership, other_member: Principal
) -> None:
    place_hold(admin, tenant_id=membership.tenant_id, reason="a lawsuit", membership_id=membership.pk)
    fact = remember_fact(other_member, text="Plays the drums").memory_id
    forget(other_member, kind=Kind.SEMANTIC, memory_id=fact)
    assert not Fact.objects.exists()


def test_it_is_placed_once_and_released_once(admin: Actor, hold: LegalHold, membership: Membership) -> None:
    only: dict[str, Any] = {"membership_id": membership.pk} if hold.user_id else {}
    with pytest.raises(Conflict, match="already"):
        place_hold(admin, tenant_id=membership.tenant_id, reason="again", **only)
    release_hold(admin, hold_id=hold.pk, reason="settled")
    with pytest.raises(Conflict, match="before"):
        release_hold(admin, hold_id=hold.pk)
    told = AuditEvent.objects.filter(target_id=hold.pk).order_by("sequence")
    assert list(told.values_list("action", flat=True)) == ["hold.placed", "hold.released"]


def test_a_hold_needs_a_reason(admin: Actor, membership: Membership) -> None:
    with pytest.raises(InvalidInput, match="reason"):
        place_hold(admin, tenant_id=membership.tenant_id, reason=" ")


@pytest.mark.parametrize("role", ["support", "auditor"])
def test_only_administrators_decide(role: str, membership: Membership, make_member: MakeMember, admin: Actor) -> None:
    other = Actor(ActorKind.STAFF, make_member(membership.tenant, role).user_id)
    with pytest.raises(Forbidden):
        place_hold(other, tenant_id=membership.tenant_id, reason="a lawsuit")
    hold = place_hold(admin, tenant_id=membership.tenant_id, reason="a lawsuit")
    with pytest.raises(Forbidden):
        release_hold(other, hold_id=hold.pk)


def test_another_tenants_administrator_finds_nothing(
    membership: Membership, make_member: MakeMember, admin: Actor
) -> None:
    foreign = make_member(role="admin")
    stranger = Actor(ActorKind.STAFF, foreign.user_id)
    with pytest.raises(NotFound):
        place_hold(stranger, tenant_id=membership.tenant_id, reason="a lawsuit")
    with pytest.raises(NotFound):
        place_hold(stranger, tenant_id=foreign.tenant_id, membership_id=membership.pk, reason="a lawsuit")
    hold = place_hold(admin, tenant_id=membership.tenant_id, reason="a lawsuit")
    with pytest.raises(NotFound):
        release_hold(stranger, hold_id=hold.pk)
