"""The page of what was really written: for its owner, by a form, kept by no cache."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import MemoryPolicy, SealedOriginal
from memories.services.sessions.turns import begin_turn
from memories.types import Kind
from tenants.models import AuditEvent
from tenants.principal import Principal

pytestmark = pytest.mark.django_db

CARD = "4539 1488 0343 6467"


def _address(name: str, principal: Principal) -> str:
    episode = begin_turn(principal, text=f"Mine is {CARD}").episode_id
    return reverse(f"remember:{name}", args=[Kind.EPISODIC, episode])


def test_the_owner_sees_what_was_written(ada: Client, principal: Principal) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, keep_originals=True)
    address = _address("original", principal)
    page = ada.get(address.removesuffix("original/")).content.decode()
    assert "Show what I wrote" in page and CARD not in page
    assert not AuditEvent.objects.filter(action="original.opened").exists()
    assert ada.get(address).status_code == 405, "a link opens nothing"
    opened = ada.post(address)
    assert CARD in opened.content.decode()
    assert "no-store" in opened["Cache-Control"]
    assert AuditEvent.objects.filter(action="original.opened").count() == 1


def test_where_nothing_is_kept_nothing_is_offered(ada: Client, principal: Principal) -> None:
    address = _address("memory", principal)
    assert "Show what I wrote" not in ada.get(address).content.decode()
    assert ada.post(f"{address}original/").status_code == 404
    assert not SealedOriginal.objects.exists()


def test_nobody_else_opens_it(ada: Client, other_member: Principal, other_tenant_member: Principal) -> None:
    for stranger in (other_member, other_tenant_member):
        MemoryPolicy.objects.get_or_create(tenant_id=stranger.tenant_id, defaults={"keep_originals": True})
        answer = ada.post(_address("original", stranger))
        assert answer.status_code == 404
        assert CARD not in answer.content.decode()
