"""Nobody sees, changes or forgets another owner's memory by any address; unknown and foreign look exactly the same."""

from __future__ import annotations

import re
import uuid

import pytest
from django.http import HttpResponse
from django.test import Client

from memories.models import Episode, Fact, Message, Playbook, ReviewItem, Session, SessionEntry
from memories.services.facts import remember_fact
from tenants.principal import Principal
from tests.memories.chat.addresses import Address, other_addresses, owned_addresses
from tests.memories.chat.lives import live

pytestmark = pytest.mark.django_db

FORM = {
    "message": "Hello",
    "text": "Something else",
    "title": "Mine",
    "pinned": "1",
    "more": "1",
    "cascade": "1",
    "decision": "evict",
}
EVERY_OWNED = [
    pytest.param(address, id=f"{address.name} {address.kind or ''}".strip()) for address in owned_addresses()
]
EVERY_OTHER = [pytest.param(address, id=address) for address in other_addresses()]
SECRET = "The safe opens with a very long word"


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("address", EVERY_OWNED)
def test_pages_isolate_other_tenants(
    address: Address, method: str, ada: Client, other_tenant_member: Principal
) -> None:
    _refuses(ada, address, method, other_tenant_member)


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("address", EVERY_OWNED)
def test_pages_isolate_other_members(address: Address, method: str, ada: Client, other_member: Principal) -> None:
    _refuses(ada, address, method, other_member)


@pytest.mark.parametrize("address", EVERY_OTHER)
def test_lists_isolate_other_tenants(address: str, ada: Client, other_tenant_member: Principal) -> None:
    _shows_nothing(ada, address, other_tenant_member)


@pytest.mark.parametrize("address", EVERY_OTHER)
def test_lists_isolate_other_members(address: str, ada: Client, other_member: Principal) -> None:
    _shows_nothing(ada, address, other_member)


@pytest.mark.parametrize("address", EVERY_OWNED)
def test_one_s_own_pages_open(address: Address, ada: Client, principal: Principal) -> None:
    response = ada.get(address.of(live(principal)))
    assert response.status_code in (200, 405)


def _refuses(ada: Client, address: Address, method: str, owner: Principal) -> None:
    theirs = live(owner, SECRET)
    before = _everything_of(owner)
    foreign: HttpResponse = getattr(ada, method)(address.of(theirs), FORM)
    unknown: HttpResponse = getattr(ada, method)(address.of_nothing(uuid.uuid4()), FORM)
    assert foreign.status_code == unknown.status_code
    assert foreign.status_code in (404, 405)
    assert _without_tokens(foreign) == _without_tokens(unknown)
    assert _everything_of(owner) == before


def _shows_nothing(ada: Client, address: str, owner: Principal) -> None:
    live(owner, SECRET)
    remember_fact(owner, text=SECRET)
    shown = (
        ada.get(address, {"q": "safe"}, follow=True).content.decode() + ada.get(address, follow=True).content.decode()
    )
    assert "safe opens" not in shown
    assert "Lives in Edinburgh" not in shown


def _without_tokens(response: HttpResponse) -> str:
    """The page without what differs on every request: form tokens, and the address that was asked for."""
    return re.sub(r'name="(csrfmiddlewaretoken|next)" value="[^"]*"', "", response.content.decode())


def _everything_of(owner: Principal) -> list[object]:
    """All rows of an owner that a page could change."""
    return [
        list(model.objects.of(owner).order_by("pk").values())
        for model in (Session, SessionEntry, Message, Episode, Fact, Playbook, ReviewItem)
    ]
