"""The doors that are tried are real ones: whoever they belong to walks through them."""

from __future__ import annotations

import random

import pytest

from memories.types import Kind
from proof import building
from proof.attacks.pages import _SLUGS
from proof.http import call
from proof.marks import Told
from proof.residents import Part, World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(smallest: None) -> World:
    return building.build(random.Random(1))


@pytest.mark.long
def test_owners_walk_through_the_doors_that_others_try(world: World) -> None:
    owner, admin = world.of(Part.WATCHER)[0], world.of(Part.ADMIN)[0]
    for memory in owner.planted:
        for path in (f"/api/v1/memories/{memory.id}/", f"/api/v1/sessions/{owner.sessions[0]}/"):
            assert call("GET", path, token=owner.token).status == 200
        page = call("GET", f"/remember/{_SLUGS[memory.kind]}/{memory.id}/", cookie=owner.cookie)
        assert page.status == 200
        assert world.marks.strangers(page.text, ()) >= {(owner.number, Told.TEXT)}
    conversation = call("GET", f"/chat/{owner.sessions[0]}/", cookie=owner.cookie)
    assert conversation.status == 200 and (owner.number, Told.TEXT) in world.marks.strangers(conversation.text, ())
    for model, id_ in (("membership", admin.membership.id), ("tenant", admin.principal.tenant_id)):
        assert call("GET", f"/admin/tenants/{model}/{id_}/change/", cookie=admin.cookie).status == 200
    assert call("GET", "/admin/tenants/membership/", cookie=admin.cookie).status == 200


@pytest.mark.long
def test_everybody_has_a_secret_in_each_kind_of_memory(world: World) -> None:
    for resident in world.of(Part.RESIDENT, Part.WATCHER, Part.WANDERER, Part.GHOST):
        assert {each.kind for each in resident.planted} == {Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL}
    for company in world.companies:
        assert {each.kind for each in company.shared} == {Kind.CATALOG, Kind.SEMANTIC, Kind.PROCEDURAL}


@pytest.mark.long
def test_tokens_and_cookies_that_ended_open_nothing(world: World) -> None:
    ghost, resident = world.of(Part.GHOST)[0], world.of(Part.RESIDENT)[0]
    for token in (ghost.token, ghost.revoked_token, resident.revoked_token):
        assert call("GET", "/api/v1/sessions/", token=token).status == 401
    assert call("GET", "/remember/facts/", cookie=ghost.cookie).status != 200
