"""A member who pastes what must not be stored is told, and no page shows the value again."""

from __future__ import annotations

import json
import re
import uuid

import pytest
from django.test import Client
from django.urls import reverse

from memories.hygiene.sensitivity.findings import label
from memories.models import Fact, Playbook, Session
from memories.services.facts.remember import remember_fact
from memories.services.sessions.turns import begin_turn
from memories.types import Kind, SensitiveKind
from tenants.models import AuditEvent, Membership
from tenants.principal import Principal
from tests.memories.agent.conftest import dispose
from tests.memories.chat.conftest import SignIn
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db

CARD = "4111 1111 1111 " + "1111"
REMOVED = label(SensitiveKind.PAYMENT_CARD)
SAID = f"My card is {CARD}"
TOLD = "A payment card number was taken out before this was stored."
PLACE = "The text holds a payment card number at characters 11 to 29."


def correct(client: Client, kind: Kind, memory_id: uuid.UUID, text: str = f"Pays with {CARD}") -> tuple[int, str]:
    response = client.post(reverse("remember:correct", kwargs={"kind": kind, "memory_id": memory_id}), {"text": text})
    return response.status_code, re.sub(
        r'name="(csrfmiddlewaretoken|next)" value="[^"]*"', "", response.content.decode()
    )


def test_the_stream_gives_the_stored_words_first_and_never_the_value(ada: Client) -> None:
    response = ada.post(reverse("chat:begin"), {"message": SAID}, headers={"Accept": "text/event-stream"})
    body = b"".join(response).decode()
    first, second = (json.loads(line[6:]) for line in body.splitlines()[1:5:3])
    assert (first["text"], first["masked"]) == (f"My card is {REMOVED}", ["payment_card"])
    assert (second["type"], second["kind"], second["text"]) == ("notice", "masked", TOLD)
    assert "4111 1111" not in body and TOLD in body.split("event: page")[1]


def test_a_forgotten_turn_does_not_say_what_it_had(ada: Client, principal: Principal) -> None:
    turn = begin_turn(principal, text=SAID)
    ada.post(reverse("remember:forget", kwargs={"kind": Kind.EPISODIC, "memory_id": turn.episode_id}))
    dispose(principal)
    page = ada.get(reverse("chat:session", args=[turn.session_id])).content.decode()
    assert "You deleted this message" in page and "payment card" not in page


def test_what_is_sensitive_in_a_memory_is_named_on_its_card(ada: Client, principal: Principal) -> None:
    begin_turn(principal, text=SAID)
    fact = remember_fact(principal, text="Likes tea").memory_id
    Fact.objects.filter(pk=fact).update(sensitivity={"phone": "allow"})
    events = ada.get(reverse("remember:list", kwargs={"kind": Kind.EPISODIC})).content.decode()
    facts = ada.get(reverse("remember:list", kwargs={"kind": Kind.SEMANTIC})).content.decode()
    one = ada.get(reverse("remember:memory", kwargs={"kind": Kind.SEMANTIC, "memory_id": fact})).content.decode()
    assert "Sensitive: </span>payment card removed" in events
    for page in (facts, one):
        assert "Sensitive: </span>phone</span>" in page and "It holds a phone number." in page


def test_a_correction_that_is_refused_says_where_and_does_not_repeat_it(ada: Client, life: Life) -> None:
    status, page = correct(ada, Kind.SEMANTIC, life.edinburgh)
    assert status == 400
    assert PLACE in page and f"Pays with {REMOVED}</textarea>" in page and "4111 1111" not in page
    assert Fact.objects.get(pk=life.edinburgh).status == "active"


def test_among_steps_the_place_is_counted_from_the_first(ada: Client, life: Life) -> None:
    _, page = correct(ada, Kind.PROCEDURAL, life.howto, f"Open the shop\nType {CARD}")
    assert "The text holds a payment card number at characters 20 to 38." in page and "4111 1111" not in page
    assert Playbook.objects.count() == 1


def test_a_reason_that_is_refused_ends_nothing(ada: Client, life: Life) -> None:
    address = reverse("remember:retire", kwargs={"kind": Kind.SEMANTIC, "memory_id": life.edinburgh})
    page = ada.post(address, {"reason": f"paid with {CARD}"}, follow=True).content.decode()
    assert "The reason holds a payment card number" in page and "4111 1111" not in page
    assert Fact.objects.get(pk=life.edinburgh).status == "active"


def test_a_title_is_kept_without_it(ada: Client, life: Life) -> None:
    page = ada.post(reverse("chat:rename", args=[life.session]), {"title": SAID}, follow=True).content.decode()
    assert "Renamed, without what must not be stored." in page and "4111 1111" not in page
    assert Session.objects.get().title == f"My card is {REMOVED}"


@pytest.mark.parametrize("kind", [Kind.SEMANTIC, Kind.PROCEDURAL])
def test_what_is_refused_isolates_other_members_and_tenants(
    sign_in: SignIn, life: Life, other_member: Principal, other_tenant_member: Principal, kind: Kind
) -> None:
    events = AuditEvent.objects.count()
    for stranger in (other_member, other_tenant_member):
        client = sign_in(Membership.objects.get(pk=stranger.membership_id))
        assert correct(client, kind, life.of(kind)) == correct(client, kind, uuid.uuid4())
    assert AuditEvent.objects.count() == events
