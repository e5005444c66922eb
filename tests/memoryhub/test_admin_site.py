"""The admin's own policy: scripts of its theme may evaluate, there and nowhere else; nothing is inline anywhere."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from tenants.models import Membership, Tenant, User
from tests.browser.staff_pages import everything, staff_pages
from tests.factories import PASSWORD, make_membership

pytestmark = pytest.mark.django_db

# A handler, a style or a script within the page; a style that the theme's scripts set by property is none.
INLINE = re.compile(r"(?<![\w:-])style=|<style|<script(?![^>]*\bsrc=)|\s(?<!@)on\w+=")
# What the theme's scripts evaluate.
EVALUATED = re.compile(r"""\s(?:x-|@|:)[\w.:-]+=("[^"]*"|'[^']*')""")


@pytest.fixture
def root(membership: Membership, client: Client) -> Client:
    client.force_login(membership.user)
    return client


@pytest.mark.long
def test_no_page_of_staff_holds_anything_inline_or_evaluates_a_value(root: Client, membership: Membership) -> None:
    found, evaluated = [], []
    for address in staff_pages(everything(membership)):
        answer = root.get(address)
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html") and not answer.streaming:
            page = answer.content.decode()
            found += [(address, each.group()) for each in INLINE.finditer(page)]
            evaluated += [(address, each[1]) for each in EVALUATED.finditer(page)]
            assert "'unsafe-inline'" not in answer["Content-Security-Policy"], address
    assert found == []
    assert evaluated and [each for each in evaluated if "heron" in each[1].lower()] == [], "the word of all rows"


@pytest.mark.parametrize("address", ["/", "/remember/facts/", "/login/", "/nowhere/", "/api/v1/schema/"])
def test_nothing_is_evaluated_outside_of_the_admin(root: Client, address: str) -> None:
    assert "unsafe-eval" not in root.get(address)["Content-Security-Policy"]


def test_pages_of_the_admin_may_evaluate(root: Client, membership: Membership) -> None:
    User.objects.filter(pk=membership.user_id).update(is_staff=True, is_superuser=True)
    policy = root.get("/admin/")["Content-Security-Policy"] + ";"  # in any order, and none after the last
    assert "script-src 'self' 'unsafe-eval';" in policy and "style-src 'self';" in policy


def test_who_is_not_signed_in_signs_in_at_the_site_and_goes_on(client: Client, tenant: Tenant) -> None:
    admin = make_membership(tenant, role="admin")
    User.objects.filter(pk=admin.user_id).update(is_staff=True)
    wanted = "/admin/tenants/membership/?role__exact=admin"
    page = client.get(wanted, follow=True)
    assert page.redirect_chain[-1][0].startswith("/login/?next=") and b'name="next"' in page.content
    signed_in = client.post(
        "/login/", {"username": admin.user.username, "password": PASSWORD, "next": page.context["redirect_field_value"]}
    )
    assert signed_in["Location"] == wanted


def test_a_member_who_may_not_enter_is_told_so(root: Client) -> None:
    answer = root.get("/admin/", follow=True)
    assert answer.status_code == 403 and "Your account cannot open the admin." in answer.content.decode()


def test_signing_in_leads_to_no_other_site(client: Client, membership: Membership) -> None:
    page = client.get("/admin/login/", {"next": "https://evil.example/"}, follow=True)
    given = {"username": membership.user.username, "password": PASSWORD, "next": page.context["redirect_field_value"]}
    assert client.post("/login/", given)["Location"] == "/"
