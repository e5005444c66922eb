"""Every page outside of the admin, light and dark, on a desk and on a phone, in each language: axe finds nothing.

Nor does any page say an error on the console, do what the policy of the site forbids, get wider than the window, or cut
a text.
"""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from tenants.models import Membership, User
from tests.browser.conftest import Browse, OpenPage
from tests.browser.member_pages import member_pages
from tests.browser.staff_pages import faults_in, faults_of, language_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("phone", [False, True])
def test_no_page_of_a_member_or_of_nobody_has_a_fault(
    open_page: OpenPage, browse: Browse, member: Membership, dark: bool, phone: bool
) -> None:
    page, nobody = open_page(dark=dark, phone=phone), browse(dark=dark, phone=phone)
    User.objects.filter(pk=member.user_id).update(language=language_of(dark=dark, phone=phone))
    nobody.set_extra_http_headers({"Accept-Language": language_of(dark=dark, phone=phone) or "en"})
    pages = member_pages(member)
    assert not faults_in(page, pages) + faults_in(nobody, pages)


@pytest.mark.parametrize("dark", [False, True])
def test_no_page_of_an_error_has_a_fault(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, dark: bool) -> None:
    page = open_page("/chat/send/", dark=dark, phone=dark)
    found = faults_of(page, "405")
    page.evaluate("document.body.innerHTML = '<form method=post action=/logout/></form>'; document.forms[0].submit()")
    page.wait_for_url("**/logout/")
    found += faults_of(page, "403")
    with monkeypatch.context() as patch:
        patch.setattr("memories.chat.views.conversations.render", Mock(side_effect=RuntimeError))
        page.goto("/")
        found += faults_of(page, "500")
    assert page.title().startswith("Something went wrong") and found == []
