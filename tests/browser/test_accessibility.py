"""axe finds nothing serious on pages of members and of nobody, in the light or in the dark, on a desk or on a phone.

These are one page of each sort; `tests/proofs/test_member_pages.py` opens every page.
"""

from __future__ import annotations

import pytest

from memories.services.admin_requests import note_question
from memories.services.facts.remember import remember_fact
from tenants.invitations import invitation_path, invite
from tenants.models import Membership, User
from tenants.principal import SYSTEM, Role
from tenants.principals import reading_principal
from tests.browser.conftest import Browse, OpenPage
from tests.browser.member_pages import member_pages
from tests.browser.staff_pages import faults_of, open_each, serious_in, unfit_in
from tests.factories import make_membership, own_principal
from tests.memories.chat.addresses import owned_addresses
from tests.memories.chat.lives import live

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_axe_finds_nothing_and_every_page_fits(
    open_page: OpenPage, member: Membership, dark: bool, phone: bool
) -> None:
    life = live(own_principal(member))
    own = ("chat:session", "remember:memory", "remember:forget")
    pages = [each.of(life) for each in owned_addresses() if each.name in own]
    pages += ["/", "/chat/all/", "/nowhere/", "/remember/facts/?show=replaced", "/remember/facts/?q=nothing"]
    pages += [f"/remember/{each}/" for each in ("facts", "how-tos", "events", "shared")]
    pages += ["/account/", "/account/delete/", "/account/import/", "/?temporary=1"]
    note_question(reading_principal(member, staff=make_membership(member.tenant, "support").user), "Where?")
    remember_fact(own_principal(member), text="Word" * 200)
    page = open_page(dark=dark, phone=phone)
    found = []
    for path in pages:
        page.goto(path)
        found += faults_of(page, path)
    assert found == []


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_axe_finds_nothing_before_a_sign_in_nor_where_nothing_is_yet(
    open_page: OpenPage, browse: Browse, member: Membership, dark: bool, phone: bool
) -> None:
    boss = make_membership(member.tenant, role="admin")
    invitation = invite(tenant=member.tenant, role=Role.MEMBER, email="ines@acme.example", by=boss.user, actor=SYSTEM)
    outside = ["/login/", "/account/password/reset/", invitation_path(invitation)]
    empty = ["/", "/chat/all/", "/remember/facts/", "/account/security/", "/account/security/totp/activate/"]
    empty += ["/account/sessions/", "/account/password/", "/connect/model/"]
    found = open_each(browse(dark=dark, phone=phone), outside)
    assert found + open_each(open_page(dark=dark, phone=phone), empty) == []


def test_every_page_fits_a_phone_in_german(open_page: OpenPage, browse: Browse, member: Membership) -> None:
    page, nobody = open_page(phone=True), browse(phone=True)
    User.objects.filter(pk=member.user_id).update(language="de")
    nobody.set_extra_http_headers({"Accept-Language": "de"})
    pages = member_pages(member)
    assert open_each(page, pages, unfit_in) + open_each(nobody, pages, unfit_in) == []


def test_axe_finds_nothing_serious_in_what_opens(open_page: OpenPage, member: Membership) -> None:
    life = live(own_principal(member))
    page = open_page(f"/chat/{life.session}/", phone=True)
    found = []
    for opener in (".account", ".open-sessions", "[data-usage]"):
        page.locator(opener).first.click()
        page.wait_for_timeout(100)
        found += serious_in(page, opener)
        page.keyboard.press("Escape")
    page.goto(f"/remember/facts/{life.edinburgh}/")
    page.get_by_text("Correct this").click()
    found += serious_in(page, "the correction")
    assert found == []
