"""The admin: no page holds or evaluates anything inline, and who is not signed in signs in at the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from tenants.models import Membership, Tenant, User
from tests.browser.staff_pages import everything, staff_pages
from tests.factories import PASSWORD, make_membership

pytestmark = pytest.mark.django_db

# A handler, a style or a script within the page.
INLINE = re.compile(r"(?<![\w:-])style=|<style|<script(?![^>]*\bsrc=)|\s(?<!@)on\w+=")


@pytest.fixture
def root(membership: Membership, client: Client) -> Client:
    client.force_login(membership.user)
    return client


@pytest.mark.long
def test_no_page_of_staff_holds_anything_inline(root: Client, membership: Membership) -> None:
    found = []
    for address in staff_pages(everything(membership)):
        answer = root.get(address)
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html") and not answer.streaming:
            page = answer.content.decode()
            found += [(address, each.group()) for each in INLINE.finditer(page)]
            assert "'unsafe-" not in answer["Content-Security-Policy"], address
    assert found == []


@pytest.mark.parametrize("address", ["/", "/remember/facts/", "/login/", "/nowhere/", "/api/v1/schema/", "/admin/"])
def test_nothing_is_evaluated(root: Client, membership: Membership, address: str) -> None:
    User.objects.filter(pk=membership.user_id).update(is_staff=True, is_superuser=True)
    assert "unsafe" not in root.get(address)["Content-Security-Policy"]


def test_the_first_page_of_staff_and_of_members_weighs_little(root: Client, membership: Membership) -> None:
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    for address in ("/", "/remember/facts/", "/admin/"):
        files = set(re.findall(r'(?:href|src)="/static/([^"]+)"', root.get(address).content.decode()))
        assert sum(Path(str(finders.find(each))).stat().st_size for each in files) < 200_000, address


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
