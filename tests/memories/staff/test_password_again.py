"""What cannot be undone wants a password of the last ten minutes: a stolen cookie alone does none of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import ErasureRequest, ExportRequest, LegalHold, RequestState
from memoryhub.session_store import digest
from tenants.models import ApiToken, Membership, Tenant, User
from tests.factories import PASSWORD, make_membership
from tests.memories.staff.seated import at, signed_in

pytestmark = pytest.mark.django_db


def stale(browser: Client) -> Client:
    """As a quarter of an hour after the sign-in."""
    session = browser.session
    session["password_given_at"] = time.time() - 900
    session.save()
    return browser


@pytest.fixture
def hollis(tenant: Tenant) -> Membership:
    """An administrator of Ada's tenant."""
    return make_membership(tenant, "admin", "Hollis")


@pytest.fixture
def browser(hollis: Membership) -> Client:
    """Hollis, who signed in a while ago."""
    return stale(signed_in(hollis))


def erase(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    given = {"reason": "a letter", "sure": ada.user.username}
    return at("erasure_ask", ada.pk), given, ErasureRequest.objects.exists


def approve(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    row = ErasureRequest.objects.create(tenant=ada.tenant, membership=ada, reason="x", asked_by=make_membership().user)
    done = ErasureRequest.objects.filter(state=RequestState.APPROVED).exists
    return at("erasure_decide", row.pk), {"decision": "approve"}, done


def release(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    hold = LegalHold.objects.create(tenant=ada.tenant, user=ada.user, reason="a lawsuit")
    return at("legal_hold_release", hold.pk), {}, LegalHold.objects.exclude(released_at=None).exists


def ask_export(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    return at("export_ask", ada.pk), {"reason": "a claim"}, ExportRequest.objects.exists


def download(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    hollis = User.objects.get(display_name="Hollis")
    row = ExportRequest.objects.create(
        tenant=ada.tenant, membership=ada, reason="x", state="approved", asked_by=hollis, decided_at=timezone.now()
    )
    return at("export", row.pk), {}, ExportRequest.objects.exclude(taken_at=None).exists


def issue(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    hollis = Membership.objects.get(user__display_name="Hollis")
    given = {"membership": str(hollis.pk), "name": "mine", "scopes": ["memory:read", "chat"]}
    return reverse("admin:tenants_apitoken_add"), given, ApiToken.objects.exists


def promote(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    made = Membership.objects.filter(pk=ada.pk, role="admin").exists
    return reverse("admin:tenants_membership_change", args=[ada.pk]), {"role": "admin"}, made


def let_in_again(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    Membership.objects.filter(pk=ada.pk).update(is_active=False)
    given = {"action": "activate", "_selected_action": [str(ada.pk)]}
    return (
        reverse("admin:tenants_membership_changelist"),
        given,
        Membership.objects.filter(pk=ada.pk, is_active=True).exists,
    )


def weaken(ada: Membership) -> tuple[str, dict[str, Any], Callable[[], bool]]:
    Tenant.objects.filter(pk=ada.tenant_id).update(staff_second_factor=True)
    hollis = User.objects.get(display_name="Hollis")
    Authenticator.objects.create(user=hollis, type=Authenticator.Type.TOTP, data={})
    given = {"action": "allow_without", "_selected_action": [str(ada.tenant_id)]}
    done = Tenant.objects.filter(pk=ada.tenant_id, staff_second_factor=False).exists
    return reverse("admin:tenants_tenant_changelist"), given, done


DEEDS = [erase, approve, release, ask_export, download, issue, promote, let_in_again, weaken]
EVERY = pytest.mark.parametrize("deed", DEEDS)


@EVERY
def test_without_a_fresh_password_nothing_is_done(browser: Client, membership: Membership, deed: Any) -> None:
    address, given, done = deed(membership)
    for more in ({}, {"password_again": "wrong"}):
        answer = browser.post(address, given | more)
        assert answer.status_code == 403 and "Is it you?" in answer.content.decode()
    assert not done()


@EVERY
def test_with_the_password_what_was_posted_is_done(browser: Client, membership: Membership, deed: Any) -> None:
    address, given, done = deed(membership)
    page = browser.post(address, given).content.decode()
    held = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)
    posted: dict[str, list[str]] = {}
    for name, value in held:
        posted.setdefault(name, []).append(value)
    answer = browser.post(address, posted | {"password_again": PASSWORD})
    assert answer.status_code in (200, 302) and done()
    assert browser.post(address, given).status_code != 403, "it holds for ten minutes"


def test_a_session_stays_in_the_list_of_sessions_under_its_new_key(hollis: Membership, membership: Membership) -> None:
    browser = Client()
    User.objects.filter(pk=hollis.user_id).update(is_staff=True)
    browser.post(reverse("login"), {"username": hollis.user.username, "password": PASSWORD})
    before = stale(browser).session.session_key
    address, given, _ = promote(membership)
    browser.post(address, given | {"password_again": PASSWORD})
    after = browser.session.session_key
    assert after and after != before and UserSession.objects.get(user=hollis.user).session_key == digest(after)


def test_a_link_to_set_a_password_is_made_with_ones_own(membership: Membership) -> None:
    operator = User.objects.create_superuser("operator", password=PASSWORD)
    browser = Client()
    browser.force_login(operator)
    address = reverse("admin:tenants_user_reset_link", args=[membership.user_id])
    assert stale(browser).post(address).status_code == 403
    assert b"/account/password/reset/" in browser.post(address, {"password_again": PASSWORD}).content


def test_five_wrong_passwords_end_the_session(browser: Client, membership: Membership) -> None:
    address, given, done = erase(membership)
    answers = [browser.post(address, given | {"password_again": "guess"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [403, 403, 403, 403, 302]
    assert reverse("login") in answers[-1]["Location"]
    assert browser.get(reverse("admin:index")).status_code == 302
    assert not done()


def test_guesses_at_the_same_time_are_five_at_most(browser: Client, membership: Membership) -> None:
    address, given, done = erase(membership)
    answers = []
    for guess in [*["guess"] * 5, PASSWORD]:  # none of them sees the wrong passwords that the others count
        session = browser.session
        session.pop("passwords_wrong", None)
        session.save()
        answers.append(browser.post(address, given | {"password_again": guess}).status_code)
    assert answers == [*[403] * 5, 302] and not done()
    assert browser.get(reverse("admin:index")).status_code == 302, "the session ended"


def test_an_account_without_a_password_is_told_what_to_do(browser: Client, membership: Membership) -> None:
    hollis = User.objects.get(display_name="Hollis")
    hollis.set_unusable_password()
    hollis.save()
    browser.force_login(hollis)
    address, given, done = erase(membership)
    answer = stale(browser).post(address, given | {"password_again": ""})
    assert answer.status_code == 403 and "your account has none" in answer.content.decode()
    assert not done()
    browser.force_login(hollis)
    assert browser.post(address, given).status_code == 302 and done()


def test_the_answer_makes_another_session_and_is_posted_on_to_no_view(browser: Client, membership: Membership) -> None:
    before = browser.cookies[settings.SESSION_COOKIE_NAME].value
    address, given, _ = erase(membership)
    page = browser.post(address, given | {"password_again": "wrong"}).content.decode()
    assert "wrong" not in re.findall(r'value="([^"]*)"', page)
    assert "which you last gave more than 10 minutes ago" in page, "true for whatever wants it"
    browser.post(address, given | {"password_again": PASSWORD})
    assert browser.cookies[settings.SESSION_COOKIE_NAME].value != before
