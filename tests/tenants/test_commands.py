"""`manage.py tenant`, `member` and `token`: from an empty database to a call of the API, without a browser."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from pytest_django import Settings

from memories.selectors.policies import policy_of
from memories.services.bootstrap import bootstrap
from tenants.end_users import find_end_user
from tenants.errors import InvalidValue
from tenants.models import ApiToken, AuditEvent, Membership, Tenant, User
from tenants.principal import AGENT_RIGHTS, KEY_RIGHTS, KeyHolder, Right
from tenants.services import authenticate_key, authenticate_token, revoke_token, rotate_token
from tenants.tokens import KEY_MARK, is_key, new_plaintext
from tests.factories import make_tenant


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue().strip()


def holder(plaintext: str) -> KeyHolder:
    found = authenticate_key(plaintext)
    assert found is not None
    return found


def test_a_tenant_and_a_key_are_made_without_a_browser(db: None) -> None:
    assert run("tenant", "create", "acme", "--name", "Acme") == "acme"
    tenant = Tenant.objects.get()
    key = run("token", "create", "--tenant", "acme")
    assert (holder(key).tenant_id, holder(key).rights) == (tenant.id, KEY_RIGHTS)
    assert ApiToken.objects.get().expires_at is None
    assert policy_of(tenant.id).provision_members
    assert set(AuditEvent.objects.values_list("actor_kind", flat=True)) == {"system"}
    assert "acme\t0 members\tAcme" in run("tenant", "list")


def test_a_tenant_that_knows_its_members_makes_none_on_first_use(db: None) -> None:
    run("tenant", "create", "acme", "--known-members-only")
    assert not policy_of(Tenant.objects.get().id).provision_members
    with pytest.raises(CommandError, match="slug"):
        run("tenant", "create", "acme")


def test_a_member_is_made_once(tenant: Tenant) -> None:
    for name in ("Ann", "Else"):
        run("member", "create", "ann", "--tenant", tenant.slug, "--name", name)
    (shown,) = json.loads(run("member", "list", "--tenant", tenant.slug, "--json"))
    assert (shown["user_id"], shown["name"], shown["role"]) == ("ann", "Ann", "member")
    assert find_end_user(tenant.id, "ann") is not None
    with pytest.raises(CommandError, match="slash"):
        run("member", "create", "a/b", "--tenant", tenant.slug)


def members_token(membership: Membership, *more: str) -> str:
    return run("token", "create", "--tenant", membership.tenant.slug, "--user", membership.user.username, *more)


def test_a_members_token_is_printed_once(membership: Membership) -> None:
    principal = authenticate_token(members_token(membership))
    assert principal is not None and principal.rights == AGENT_RIGHTS


def test_the_answer_in_json_has_the_scopes_asked(membership: Membership) -> None:
    answer = json.loads(members_token(membership, "--scopes", "memory:read", "--days", "1", "--json"))
    assert answer["scopes"] == ["memory:read"] and answer["token"].startswith(answer["prefix"])


@pytest.mark.parametrize("days", ["0", "-1", "3651"])
def test_no_token_is_for_ever(membership: Membership, days: str) -> None:
    with pytest.raises(CommandError, match="--days takes a number from 1 to 3,650"):
        members_token(membership, "--days", days)


def test_a_members_token_has_no_scope_of_a_key(membership: Membership) -> None:
    with pytest.raises(CommandError, match="Only a backend key has the scope members"):
        members_token(membership, "--scopes", "members")


def test_an_unknown_scope_is_told_those_that_there_are(membership: Membership) -> None:
    with pytest.raises(CommandError, match=r"choose from .?memory:read"):
        members_token(membership, "--scopes", "nonsense")


def test_a_token_isolates_other_tenants(membership: Membership) -> None:
    elsewhere = make_tenant()
    with pytest.raises(CommandError, match="No single active member"):
        run("token", "create", "--tenant", elsewhere.slug, "--user", membership.user.username)
    members_token(membership)
    assert run("token", "list", "--tenant", elsewhere.slug) == ""


def test_a_key_is_listed_rotated_and_revoked(tenant: Tenant) -> None:
    old = run("token", "create", "--tenant", tenant.slug, "--networks", "10.0.0.0/8")
    assert authenticate_key(old, address="10.1.1.1") is not None
    (shown,) = json.loads(run("token", "list", "--tenant", tenant.slug, "--json"))
    assert (shown["of"], shown["state"]) == ("backend key", "works") and old not in str(shown)
    new = run("token", "rotate", shown["prefix"], "--grace-hours", "0")
    assert [authenticate_key(each, address="10.1.1.1") is not None for each in (old, new)] == [False, True]
    run("token", "revoke", shown["id"])
    assert authenticate_key(new, address="10.1.1.1") is None
    for named in ("mhb_unknown", shown["prefix"]):
        with pytest.raises(CommandError, match="no single token"):
            run("token", "revoke", named)


@pytest.fixture
def secret(db: None, settings: Settings) -> str:
    settings.MEMORYHUB_BOOTSTRAP_KEY = run("token", "generate")
    return str(settings.MEMORYHUB_BOOTSTRAP_KEY)


@pytest.mark.django_db(transaction=True)
def test_the_environment_makes_a_tenant_and_its_key_once(secret: str) -> None:
    for _ in range(2):
        call_command("migrate", verbosity=0)
    tenant = Tenant.objects.get()
    assert (tenant.slug, ApiToken.objects.count()) == ("default", 1)
    assert holder(secret).rights == KEY_RIGHTS and policy_of(tenant.id).provision_members


def test_a_revoked_key_is_not_made_again(secret: str) -> None:
    key = bootstrap()
    assert key is not None
    revoke_token(key)
    bootstrap()
    assert authenticate_key(secret) is None and ApiToken.objects.count() == 1


def test_the_key_of_the_environment_is_rotated_there(secret: str, settings: Settings) -> None:
    key = bootstrap()
    assert key is not None
    with pytest.raises(InvalidValue, match="MEMORYHUB_BOOTSTRAP_KEY"):
        rotate_token(key)
    settings.MEMORYHUB_BOOTSTRAP_KEY = new_plaintext(KEY_MARK)
    bootstrap()
    assert ApiToken.objects.count() == 2 and Tenant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("bad", ["secret", "mhb_" + "a" * 49, "mh_"])
def test_what_is_no_key_is_refused_at_the_start(db: None, settings: Settings, bad: str) -> None:
    settings.MEMORYHUB_BOOTSTRAP_KEY = new_plaintext() if bad == "mh_" else bad
    assert not is_key(settings.MEMORYHUB_BOOTSTRAP_KEY)
    with pytest.raises(ImproperlyConfigured, match="no backend key"):
        bootstrap()
    for command, options in (("serve", {"port": 18_765}), ("migrate", {"verbosity": 0})):
        with pytest.raises(CommandError, match="no backend key"):
            call_command(command, **options)
    assert not Tenant.objects.exists()


def test_an_unknown_tenant_leads_to_the_list(db: None) -> None:
    with pytest.raises(CommandError, match=r"no tenant 'nosuch'; `manage\.py tenant list` lists them"):
        run("token", "create", "--tenant", "nosuch")


def test_a_key_may_have_every_scope(tenant: Tenant) -> None:
    every = run("token", "create", "--tenant", tenant.slug, "--scopes", *Right)
    assert holder(every).rights == set(Right)


def test_operators_are_made_and_given_a_new_password_on_record(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYHUB_OPERATOR_PASSWORD", "correct horse battery")
    assert run("operator", "create", "root") == "root"
    operator = User.objects.get(is_superuser=True, is_staff=True)
    Authenticator.objects.create(user=operator, type="totp", data={})
    monkeypatch.setenv("MEMORYHUB_OPERATOR_PASSWORD", "another long sentence")
    run("operator", "password", "root", "--remove-second-factor")
    assert User.objects.get().check_password("another long sentence") and not Authenticator.objects.exists()
    assert run("operator", "list") == "root\tactive"
    actions = [event.action for event in AuditEvent.objects.order_by("sequence")]
    assert actions[2:] == ["user.password_changed", "user.second_factor_removed"]


@pytest.mark.parametrize("weak", ["", "password", "12345678901234"])
def test_an_operator_has_no_weak_password(db: None, monkeypatch: pytest.MonkeyPatch, weak: str) -> None:
    monkeypatch.setenv("MEMORYHUB_OPERATOR_PASSWORD", weak)
    with pytest.raises(CommandError, match="password"):
        run("operator", "create", "root")
    assert not User.objects.exists() and not AuditEvent.objects.exists()


@pytest.mark.parametrize(("command", "instead"), [("createsuperuser", "create"), ("changepassword", "password")])
def test_commands_that_leave_no_event_name_another(db: None, command: str, instead: str) -> None:
    with pytest.raises(CommandError, match=f"operator {instead}"):
        run(command)
