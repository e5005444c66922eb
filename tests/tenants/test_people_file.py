"""Administrators upload a file of people: shown first, then done, and those with an address are invited."""

from __future__ import annotations

from smtplib import SMTPRecipientsRefused
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from memoryhub.jobs import JobResult
from memoryhub.middleware import refusal
from tenants import invitation_mails
from tenants.errors import Forbidden
from tenants.invitation_models import Invitation
from tenants.invitations import accept_as, accept_as_new, invitation_path, invite_members
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.people import DirectoryEntry, add_person
from tenants.principal import Actor, ActorKind
from tenants.provider_models import IdentityProvider
from tenants.services import deactivate
from tests.factories import PASSWORD, make_membership, make_tenant

pytestmark = pytest.mark.django_db
PAGE = "/admin/tenants/membership/import/"
FILE = "name,email,user_id,role\nAda,ada@acme.example,1,admin\nBob,,2,\n"


@pytest.fixture
def boss(tenant: Tenant) -> Membership:
    membership = make_membership(tenant, role="admin")
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    membership.user.refresh_from_db()
    return membership


@pytest.fixture
def browser(boss: Membership) -> Client:
    """Somebody who has just signed in."""
    browser = Client()
    browser.post("/login/", {"username": boss.user.username, "password": PASSWORD})
    return browser


def upload(browser: Client, tenant: Tenant, text: str | bytes = FILE) -> HttpResponse:
    content = text.encode() if isinstance(text, str) else text
    file = SimpleUploadedFile("people.csv", content, "text/csv")
    return browser.post(PAGE, {"tenant": tenant.pk, "file": file})  # type: ignore[return-value]


def confirm(browser: Client, tenant: Tenant, **more: Any) -> HttpResponse:
    return browser.post(PAGE, {"tenant": tenant.pk, "text": FILE, **more})  # type: ignore[return-value]


def invited(member: Membership, boss: Membership, **more: Any) -> str:
    """The token of an invitation for an imported member."""
    actor = Actor(ActorKind.STAFF, boss.user_id)
    (invitation,) = invite_members(member.tenant, [member.pk], by=boss.user, actor=actor, **more)
    return invitation_path(invitation).rstrip("/").rpartition("/")[2]


def test_a_file_is_shown_before_anything_is_done(browser: Client, tenant: Tenant) -> None:
    page = upload(browser, tenant)
    assert page.status_code == 200
    for words in ("What this file would do", "Ada, ada@acme.example, admin", "Import 2 rows"):
        assert words in page.content.decode()
    assert tenant.memberships.count() == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FILE + "Cleo,no address,3,\n", "email: is no e-mail address."),
        ("Müller".encode("latin-1"), "The file is not UTF-8."),
        ("name\n" + "x" * 500_000, "larger than 500 kB"),
        ("", "The submitted file is empty."),
        ("name,email\n<b>,<script>@x.example\n", "email: is no e-mail address."),
    ],
)
def test_a_file_with_faults_is_refused(browser: Client, tenant: Tenant, text: str | bytes, said: str) -> None:
    page = upload(browser, tenant, text).content.decode()
    assert said in page and "Import 2 rows" not in page and "<script>@" not in page


def test_the_server_lets_the_file_through() -> None:
    sent = {"PATH_INFO": PAGE, "REQUEST_METHOD": "POST", "CONTENT_TYPE": "multipart/form-data; boundary=x"}
    sent |= {"CONTENT_LENGTH": "500000", "HTTP_COOKIE": f"{settings.SESSION_COOKIE_NAME}=x"}
    assert refusal(sent) is None


def test_the_import_is_done_by_whoever_confirms_and_links_are_shown_without_mail(
    browser: Client, boss: Membership, tenant: Tenant
) -> None:
    page = confirm(browser, tenant, invite="1").content.decode()
    invitation = Invitation.objects.get()
    assert (invitation.email, invitation.role, invitation.mail_origin) == ("ada@acme.example", "admin", "")
    assert invitation_path(invitation) in page
    added = AuditEvent.objects.filter(action="member.added", tenant_id=tenant.pk)
    assert set(added.values_list("actor_id", flat=True)) == {boss.user_id}
    assert "Everything" not in page and Membership.objects.filter(external_id="2").exists()


def test_who_has_no_address_gets_a_way_in_named(browser: Client, tenant: Tenant) -> None:
    assert "1 person without an e-mail address was not invited" in confirm(browser, tenant, invite="1").content.decode()


def test_without_a_fresh_password_nothing_is_done(boss: Membership, tenant: Tenant) -> None:
    stale = Client()
    stale.force_login(boss.user)
    session = stale.session
    session["password_given_at"] = 0
    session.save()
    answer = confirm(stale, tenant)
    assert (answer.status_code, tenant.memberships.count()) == (403, 1)
    assert "Ada,ada@acme.example,1,admin" in answer.content.decode()  # posted again with the password


def test_a_tenant_of_others_is_not_reached(browser: Client, tenant: Tenant) -> None:
    other = make_tenant()
    assert "would do" not in upload(browser, other).content.decode()
    confirm(browser, other)
    make_membership(other, role="admin")
    assert other.memberships.count() == 1
    browser.force_login(make_membership(tenant, role="support").user)
    assert browser.get(PAGE).status_code in (302, 403)


def test_mails_are_sent_by_the_job_and_once(browser: Client, tenant: Tenant, settings: Settings) -> None:
    settings.EMAIL_HOST = "mail.example"
    confirm(browser, tenant, invite="1")
    assert mail.outbox == []
    for _again in range(2):
        assert invitation_mails.send_waiting() is JobResult.DONE
    (sent,) = mail.outbox
    assert sent.to == ["ada@acme.example"]
    assert f"http://testserver{invitation_path(Invitation.objects.get())}" in sent.body


@pytest.mark.parametrize(("error", "waits"), [(SMTPRecipientsRefused({}), False), (OSError("away"), True)])
def test_a_mail_waits_for_a_server_and_not_for_an_address(
    boss: Membership, monkeypatch: pytest.MonkeyPatch, error: Exception, waits: bool
) -> None:
    def fail(*_: object) -> None:
        raise error

    invited(add_person(boss.tenant_id, DirectoryEntry("ada", email="a@acme.example")), boss, mail_origin="http://x")
    monkeypatch.setattr(invitation_mails, "send", fail)
    invitation_mails.send_waiting()
    assert Invitation.objects.exclude(mail_origin="").exists() is waits


def test_an_imported_person_opens_their_own_account(boss: Membership, client: Client) -> None:
    member = add_person(boss.tenant_id, DirectoryEntry("ada@acme.example", name="Ada", email="ada@acme.example"))
    token = invited(member, boss)
    assert 'value="Ada"' in client.get(f"/invitation/{token}/").content.decode()
    form = {"username": "ada@acme.example", "display_name": "Ada L", "password": PASSWORD, "again": PASSWORD}
    assert client.post(f"/invitation/{token}/", form).status_code == 302
    user = User.objects.get(pk=member.user_id)
    assert client.session["_auth_user_id"] == str(member.user_id)
    assert (user.username, user.display_name, user.check_password(PASSWORD)) == ("ada@acme.example", "Ada L", True)
    assert boss.tenant.memberships.count() == 2
    assert client.get(f"/invitation/{token}/").status_code == 410


def test_who_has_a_way_in_or_no_address_is_not_invited(boss: Membership) -> None:
    nobody = add_person(boss.tenant_id, DirectoryEntry("bob"))
    gone = add_person(boss.tenant_id, DirectoryEntry("eve", email="eve@acme.example"))
    deactivate(gone)
    guest = add_person(boss.tenant_id, DirectoryEntry("guest", email="guest@acme.example"))
    foreign = add_person(make_tenant().pk, DirectoryEntry("far", email="far@acme.example"))
    invited(guest, boss)
    everybody = [boss.pk, nobody.pk, gone.pk, guest.pk, foreign.pk]
    actor = Actor(ActorKind.STAFF, boss.user_id)
    assert invite_members(boss.tenant, everybody, by=boss.user, actor=actor) == []
    with pytest.raises(Forbidden):
        invite_members(boss.tenant, everybody, by=make_membership(boss.tenant).user, actor=actor)


def test_an_invitation_of_an_account_opens_no_other(boss: Membership) -> None:
    member = add_person(boss.tenant_id, DirectoryEntry("ada@acme.example", email="ada@acme.example"))
    token = invited(member, boss)
    with pytest.raises(Exception, match="an account of its own"):
        accept_as(token, make_membership().user)
    User.objects.create_user(f"taken@{boss.tenant.slug}")
    with pytest.raises(Exception, match="username"):
        accept_as_new(token, username="taken", display_name="", password=PASSWORD)
    deactivate(member)
    with pytest.raises(Exception, match="used or has ended"):
        accept_as_new(token, username="ada@acme.example", display_name="", password=PASSWORD)


def test_nobody_is_invited_where_passwords_are_off(browser: Client, tenant: Tenant) -> None:
    IdentityProvider.objects.create(tenant=tenant, issuer="https://id.example", client_id="x", passwords_off=True)
    assert "Nobody is invited" in upload(browser, tenant).content.decode()
    confirm(browser, tenant, invite="1")
    assert not Invitation.objects.exists() and Membership.objects.filter(external_id="1").exists()
