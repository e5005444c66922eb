"""Setting one's own password leaves an event where one acts, with no password in it, or is not done."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tenants.audit.chain import PLATFORM_CHAIN, owner_chain
from tenants.models import AuditEvent, Membership, User
from tests.factories import PASSWORD, make_tenant

NEW = {"password1": PASSWORD * 2, "password2": PASSWORD * 2}


def set_password(browser: Client, old: str = PASSWORD) -> Any:
    return browser.post(reverse("account_change_password"), {"oldpassword": old, **NEW})


def test_a_new_password_is_in_ones_own_trail_of_every_tenant_one_acts_in(browser: Client, staff: Membership) -> None:
    second = Membership.objects.create(tenant=make_tenant(), user=staff.user, role="member")
    Membership.objects.create(tenant=make_tenant(), user=staff.user, is_active=False)
    assert set_password(browser, old="wrong").status_code == 200 and not AuditEvent.objects.exists()
    assert set_password(browser).status_code == 302
    assert browser.get(reverse("admin:index")).status_code == 200, "still signed in"
    events = AuditEvent.objects.filter(action="user.password_changed").select_related("payload")
    chains = {owner_chain(each.tenant_id, staff.user_id) for each in (staff, second)}
    assert {event.chain for event in events} == chains
    for event in events:
        assert (event.actor_kind, event.actor_id, event.target_id) == ("member", staff.user_id, staff.user_id)
        assert event.payload.data == {"reason": "", "before": None, "after": None}


def test_who_acts_in_no_tenant_is_in_the_trail_of_the_platform(platform_browser: Client, superuser: User) -> None:
    assert set_password(platform_browser).status_code == 302
    assert AuditEvent.objects.get().chain == PLATFORM_CHAIN


def test_no_password_is_set_without_its_event(
    browser: Client, staff: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.raise_request_exception = False
    monkeypatch.setattr("tenants.services.record_event", lambda *_, **__: 1 / 0)
    assert set_password(browser).status_code == 500
    assert User.objects.get(pk=staff.user_id).check_password(PASSWORD)


@pytest.mark.parametrize("weak", ["short", "password12", "1234567890123"])
def test_a_weak_password_is_refused(browser: Client, staff: Membership, weak: str) -> None:
    given = {"oldpassword": PASSWORD, "password1": weak, "password2": weak}
    assert browser.post(reverse("account_change_password"), given).status_code == 200
    assert User.objects.get(pk=staff.user_id).check_password(PASSWORD)


def test_a_new_password_ends_the_other_sessions(browser: Client, staff: Membership) -> None:
    elsewhere = Client()
    elsewhere.force_login(staff.user)
    set_password(browser)
    assert elsewhere.get("/")["Location"].startswith(reverse("login"))


@pytest.fixture
def without_password(browser: Client, staff: Membership) -> Client:
    """Somebody who came by their organisation's provider."""
    staff.user.set_unusable_password()
    staff.user.save()
    browser.force_login(staff.user)
    return browser


@pytest.mark.parametrize("page", ["account_set_password", "mfa_activate_totp", "mfa_add_webauthn"])
def test_who_has_no_password_signs_in_again_before_there_is_another_way_in(without_password: Client, page: str) -> None:
    assert without_password.get(reverse(page)).status_code == 200
    session = without_password.session
    session["password_given_at"] = time.time() - 900
    session.save()
    for answer in (without_password.get(reverse(page)), without_password.post(reverse(page), NEW)):
        assert answer.status_code == 403 and "Sign out and in again" in answer.content.decode()


def test_a_first_password_is_set_after_a_sign_in(without_password: Client, staff: Membership) -> None:
    assert without_password.post(reverse("account_set_password"), NEW).status_code == 302
    assert User.objects.get(pk=staff.user_id).check_password(PASSWORD * 2)
