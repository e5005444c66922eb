"""What a security review asks of every page: no inline script or style, no caching, no framing, a login, a token."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse

from memories.types import Kind
from tenants.models import Membership, User
from tests.memories.chat.addresses import other_addresses, owned_addresses
from tests.memories.chat.lives import Life

pytestmark = pytest.mark.django_db

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'


class _Inline(HTMLParser):
    """Collects what a policy without inline code would block."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag == "style" or (tag == "script" and not names.get("src") and names.get("type") != "application/json"):
            self.found.append(tag)
        for name, value in attrs:
            if name == "style" or name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"{tag} {name}")


def _assert_safe(address: str, page: bytes, policy: str) -> None:
    assert "script-src 'self'" in policy, address
    assert "unsafe" not in policy, address
    assert _Inline(page.decode()).found == [], address


def test_pages_of_a_memory_have_nothing_inline(ada: Client, life: Life) -> None:
    for address in (each.of(life) for each in owned_addresses()):
        response = ada.get(address)
        _assert_safe(address, response.content, response["Content-Security-Policy"])


def test_pages_in_general_have_nothing_inline(ada: Client, life: Life) -> None:
    for address in other_addresses():
        response = ada.get(address)
        _assert_safe(address, response.content, response["Content-Security-Policy"])
        assert "no-store" in response["Cache-Control"], address
        assert response["X-Frame-Options"] == "DENY", address


@pytest.mark.parametrize("address", ["/login/", "/chat/nowhere/", "/remember/facts/nowhere/"])
def test_pages_around_have_nothing_inline(address: str, client: Client) -> None:
    response = client.get(address)
    _assert_safe(address, response.content, response["Content-Security-Policy"])


def test_a_stranger_is_asked_to_sign_in(client: Client) -> None:
    for address in set(other_addresses()) - {reverse("chat:theme")}:
        assert client.get(address)["Location"].startswith(reverse("login")), address


def test_a_form_without_its_token_changes_nothing(membership: Membership, life: Life) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(membership.user)
    response = client.post(reverse("remember:forget", kwargs={"kind": Kind.SEMANTIC, "memory_id": life.edinburgh}))
    assert response.status_code == 403
    assert b"out of date" in response.content


def test_markup_in_a_message_stays_text(ada: Client) -> None:
    page = ada.post(reverse("chat:begin"), {"message": HOSTILE}, follow=True).content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<img" not in page
    assert _Inline(page).found == []


def test_a_user_of_no_tenant_is_told_so(client: Client) -> None:
    client.force_login(User.objects.create_user("lonely", password="x"))
    response = client.get(reverse("chat:new"))
    assert (response.status_code, b"belong to no organisation" in response.content) == (403, True)
    assert b"Back to the chat" not in response.content  # it would lead here again


def test_the_operator_of_the_platform_is_led_to_the_admin(client: Client) -> None:
    client.force_login(User.objects.create_superuser("operator", password="x"))
    for name in ("chat:new", "account:home"):
        assert client.get(reverse(name)).headers["Location"] == "/admin/"
    assert client.post(reverse("account:home")).status_code in (403, 405)


def test_a_form_goes_on_to_this_site_only(ada: Client, life: Life) -> None:
    address = reverse("remember:pin", kwargs={"kind": Kind.SEMANTIC, "memory_id": life.edinburgh})
    response = ada.post(address, {"pinned": "1", "next": "https://elsewhere.example/"})
    assert response["Location"] == address.removesuffix("pin/")


def test_a_staff_member_finds_the_admin_and_a_member_does_not(sign_in, make_member) -> None:  # type: ignore[no-untyped-def]  # fixtures
    auditor = sign_in(make_member(role="auditor")).get(reverse("chat:new")).content
    member = sign_in(make_member()).get(reverse("chat:new")).content
    assert (b'href="/admin/"' in auditor, b'href="/admin/"' in member) == (True, False)
