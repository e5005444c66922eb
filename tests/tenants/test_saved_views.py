"""Views that auditors save: private, of one tenant, without names, gone with the auditor."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tenants.auditors import SavedView
from tenants.erasure import stop_member
from tenants.models import Membership, Tenant, User
from tests.factories import make_membership

SAVE = "admin:tenants_auditevent_save_view"


def auditor_of(tenant: Tenant) -> Membership:
    membership = make_membership(tenant, role="auditor")
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    return membership


def browser_of(membership: Membership) -> Client:
    browser = Client()
    browser.force_login(User.objects.get(pk=membership.user_id))
    return browser


@pytest.fixture
def olga(tenant: Tenant) -> Membership:
    return auditor_of(tenant)


def save(browser: Client, **asked: str) -> str:
    return str(browser.post(reverse(SAVE), {"view_name": "Looks", "page": "audit", **asked})["Location"])


def test_a_view_leads_to_its_filters_and_names_nobody(olga: Membership, membership: Membership) -> None:
    browser = browser_of(olga)
    address = save(browser, action="memory.read", member="Ada", since="last-audit", csv="1")
    view = SavedView.objects.get()
    assert view.query == f"member={membership.user_id}&action=memory.read&since=last-audit" and address.endswith(
        view.query
    )
    page = browser.get(reverse("admin:tenants_auditevent_changelist")).content.decode()
    assert ">Looks</bdi>" in page and view.query.replace("&", "&amp;") in page
    save(browser, action="memory.asked")
    assert SavedView.objects.get().query == "action=memory.asked"


def test_a_view_of_histories_leaves_searched_words_out(olga: Membership) -> None:
    browser = browser_of(olga)
    address = save(browser, page="history", q="geese", how="harsh")
    assert SavedView.objects.get().query == "how=harsh" and address.startswith(reverse("staff:histories"))
    assert ">Looks</bdi>" in browser.get(reverse("staff:histories")).content.decode()


@pytest.mark.parametrize("asked", [{}, {"action": "x", "view_name": " "}, {"member": "Nobody at all"}])
def test_what_is_no_view_is_not_saved(olga: Membership, asked: dict[str, str]) -> None:
    browser = browser_of(olga)
    assert browser.post(reverse(SAVE), {"view_name": "Looks", "page": "audit", **asked}).status_code == 302
    assert not SavedView.objects.exists()


def test_nobody_else_sees_or_deletes_it(olga: Membership, tenant: Tenant) -> None:
    save(browser_of(olga), action="memory.read")
    view = SavedView.objects.get()
    drop = reverse("admin:tenants_auditevent_delete_view", args=[view.pk])
    for other in (auditor_of(tenant), auditor_of(make_membership(name="Eve").tenant)):
        browser = browser_of(other)
        assert ">Looks</bdi>" not in browser.get(reverse("admin:tenants_auditevent_changelist")).content.decode()
        assert browser.post(drop).status_code == 404
    assert browser_of(olga).post(drop).status_code == 302 and not SavedView.objects.exists()


def test_it_goes_with_the_access_of_its_auditor(olga: Membership) -> None:
    save(browser_of(olga), action="memory.read")
    stop_member(olga)
    assert not SavedView.objects.exists()
