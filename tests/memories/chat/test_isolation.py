"""Nobody sees, changes or forgets another owner's memory by any address; unknown and foreign look exactly the same."""

from __future__ import annotations

import re
import uuid

import pytest
from django.http import HttpResponse
from django.test import Client

from memories.models import (
    Episode,
    Fact,
    Feedback,
    ForgetProposal,
    Message,
    Playbook,
    ReviewItem,
    Session,
    SessionEntry,
)
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal
from tests.memories.chat.addresses import other_addresses, owned_addresses
from tests.memories.chat.lives import live

pytestmark = pytest.mark.django_db

FORM = {"message": "Hello", "text": "Something else", "title": "Mine", "decision": "evict"}
FORM |= dict.fromkeys(("pinned", "cascade"), "1")
SECRET = "The safe opens with a very long word"


@pytest.fixture(params=["other_tenant_member", "other_member"])
def owner(request: pytest.FixtureRequest) -> Principal:
    """Somebody else, of another tenant or of Ada's."""
    other: Principal = request.getfixturevalue(request.param)
    return other


@pytest.mark.parametrize("method", ["get", "post"])
def test_pages_isolate_other_tenants_and_members(method: str, ada: Client, owner: Principal) -> None:
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


def test_lists_isolate_other_tenants_and_members(ada: Client, owner: Principal) -> None:
    live(owner, SECRET)
    remember_fact(owner, text=SECRET)
    addresses = list(other_addresses())
    assert addresses
    for address in addresses:
        answers = [ada.get(address, {"q": "safe"}, follow=True), ada.get(address, follow=True)]
        shown = "".join(answer.content.decode() for answer in answers)
        assert "safe opens" not in shown and "Lives in Edinburgh" not in shown, address


def test_one_s_own_pages_open(ada: Client, principal: Principal) -> None:
    own = live(principal)
    answers = {address: ada.get(address.of(own)).status_code for address in owned_addresses()}
    assert set(answers.values()) == {200, 405}, answers


def _without_tokens(response: HttpResponse) -> str:
    """The page without what differs on every request: form tokens, and the address that was asked for."""
    return re.sub(r'name="(csrfmiddlewaretoken|next)" value="[^"]*"', "", response.content.decode())


def _everything_of(owner: Principal) -> list[object]:
    """All rows of an owner that a page could change."""
    return [
        list(model.objects.of(owner).order_by("pk").values())
        for model in (Session, SessionEntry, Message, Episode, Fact, Playbook, ReviewItem, ForgetProposal, Feedback)
    ]
