"""The items of a member: found by namespace and words, one with its history, each look told to the member."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from memories.models import MemoryPolicy
from memories.services.items import delete, erase, put
from tenants.models import AuditEvent, Tenant
from tenants.principal import Principal
from tests.memories.staff.conftest import At
from tests.memories.staff.looking import INLINE, inside, words

pytestmark = pytest.mark.django_db
TRIPS, DESK = ("trips", "a/b %"), ("desk",)


def item(principal: Principal, key: str, *values: Any, namespace: tuple[str, ...] = TRIPS) -> UUID:
    return [put(principal, namespace=namespace, key=key, value=value)[0].pk for value in values][-1]


def looks(principal: Principal) -> list[tuple[str, UUID | None]]:
    events = AuditEvent.objects.filter(owner_id=principal.user_id, action="memory.read").order_by("sequence")
    return [(event.payload.data["after"]["page"], event.target_id) for event in events]


def test_items_are_found_by_namespace_and_by_words(support: Client, at: At, principal: Principal) -> None:
    item(principal, "lisbon", {"note": "A room with a view"})
    item(principal, "oslo", {"note": "A room with a desk"})
    item(principal, "gone", 1, namespace=DESK)
    delete(principal, namespace=DESK, key="gone")
    everything = support.get(at("items"))
    assert all(name in words(everything) for name in ("lisbon", "oslo", "trips / a/b % 2", "gone desk deleted"))
    trips = support.get(at("items"), {"namespace": "trips"})
    assert "lisbon" in words(trips) and "gone" not in words(trips)
    deep = support.get(at("items"), {"namespace": "trips/a%2Fb %25", "q": "VIEW room"})
    assert "lisbon" in words(deep) and "oslo" not in words(deep)
    assert looks(principal) == [("items", None)] * 3


@pytest.mark.parametrize("wrong", [{"namespace": "a//b"}, {"namespace": "%ff"}, {"q": "\x00"}, {"cursor": "made up"}])
def test_an_address_that_names_nothing_is_not_found(support: Client, at: At, wrong: dict[str, str]) -> None:
    assert support.get(at("items"), wrong).status_code == 404


def test_one_item_has_its_history_from_the_audit_log(support: Client, at: At, principal: Principal) -> None:
    pk = item(principal, "seat", "aisle", "<b>window</b>")
    delete(principal, namespace=TRIPS, key="seat")
    page = support.get(at("item", pk))
    told = words(page)
    places = [told.index(each) for each in ("Ada deleted it", "Ada put another value", "Ada wrote it down")]
    assert places == sorted(places) and "&lt;b&gt;window&lt;/b&gt;" in told and "&quot;aisle&quot;" in told
    assert not INLINE.search(inside(page))
    assert looks(principal) == [("item", pk)]
    erase(principal, item_id=pk)
    assert support.get(at("item", pk)).status_code == 404


def test_sensitive_values_are_flagged(support: Client, at: At, principal: Principal) -> None:
    pk = item(principal, "mail", "ada@example.org")
    assert all("Sensitive: e-mail" in words(support.get(page)) for page in (at("items"), at("item", pk)))


def test_another_members_item_and_another_role_get_nothing(
    support: Client, auditor: Client, at: At, principal: Principal, stranger: Principal
) -> None:
    foreign = item(stranger, "secret", "a xylophone")
    assert support.get(at("item", foreign)).status_code == 404
    assert "xylophone" not in words(support.get(at("items"), {"q": "xylophone"})).replace("xylophone", "", 1)
    assert "secret" not in words(support.get(at("items")))
    own = item(principal, "k", 1)
    assert {auditor.get(page).status_code for page in (at("items"), at("item", own))} == {403}


def test_a_reason_is_asked_where_the_tenant_wants_one(
    support: Client, at: At, principal: Principal, tenant: Tenant
) -> None:
    MemoryPolicy.objects.create(tenant=tenant, reason_to_look=True)
    pk = item(principal, "k", "a tortoise")
    answers = [support.get(page) for page in (at("items"), at("item", pk))]
    assert [answer.status_code for answer in answers] == [302, 302] and looks(principal) == []
