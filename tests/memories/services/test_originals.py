"""Originals: sealed where the tenant asks for it, opened by their owner in person, gone with their memory."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Episode, MemoryPolicy, SealedOriginal
from memories.services.erasure.forget import forget, forget_session
from memories.services.originals import open_original
from memories.services.policies import set_policy
from memories.services.sessions.turns import begin_turn
from memories.types import Kind
from memoryhub.env.values import development_secret
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import Actor, ActorKind, Principal

pytestmark = pytest.mark.django_db

CARD = "4539 1488 0343 6467"


@pytest.fixture
def keeping(principal: Principal) -> Principal:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, keep_originals=True)
    return principal


def test_the_owner_opens_what_was_masked_and_the_trail_says_so(
    keeping: Principal, other_tenant_member: Principal
) -> None:
    begin_turn(other_tenant_member, text=CARD)
    turn = begin_turn(keeping, text=f"My card: {CARD}")
    sealed = SealedOriginal.objects.get()
    assert turn.episode_id is not None and sealed.memory_id == turn.episode_id
    assert CARD not in sealed.sealed
    assert open_original(keeping, memory_id=turn.episode_id) == f"My card: {CARD}"
    assert AuditEvent.objects.filter(action="original.opened", target_id=turn.episode_id).count() == 1


def test_nobody_else_opens_it(keeping: Principal, stranger: Principal) -> None:
    episode = begin_turn(keeping, text=CARD).episode_id
    assert episode is not None
    with pytest.raises(NotFound):
        open_original(stranger, memory_id=episode)
    for kind in (ActorKind.AGENT, ActorKind.TOKEN, ActorKind.STAFF, ActorKind.SYSTEM):
        with pytest.raises(Forbidden):
            open_original(replace(keeping, actor_kind=kind), memory_id=episode)
    elsewhere = uuid.uuid4()
    SealedOriginal.objects.update(memory_id=elsewhere)
    with pytest.raises(Conflict):
        open_original(keeping, memory_id=elsewhere)


def test_it_goes_with_its_memory(keeping: Principal) -> None:
    first, second = begin_turn(keeping, text=CARD), begin_turn(keeping, text=CARD)
    assert first.episode_id is not None
    forget(keeping, kind=Kind.EPISODIC, memory_id=first.episode_id)
    forget_session(keeping, session_id=second.session_id)
    assert not Episode.objects.exists()
    assert not SealedOriginal.objects.exists()


def test_keys_rotate(keeping: Principal, settings: Settings) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.MEMORYHUB_ORIGINAL_KEYS = (old,)
    episode = begin_turn(keeping, text=CARD).episode_id
    assert episode is not None
    settings.MEMORYHUB_ORIGINAL_KEYS = (new, old)
    assert open_original(keeping, memory_id=episode) == CARD
    settings.MEMORYHUB_ORIGINAL_KEYS = (new,)
    with pytest.raises(Conflict, match="not configured"):
        open_original(keeping, memory_id=episode)


def test_an_installation_without_a_key_does_not_promise_it(principal: Principal, settings: Settings) -> None:
    settings.PRODUCTION = True
    settings.MEMORYHUB_ORIGINAL_KEYS = ()
    system = Actor(ActorKind.SYSTEM)
    with pytest.raises(InvalidInput, match="MEMORYHUB_ORIGINAL_KEYS"):
        set_policy(system, tenant_id=principal.tenant_id, keep_originals=True)
    settings.MEMORYHUB_ORIGINAL_KEYS = (Fernet.generate_key().decode(),)
    assert set_policy(system, tenant_id=principal.tenant_id, keep_originals=True).keep_originals


def test_a_turn_goes_on_where_the_key_was_taken_away(
    keeping: Principal, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    kept = begin_turn(keeping, text=CARD).episode_id
    assert kept is not None
    settings.PRODUCTION = True
    settings.MEMORYHUB_AUDIT_KEYS = (development_secret(settings.MEMORYHUB_DATA_DIR, "audit_key"),)
    settings.MEMORYHUB_ORIGINAL_KEYS = ()
    assert begin_turn(keeping, text=CARD).masked == ("payment_card",)
    assert SealedOriginal.objects.count() == 1
    assert "MEMORYHUB_ORIGINAL_KEYS" in caplog.text and CARD not in caplog.text
    with pytest.raises(Conflict):
        open_original(keeping, memory_id=kept)
