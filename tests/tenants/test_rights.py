"""Rows that grant rights and were changed past the application are named by the verification of their chain."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from tenants.audit.verification import prove, verify_all
from tenants.models import ApiToken, AuditEvent, Membership, Tenant, User
from tenants.principal import Right, Role
from tenants.services import (
    activate,
    add_member,
    change_role,
    create_tenant,
    create_user,
    deactivate,
    issue_key,
    issue_token,
    revoke_token,
    rotate_token,
    update_user,
)
from tenants.tokens import renew_token
from tests.tenants.audit_events import execute

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Membership:
    """A member of a recorded tenant, with two tokens, one of them revoked."""
    tenant = create_tenant(name="Bakery", slug="bakery")
    membership = add_member(tenant=tenant, user=create_user(username="ada"), external_id="A-1")
    issue_token(membership, name="agent", scopes=[Right.READ])
    revoke_token(issue_token(membership, name="old")[0])
    return membership


@pytest.fixture
def eve() -> Membership:
    """An administrator of another recorded tenant."""
    tenant = create_tenant(name="Mill", slug="mill")
    return add_member(tenant=tenant, user=create_user(username="eve"), role=Role.ADMIN)


def broken() -> dict[str, str]:
    return {report.chain: report.reason for report in verify_all() if not report.ok}


def chain_of(membership: Membership) -> str:
    return f"tenant:{membership.tenant_id}"


def test_what_the_application_does_is_no_finding(ada: Membership, eve: Membership) -> None:
    change_role(ada, role=Role.AUDITOR)
    change_role(ada, role=Role.MEMBER)
    deactivate(ada)
    activate(ada)
    deactivate(eve.user)
    activate(eve.user)
    deactivate(eve.tenant)
    eve.user.username = "eva"
    update_user(eve.user)
    revoke_token(ApiToken.objects.get(name="agent"))
    ApiToken.objects.update(last_used_at=timezone.now(), name="renamed")
    assert broken() == {}


def test_keys_and_rotations_are_no_finding_and_another_secret_is(ada: Membership) -> None:
    key, _ = issue_key(ada.tenant, name="backend", networks=["10.0.0.0/8"])
    rotate_token(key)
    rotate_token(key)
    rotate_token(ApiToken.objects.get(name="agent"))
    later = timezone.now() + timedelta(hours=1)
    renew_token(ApiToken.objects.get(name="agent"), expires_at=later, grace=timedelta(minutes=1))
    assert broken() == {}
    for column, value in (("previous_digest", "0" * 64), ("networks", [])):
        was = getattr(ApiToken.objects.get(pk=key.pk), column)
        ApiToken.objects.filter(pk=key.pk).update(**{column: value})
        assert "was changed outside the application" in broken()[chain_of(ada)]
        ApiToken.objects.filter(pk=key.pk).update(**{column: was})
    assert broken() == {}


@pytest.mark.parametrize(
    ("name", "columns", "found"),
    [
        pytest.param("agent", {"scopes": ["memory:decide"]}, "scopes", id="scopes"),
        pytest.param("agent", {"expires_at": None}, "expires_at", id="expiry"),
        pytest.param("agent", {"expires_at": timezone.now() + timedelta(days=4000)}, "expires_at", id="later"),
        pytest.param("agent", {"digest": "0" * 64}, "secret", id="secret"),
        pytest.param("agent", {"networks": ["10.0.0.0/8"]}, "networks", id="networks"),
        pytest.param("agent", {"previous_digest": "0" * 64}, "old_secret", id="old secret"),
        pytest.param("agent", {"previous_until": timezone.now()}, "old_secret_until", id="grace"),
        pytest.param("agent", {"membership_id": None}, "membership", id="backend key"),
        pytest.param("agent", {"revoked_at": timezone.now()}, "revoked", id="revoked"),
        pytest.param("old", {"revoked_at": None}, "revoked", id="back"),
    ],
)
def test_a_token_that_was_changed_by_sql_is_named(
    ada: Membership, eve: Membership, name: str, columns: dict[str, Any], found: str
) -> None:
    token = ApiToken.objects.get(name=name)
    ApiToken.objects.filter(pk=token.pk).update(**columns)
    assert broken() == {chain_of(ada): f"api_token {token.pk} was changed outside the application ({found})"}
    check = prove(chain_of(ada))
    action = "token.issued" if name == "agent" else "token.revoked"
    assert check.event_id == AuditEvent.objects.get(target_id=token.pk, action=action).pk
    assert prove(chain_of(eve)).ok, "the other tenant is not accused"


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"role": "admin"}, "role"),
        ({"role": "auditor"}, "role"),
        ({"is_active": False}, "is_active"),
        ({"external_id": ""}, "external_id"),
    ],
)
def test_a_membership_that_was_changed_by_sql_is_named(ada: Membership, columns: dict[str, Any], found: str) -> None:
    Membership.objects.filter(pk=ada.pk).update(**columns)
    with pytest.raises(CommandError):
        call_command("verify_audit", stdout=(out := StringIO()))
    assert f"membership {ada.pk} was changed outside the application ({found})." in out.getvalue()


def test_a_role_that_the_application_sets_again_ends_the_finding(ada: Membership) -> None:
    Membership.objects.filter(pk=ada.pk).update(role="admin")
    change_role(ada, role=Role.MEMBER)
    assert broken() == {}


def test_rows_that_were_moved_planted_or_removed_are_named(ada: Membership, eve: Membership) -> None:
    ApiToken.objects.filter(name="old").update(membership=eve, tenant=eve.tenant)
    planted = ApiToken.objects.create(
        tenant=eve.tenant, membership=eve, name="x", prefix="mh_", digest="0" * 64, scopes=["memory:read"]
    )
    extra = Membership.objects.create(tenant=eve.tenant, user=ada.user, role="admin")
    found = broken()
    assert found.keys() == {chain_of(ada), chain_of(eve)}
    for row in (
        f"api_token {planted.pk}",
        f"membership {extra.pk}",
        f"api_token {ApiToken.objects.get(name='old').pk}",
    ):
        assert f"{row} was written without an audit event" in found[chain_of(eve)]
    assert "is not there although the audit tells of no erasure" in found[chain_of(ada)]


def test_a_member_planted_in_a_tenant_without_members_is_named() -> None:
    tenant = create_tenant(name="Bakery", slug="bakery")
    Membership.objects.create(tenant=tenant, user=create_user(username="ada"), role="admin")
    assert "without an audit event" in broken()[f"tenant:{tenant.pk}"]


@pytest.mark.parametrize("flag", ["is_superuser", "is_staff", "is_active"])
def test_flags_of_users_and_tenants_are_compared(ada: Membership, flag: str) -> None:
    User.objects.filter(pk=ada.user_id).update(**{flag: flag != "is_active"})
    Tenant.objects.filter(pk=ada.tenant_id).update(is_active=False)
    assert broken() == {
        "platform": f"user {ada.user_id} was changed outside the application ({flag}); "
        f"tenant {ada.tenant_id} was changed outside the application (is_active)"
    }


def test_platform_staff_whom_nobody_made_are_named_until_accepted(ada: Membership) -> None:
    planted = User.objects.create_user("mallory", is_superuser=True)
    assert broken() == {"platform": f"user {planted.pk} was written without an audit event"}
    call_command("verify_audit", "--accept-user", "mallory", stdout=(out := StringIO()))
    assert "is_superuser" in out.getvalue() and broken() == {}
    with pytest.raises(CommandError, match="no user 'nobody'"):
        call_command("verify_audit", "--accept-user", "nobody")


def test_the_command_that_makes_the_first_superuser_records_them(
    ada: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYHUB_OPERATOR_PASSWORD", "correct horse battery")
    call_command("operator", "create", "root", "--email", "root@example.org", stdout=StringIO())
    assert User.objects.get(username="root").is_superuser and broken() == {}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases take times alone")
@pytest.mark.parametrize("value", ["'soon'", "'9999-99-99 00:00'", "x'00ff'", "7"])
def test_a_value_that_the_column_cannot_have_hides_nothing(ada: Membership, value: str) -> None:
    token = ApiToken.objects.get(name="agent")
    execute(f"UPDATE tenants_apitoken SET expires_at = {value} WHERE name = 'agent'")  # noqa: S608 - our own
    Membership.objects.filter(pk=ada.pk).update(role="admin")
    found = broken()[chain_of(ada)]
    assert f"api_token {token.pk}" in found and f"membership {ada.pk}" in found
    assert found.count(";") == 1, "each is named once"
