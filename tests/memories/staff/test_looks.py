"""A member sees who looked at their memory, when and why; staff state why where the tenant wants it."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import MemoryPolicy
from memories.selectors.looks import Look, in_stretches
from memories.services.admin_requests import note_question
from memories.services.facts.remember import remember_fact
from memories.services.portability import ask_export, export_member
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.principal import Actor, ActorKind, Principal
from tenants.principals import reading_principal
from tests.factories import make_membership
from tests.memories.staff.looking import talk, words
from tests.memories.staff.seated import at, signed_in

pytestmark = pytest.mark.django_db
LOOKS = "/api/v1/looks/"


@pytest.fixture
def tamsin(tenant: Tenant) -> Membership:
    """Support of Ada's tenant."""
    return make_membership(tenant, "support", "Tamsin Ferrar")


@pytest.fixture
def ada(membership: Membership) -> Client:
    """Ada's own browser."""
    browser = Client()
    browser.force_login(membership.user)
    return browser


def looked(browser: Client, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = browser.get(LOOKS, query).json()["results"]
    return found


def test_it_names_who_looked_at_what(
    ada: Client, tamsin: Membership, membership: Membership, principal: Principal
) -> None:
    fact = remember_fact(principal, text="Keeps bees").memory_id
    staff = signed_in(tamsin)
    staff.get(at("inspector", membership.pk))
    staff.get(at("record", membership.pk, fact))
    record, inspector = looked(ada)
    assert (record["name"], record["role"], record["what"]) == ("Tamsin Ferrar", "support", "opened one memory")
    assert (record["kind"], record["target_id"]) == ("semantic", str(fact))
    assert inspector["what"] == "opened the list of your memories" and inspector["target_id"] is None
    page = ada.get(reverse("account:home"))
    assert "Support Tamsin Ferrar Opened one memory" in words(page)
    assert reverse("remember:memory", args=["semantic", fact]) in page.content.decode()
    assert reverse("account:home") in ada.get("/").content.decode(), "the menu leads there"


def test_looks_at_one_case_in_a_stretch_are_one_line_with_the_case_as_reason(
    ada: Client, tamsin: Membership, membership: Membership, principal: Principal
) -> None:
    session, staff = talk(principal), signed_in(tamsin)
    turn = at("turn", membership.pk, session.pk, "1")
    staff.post(at("case_open", membership.pk, session.pk, "1"))
    for _ in range(3):
        staff.get(turn)
    (look,) = ada.get(reverse("account:home")).context["looks"]
    assert (look.times, look.reason) == (3, "Case about this answer, opened by staff")
    line = words(ada.get(reverse("account:home")))
    assert re.search(r"\d{4}-\d\d-\d\d [\d:]{8} to [\d:]{8} UTC 3 times Support", line)
    assert len(looked(ada)) == 3, "the API lists each"


def test_a_look_after_a_pause_is_a_line_of_its_own() -> None:
    now, staff = timezone.now(), uuid4()
    minutes = (0, 1, 20, 90)
    looks = [Look(uuid4(), now - timedelta(minutes=m), "support", "", "opened it", "", actor_id=staff) for m in minutes]
    found = in_stretches([*looks, replace(looks[-1], actor_id=uuid4())])
    assert [each.times for each in found] == [3, 1, 1]
    assert (found[0].at, found[0].first_at) == (looks[0].at, looks[2].at)


def test_an_export_is_a_look_with_its_reason(ada: Client, membership: Membership) -> None:
    hollis = make_membership(membership.tenant, "admin", "Hollis")
    actor = Actor(ActorKind.STAFF, hollis.user_id)
    request = ask_export(actor, membership_id=membership.pk, reason="A claim of 3 May")
    export_member(request, by=hollis.user, forms=())
    (look,) = looked(ada)
    assert (look["what"], look["reason"]) == ("took your whole memory along", "A claim of 3 May")


def test_the_policy_may_show_roles_alone(ada: Client, tamsin: Membership, membership: Membership) -> None:
    MemoryPolicy.objects.create(tenant=membership.tenant, looks_name_staff=False)
    signed_in(tamsin).get(at("inspector", membership.pk))
    (look,) = looked(ada)
    assert (look["name"], look["role"]) == ("", "support")
    assert "Tamsin" not in ada.get(reverse("account:home")).content.decode()


def test_platform_staff_and_who_left_are_not_passed_off_as_somebody(
    ada: Client, tamsin: Membership, membership: Membership
) -> None:
    operator = User.objects.create_superuser("operator", password="x")
    for staff in (operator, tamsin.user):
        note_question(reading_principal(membership, staff=staff), "who?")
    Membership.objects.filter(pk=tamsin.pk).update(is_active=False)
    assert [(each["role"], each["name"]) for each in looked(ada)] == [
        ("former staff", "Tamsin Ferrar"), ("platform staff", ""),
    ]  # fmt: skip


def test_what_one_did_oneself_is_no_look_and_pages_follow_each_other(
    ada: Client, tamsin: Membership, membership: Membership
) -> None:
    ada.post(reverse("remember:export"))
    assert looked(ada) == [] and "Nobody has looked" in words(ada.get(reverse("account:home")))
    for _ in range(3):
        note_question(reading_principal(membership, staff=tamsin.user), "who?")
    first = ada.get(LOOKS, {"limit": 2}).json()
    second = ada.get(LOOKS, {"limit": 2, "cursor": first["next_cursor"]}).json()
    assert len({each["id"] for each in first["results"] + second["results"]}) == 3 and second["next_cursor"] is None
    assert ada.get(LOOKS, {"cursor": "nonsense"}).status_code == 400
    assert ada.get(reverse("account:home"), {"cursor": "nonsense"}).status_code == 302


def test_a_stranger_sees_none_of_it(tamsin: Membership, membership: Membership) -> None:
    signed_in(tamsin).get(at("inspector", membership.pk))
    for stranger in (make_membership(membership.tenant), make_membership()):
        browser = Client()
        browser.force_login(stranger.user)
        assert looked(browser) == []


@pytest.fixture
def asks_why(tenant: Tenant) -> None:
    """The tenant wants a reason of whoever looks."""
    MemoryPolicy.objects.create(tenant=tenant, reason_to_look=True)


@pytest.mark.usefixtures("asks_why")
def test_staff_state_why_before_they_see_anything(
    ada: Client, tamsin: Membership, membership: Membership, principal: Principal
) -> None:
    fact = remember_fact(principal, text="Keeps bees").memory_id
    staff, here = signed_in(tamsin), at("record", membership.pk, fact)
    form = staff.get(here)
    assert form.status_code == 302 and form["Location"].startswith(at("purpose", membership.pk))
    assert looked(ada) == [] and "bees" not in staff.get(form["Location"]).content.decode()
    assert staff.post(at("purpose", membership.pk), {"reason": " ", "next": here}).status_code == 400
    answer = staff.post(at("purpose", membership.pk), {"reason": "Ticket 4711", "next": here})
    assert answer["Location"] == here and "bees" in staff.get(here).content.decode()
    assert looked(ada)[0]["reason"] == "Ticket 4711"


@pytest.mark.usefixtures("asks_why")
@pytest.mark.parametrize("role", ["auditor", "admin"])
def test_histories_events_and_reviews_want_it_too(membership: Membership, principal: Principal, role: str) -> None:
    fact = remember_fact(principal, text="Keeps bees").memory_id
    event = AuditEvent.objects.get(action="fact.created").pk
    staff = signed_in(make_membership(membership.tenant, role))
    addresses = (
        at("history", "semantic", fact),
        f"{at('histories')}?member={membership.user.username}",
        reverse("admin:tenants_auditevent_change", args=[event]),
    )
    for address in addresses:
        answer = staff.get(address)
        assert answer.status_code == 302 and at("purpose", membership.pk) in answer["Location"], address
    staff.post(at("purpose", membership.pk), {"reason": "the yearly audit"})
    assert {staff.get(address).status_code for address in addresses} == {200}


@pytest.mark.usefixtures("asks_why")
def test_a_reason_holds_for_an_hour_and_one_member(tamsin: Membership, membership: Membership) -> None:
    staff, other = signed_in(tamsin), make_membership(membership.tenant)
    staff.post(at("purpose", membership.pk), {"reason": "Ticket 4711", "next": "https://elsewhere.example/"})
    assert staff.get(at("inspector", membership.pk)).status_code == 200
    assert staff.get(at("inspector", other.pk)).status_code == 302
    session = staff.session
    session["purposes"] = {str(membership.pk): ["Ticket 4711", time.time() - 1]}
    session.save()
    assert staff.get(at("inspector", membership.pk)).status_code == 302
    assert staff.get(at("pulse", membership.pk)).status_code == 403, "an open page shows nothing more"
