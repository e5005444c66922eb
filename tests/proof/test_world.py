"""The credentials and addresses that are attacked are real: their owners get in, and ended ones open nothing."""

from __future__ import annotations

import random

import pytest

from memories.types import Kind
from proof import building
from proof.attack import SLUGS
from proof.marks import Exposure
from proof.requests import ProofRequest, Reply, call
from proof.world import Persona, World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
def world(smallest: None) -> World:
    return building.build(random.Random(1))


def get(path: str, *, token: str = "", cookie: str = "") -> Reply:
    return call(ProofRequest("GET", path), token=token, cookie=cookie)


def test_owners_open_what_others_attack(world: World) -> None:
    owner = world.of(Persona.WATCHER)[0]
    for memory in owner.planted:
        for path in (f"/api/v1/memories/{memory.id}/", f"/api/v1/sessions/{owner.sessions[0]}/"):
            assert get(path, token=owner.token).status == 200
        page = get(f"/remember/{SLUGS[memory.kind]}/{memory.id}/", cookie=owner.cookie)
        assert page.status == 200 and (owner.number, Exposure.TEXT) in world.marks.foreign(page.text, ())
    conversation = get(f"/chat/{owner.sessions[0]}/", cookie=owner.cookie)
    assert conversation.status == 200
    assert (owner.number, Exposure.TEXT) in world.marks.foreign(conversation.text, ())


def test_administrators_open_their_own_rows(world: World) -> None:
    admin = world.of(Persona.ADMIN)[0]
    for row in (f"membership/{admin.membership.id}", f"tenant/{admin.principal.tenant_id}"):
        assert get(f"/admin/tenants/{row}/change/", cookie=admin.cookie).status == 200
    assert get("/admin/tenants/membership/", cookie=admin.cookie).status == 200


def test_everybody_has_a_secret_in_each_kind_of_memory(world: World) -> None:
    for resident in world.of(Persona.RESIDENT, Persona.WATCHER, Persona.WANDERER, Persona.GHOST):
        assert {each.kind for each in resident.planted} == {Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL}
    for company in world.companies:
        assert {each.kind for each in company.shared} == {Kind.CATALOG, Kind.SEMANTIC, Kind.PROCEDURAL}


def test_ended_tokens_and_browser_sessions_open_nothing(world: World) -> None:
    ghost, resident = world.of(Persona.GHOST)[0], world.of(Persona.RESIDENT)[0]
    for token in (ghost.token, ghost.revoked_token, resident.revoked_token):
        assert get("/api/v1/sessions/", token=token).status == 401
    assert get("/remember/facts/", cookie=ghost.cookie).status != 200
