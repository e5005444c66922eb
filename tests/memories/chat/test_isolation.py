"""Nobody sees, changes or forgets another owner's memory by any address; unknown and foreign look exactly the same."""

from __future__ import annotations

import re
import uuid

import pytest
from django.http import HttpResponse
from django.test import Client

from memories.models import Episode, Fact, Message, Playbook, ReviewItem, Session, SessionEntry
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal
from tests.memories.chat.addresses import other_addresses, owned_addresses
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
SECRET = "The safe opens with a very long word"


@pytest.mark.parametrize("method", ["get", "post"])
def test_pages_isolate_other_tenants(method: str, ada: Client, other_tenant_member: Principal) -> None:
    _refuses(ada, method, other_tenant_member)


@pytest.mark.parametrize("method", ["get", "post"])
def test_pages_isolate_other_members(method: str, ada: Client, other_member: Principal) -> None:
    _refuses(ada, method, other_member)


def test_lists_isolate_other_tenants(ada: Client, other_tenant_member: Principal) -> None:
    _shows_nothing(ada, other_tenant_member)


def test_lists_isolate_other_members(ada: Client, other_member: Principal) -> None:
    _shows_nothing(ada, other_member)


def test_one_s_own_pages_open(ada: Client, principal: Principal) -> None:
    own = live(principal)
    answers = {address: ada.get(address.of(own)).status_code for address in owned_addresses()}
    assert set(answers.values()) == {200, 405}, answers


def _refuses(ada: Client, method: str, owner: Principal) -> None:
    """At every address. One life does for all of them: each has to leave it as it was."""
    theirs = live(owner, SECRET)
    before = _everything_of(owner)
    addresses = list(owned_addresses())
    assert addresses
    for address in addresses:
        foreign: HttpResponse = getattr(ada, method)(address.of(theirs), FORM)
        unknown: HttpResponse = getattr(ada, method)(address.of_nothing(uuid.uuid4()), FORM)
        assert foreign.status_code == unknown.status_code, address
        assert foreign.status_code in (404, 405), address
        assert _without_tokens(foreign) == _without_tokens(unknown), address
    assert _everything_of(owner) == before


def _shows_nothing(ada: Client, owner: Principal) -> None:
    """At every address of a member in general."""
    live(owner, SECRET)
    remember_fact(owner, text=SECRET)
    addresses = list(other_addresses())
    assert addresses
    for address in addresses:
        answers = [ada.get(address, {"q": "safe"}, follow=True), ada.get(address, follow=True)]
        shown = "".join(answer.content.decode() for answer in answers)
        assert "safe opens" not in shown, address
        assert "Lives in Edinburgh" not in shown, address


def _without_tokens(response: HttpResponse) -> str:
    """The page without what differs on every request: form tokens, and the address that was asked for."""
    return re.sub(r'name="(csrfmiddlewaretoken|next)" value="[^"]*"', "", response.content.decode())


def _everything_of(owner: Principal) -> list[object]:
    """All rows of an owner that a page could change."""
    return [
        list(model.objects.of(owner).order_by("pk").values())
        for model in (Session, SessionEntry, Message, Episode, Fact, Playbook, ReviewItem)
    ]
