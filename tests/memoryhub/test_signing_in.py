"""Signing in: where it leads, what it records and refuses, second factors, and how long a session lasts."""

from __future__ import annotations

import re
import time
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import hotp_value
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from pytest_django import Settings

from memoryhub import limits
from tenants.audit.chain import PLATFORM_CHAIN, owner_chain
from tenants.models import AuditEvent, Membership, User
from tenants.principal import SYSTEM
from tenants.services import require_second_factor
from tenants.session_rules import clear_expired
from tenants.signing_in import WORDED_HERE
from tests.factories import PASSWORD, MakeMember

pytestmark = pytest.mark.django_db

LOGIN = "/login/"


def signed_in(user: User, address: str = LOGIN) -> str:
    answer = Client().post(address, {"username": user.username, "password": PASSWORD})
    assert answer.status_code == 302
    return answer["Location"]


@pytest.fixture
def operator() -> User:
    """Who runs the platform, a member of nothing."""
    return User.objects.create_superuser("operator", password=PASSWORD)


def test_a_member_goes_on_to_the_chat(membership: Membership) -> None:
    assert signed_in(membership.user) == "/"


def test_who_runs_the_platform_goes_on_to_the_admin_also_when_signed_in_already(operator: User) -> None:
    assert signed_in(operator) == reverse("admin:index")
    browser = Client()
    browser.force_login(operator)
    assert browser.get(LOGIN)["Location"] == reverse("admin:index")


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("/admin/tenants/tenant/", "/admin/tenants/tenant/"), ("https://elsewhere.example/", "/admin/")],
)
def test_what_was_asked_for_comes_first_if_it_is_here(operator: User, asked: str, answered: str) -> None:
    assert signed_in(operator, f"{LOGIN}?next={asked}") == answered


def test_who_runs_the_platform_is_led_on_from_the_chat(operator: User) -> None:
    assert signed_in(operator, f"{LOGIN}?next=/") == reverse("admin:index")


def own_events(membership: Membership) -> list[AuditEvent]:
    chain = owner_chain(membership.tenant_id, membership.user_id)
    return list(AuditEvent.objects.filter(chain=chain).select_related("payload").order_by("sequence"))


def attempt(name: str, password: str = "wrong", address: str = "192.0.2.1") -> str:
    return Client(REMOTE_ADDR=address).post(LOGIN, {"username": name, "password": password}).content.decode()


def test_a_sign_in_and_a_failed_one_are_recorded_without_the_password(membership: Membership) -> None:
    name = membership.user.username
    attempt(name, "wr0ng-wr0ng")
    Client(REMOTE_ADDR="192.0.2.7").post(LOGIN, {"username": name, "password": PASSWORD})
    failed, done = own_events(membership)
    assert (failed.action, failed.actor_kind) == ("user.sign_in_failed", "system")
    assert failed.payload.data["after"] == {"name": name, "address": "192.0.2.1", "step": "password"}
    assert (done.action, done.actor_id) == ("user.signed_in", membership.user_id)
    assert done.payload.data["after"]["address"] == "192.0.2.7"
    assert "wr0ng" not in failed.payload.document


def test_a_sign_out_is_recorded(membership: Membership) -> None:
    browser = Client()
    browser.force_login(membership.user)
    browser.post(reverse("logout"))
    (done,) = own_events(membership)
    assert (done.action, done.actor_id) == ("user.signed_out", membership.user_id)


def test_an_operator_s_sign_in_is_in_the_platform_s_chain(operator: User) -> None:
    signed_in(operator)
    assert AuditEvent.objects.get().chain == PLATFORM_CHAIN


def test_a_name_that_is_nobody_s_is_counted_and_stored_nowhere(membership: Membership) -> None:
    attempt("my-secret-password")
    assert not AuditEvent.objects.exists()
    now = time.time()
    assert limits.counted(now - 600, now + 600)["sign_in_failed"] == 1


def test_nobody_learns_which_names_there_are(membership: Membership) -> None:
    User.objects.create_user("gone", password=PASSWORD, is_active=False)
    pages = {re.sub(r'value="[^"]*"', "", attempt(*who)) for who in
             [(membership.user.username,), ("nobody",), ("gone", PASSWORD)]}  # fmt: skip
    assert len(pages) == 1 and "Incorrect username or password." in pages.pop()


def test_guesses_of_one_name_are_limited_from_all_addresses(membership: Membership) -> None:
    name = membership.user.username
    said = [attempt(name, address=f"192.0.2.{number}") for number in range(12)]
    assert ["Too many" in page for page in said] == [False] * 10 + [True] * 2
    assert "Too many" in attempt(name.upper(), address="192.0.2.99")
    assert "Too many" in attempt(name, PASSWORD, address="192.0.2.100")


def test_guesses_from_one_address_are_limited_for_all_names(membership: Membership) -> None:
    said = [attempt(f"name{number}") for number in range(21)]
    assert ["Too many" in page for page in said] == [False] * 20 + [True]
    assert "Too many" not in attempt("name", address="192.0.2.2")


def test_a_member_stays_for_days(membership: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Client()
    browser.force_login(membership.user)
    later(monkeypatch, days=13)
    assert browser.get(reverse("chat:new")).status_code == 200


def later(monkeypatch: pytest.MonkeyPatch, **by: float) -> None:
    moment = time.time() + timedelta(**by).total_seconds()
    monkeypatch.setattr(time, "time", lambda: moment)


@pytest.fixture
def staff_browser(make_member: MakeMember) -> Client:
    member = make_member(role="auditor")
    User.objects.filter(pk=member.user_id).update(is_staff=True)
    browser = Client()
    browser.force_login(User.objects.get(pk=member.user_id))
    return browser


def is_in(browser: Client, **headers: str) -> bool:
    return browser.get(reverse("admin:index"), headers=headers).status_code == 200


def test_staff_who_do_nothing_are_signed_out(staff_browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    later(monkeypatch, minutes=29)
    assert is_in(staff_browser)
    later(monkeypatch, minutes=29)
    assert is_in(staff_browser)
    later(monkeypatch, minutes=31)
    page = staff_browser.get(reverse("admin:index"), follow=True)
    assert "after 30 minutes without activity" in page.content.decode() and not is_in(staff_browser)


def test_a_page_that_refreshes_itself_keeps_nobody_signed_in(
    staff_browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(monkeypatch, minutes=20)
    assert is_in(staff_browser, **{"Sec-Fetch-Mode": "cors"})
    later(monkeypatch, minutes=20)
    assert not is_in(staff_browser)


def test_staff_sign_in_again_after_twelve_hours(staff_browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for _ in range(25):
        later(monkeypatch, minutes=29)
        seen.append(is_in(staff_browser))
    assert seen == [True] * 24 + [False]


def test_sessions_that_ended_are_deleted(membership: Membership) -> None:
    browser = Client()
    browser.post(LOGIN, {"username": membership.user.username, "password": PASSWORD})
    clear_expired()
    assert UserSession.objects.count() == 1
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    clear_expired()
    assert not Session.objects.exists() and not UserSession.objects.exists()


def test_the_other_sessions_are_listed_and_ended(membership: Membership, make_member: MakeMember) -> None:
    here, there, stranger = Client(), Client(), Client()
    for browser, member in ((here, membership), (there, membership), (stranger, make_member(membership.tenant))):
        browser.post(LOGIN, {"username": member.user.username, "password": PASSWORD})
    assert len(here.get(reverse("usersessions_list")).context["sessions"]) == 2
    here.post(reverse("usersessions_list"))
    chat = reverse("chat:new")
    assert [browser.get(chat).status_code for browser in (here, there, stranger)] == [200, 302, 200]


def code_of(secret: str, step: int = 0) -> str:
    return f"{hotp_value(secret, int(time.time()) // 30 + step):06}"


def test_a_second_factor_is_asked_for_and_its_secret_is_not_in_the_database(membership: Membership) -> None:
    browser, name = Client(), membership.user.username
    browser.post(LOGIN, {"username": name, "password": PASSWORD})
    page = browser.get(reverse("mfa_activate_totp"))
    secret = page.context["form"].secret
    browser.post(reverse("mfa_activate_totp"), {"code": code_of(secret, -1)})
    assert secret not in str(Authenticator.objects.get(type="totp").data)

    again = Client()
    asked = again.post(LOGIN, {"username": name, "password": PASSWORD})
    assert asked["Location"] == reverse("mfa_authenticate") and again.get("/").status_code == 302
    assert "Incorrect code" in again.post(asked["Location"], {"code": "000000"}).content.decode()
    assert again.post(asked["Location"], {"code": code_of(secret)})["Location"] == "/"
    assert again.get(reverse("chat:new")).status_code == 200
    replayed = Client()
    replayed.post(LOGIN, {"username": name, "password": PASSWORD})
    assert "Incorrect code" in replayed.post(asked["Location"], {"code": code_of(secret)}).content.decode()
    actions = [event.action.removeprefix("user.") for event in own_events(membership)]
    assert actions == ["signed_in", "second_factor_added", "second_factor_added", "sign_in_failed", "signed_in", "sign_in_failed"]  # fmt: skip # noqa: E501


def test_staff_without_a_required_second_factor_add_one_first(staff_browser: Client, make_member: MakeMember) -> None:
    tenant = Membership.objects.get().tenant
    require_second_factor(tenant, required=True, actor=SYSTEM)
    for address in (reverse("admin:index"), reverse("chat:new")):
        assert staff_browser.get(address)["Location"] == reverse("mfa_index")
    assert staff_browser.get("/api/v1/sessions").status_code == 403
    assert staff_browser.get(reverse("mfa_activate_totp")).status_code == 200
    member = Client()
    member.force_login(make_member(tenant).user)
    assert member.get(reverse("chat:new")).status_code == 200, "of staff alone"
    user = Membership.objects.get(role="auditor").user
    Authenticator.objects.create(user=user, type="totp", data={"secret": ""})
    assert is_in(staff_browser)


def test_an_operator_needs_one_where_any_tenant_requires_it(operator: User, membership: Membership) -> None:
    require_second_factor(membership.tenant, required=True, actor=SYSTEM)
    browser = Client()
    browser.force_login(operator)
    assert browser.get(reverse("admin:index"))["Location"] == reverse("mfa_index")


def test_a_forgotten_password_is_reset_by_mail(membership: Membership, settings: Settings) -> None:
    settings.EMAIL_HOST = "mail.example"
    User.objects.update(email="ada@acme.example")
    address = reverse("account_reset_password")
    answers = [Client().post(address, {"email": each})["Location"] for each in ("ada@acme.example", "no@acme.example")]
    assert len(set(answers)) == 1, "nobody learns which addresses there are"
    (sent,) = mail.outbox
    (link,) = re.findall(r"http://testserver(\S+)", str(sent.body))
    visitor = Client()
    form = visitor.get(link, follow=True).redirect_chain[-1][0]
    visitor.post(form, {"password1": PASSWORD * 2, "password2": PASSWORD * 2})
    assert User.objects.get().check_password(PASSWORD * 2)


def test_without_mail_the_page_says_whom_to_ask(client: Client) -> None:
    page = client.post(reverse("account_reset_password"), {"email": "ada@acme.example"})
    assert "Ask an administrator" in page.content.decode() and not mail.outbox


@pytest.mark.parametrize("path", ["/signup/", "/account/signup/", "/account/email/"])
def test_nobody_signs_up(client: Client, membership: Membership, path: str) -> None:
    client.force_login(membership.user)
    assert client.get(path).status_code == 404


def test_the_pages_of_second_factors_and_passwords_speak_formal_german() -> None:
    with translation.override("de"):
        words = [translation.gettext(text) for text in WORDED_HERE]
    assert "Bitte geben Sie Ihr aktuelles Passwort ein." in words
    assert not [each for each in words if re.search(r"\b(?:du|dein\w*)\b", each, re.IGNORECASE)]
