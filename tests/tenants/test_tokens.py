"""API tokens: what they let in, and when not."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memories.services.policies import set_policy
from tenants.errors import Forbidden, InvalidValue
from tenants.models import ApiToken, AuditEvent, AuditPayload, Membership, User
from tenants.principal import SYSTEM, ActorKind, Right
from tenants.provider_models import IdentityProvider, ProvidedIdentity
from tenants.services import (
    authenticate_key,
    authenticate_token,
    deactivate,
    issue_key,
    issue_token,
    revoke_token,
    rotate_token,
)
from tenants.tokens import TOKEN_PATTERN, is_key, is_token, renew_token
from tests.factories import make_membership


def end_user(membership: Membership) -> Membership:
    """Another member of the same tenant, whom the tenant's own system names and who cannot sign in."""
    other = make_membership(membership.tenant, name="Device 7")
    other.user.set_unusable_password()
    other.user.save()
    other.external_id = "device-7"
    other.save()
    return other


def test_a_token_acts_for_its_member_with_its_scopes(membership: Membership) -> None:
    token, plaintext = issue_token(membership, name="agent", scopes=[Right.READ])
    principal = authenticate_token(plaintext, request_id="request-1")
    assert principal is not None
    assert (principal.tenant_id, principal.user_id) == (membership.tenant_id, membership.user_id)
    assert (principal.actor_kind, principal.actor_id) == (ActorKind.TOKEN, token.id)
    assert principal.rights == {Right.READ}
    assert (principal.request_id, principal.speaker) == ("request-1", "Ada")


def test_only_the_digest_is_stored(membership: Membership) -> None:
    _, plaintext = issue_token(membership, name="agent")
    row = ApiToken.objects.values().get()
    assert row["digest"] == hashlib.sha256(plaintext.encode()).hexdigest()
    assert plaintext.startswith(row["prefix"]) and len(row["prefix"]) == 9
    assert all(plaintext[9:] not in str(value) for value in row.values())


def test_no_event_holds_a_token_or_its_digest(membership: Membership) -> None:
    token, plaintext = issue_token(membership, name="agent")
    revoke_token(token)
    assert list(AuditEvent.objects.values_list("action", flat=True)) == ["token.issued", "token.revoked"]
    texts = " ".join(AuditPayload.objects.values_list("document", flat=True))
    assert plaintext not in texts and token.digest not in texts


@pytest.mark.parametrize(
    "plaintext", ["", "mh_", "mh_unknown", "Bearer x", "mh_" + "x" * 1_000_000, "mh_\ud800", "mh_\0", "mh_ü"]
)
def test_what_is_no_token_is_nobody(db: None, plaintext: str) -> None:
    assert authenticate_token(plaintext) is None


def test_a_revoked_token_is_refused_and_revoking_twice_recorded_once(membership: Membership) -> None:
    token, plaintext = issue_token(membership, name="agent")
    revoke_token(token)
    assert authenticate_token(plaintext) is None
    revoked_at = ApiToken.objects.get().revoked_at
    revoke_token(token)
    assert ApiToken.objects.get().revoked_at == revoked_at
    assert AuditEvent.objects.filter(action="token.revoked").count() == 1


def test_a_token_carries_a_checksum_that_no_other_text_has(membership: Membership) -> None:
    plaintext = issue_token(membership, name="agent")[1]
    assert TOKEN_PATTERN.fullmatch(plaintext) and is_token(plaintext)
    assert TOKEN_PATTERN.findall(f"use {plaintext}, not mh_short") == [plaintext]
    others = [plaintext[:20] + ("a" if plaintext[20] != "a" else "b") + plaintext[21:], plaintext[:-1], f"{plaintext}0"]
    assert not any(map(is_token, others))


def test_a_key_and_a_token_are_told_apart_by_their_marks(membership: Membership) -> None:
    token, key = issue_token(membership, name="agent")[1], issue_key(membership.tenant, name="backend")[1]
    assert [is_token(key), is_key(key), is_key(token)] == [True, True, False]
    assert TOKEN_PATTERN.findall(f"{token} and {key}") == [token, key]
    assert (authenticate_token(key), authenticate_key(token)) == (None, None)
    assert not any(map(is_token, (key.replace("mhb_", "mhc_"), "mh_" + key[4:-1])))


def test_only_administrators_issue_backend_keys(membership: Membership, staff: Membership, foreign: Membership) -> None:
    issue_key(staff.tenant, name="backend", issued_by=staff.user)
    for member in (membership, foreign):
        with pytest.raises(Forbidden):
            issue_key(staff.tenant, name="spy", issued_by=member.user)


def test_a_key_expires_only_if_its_tenant_wants_it(membership: Membership) -> None:
    assert issue_key(membership.tenant, name="backend")[0].expires_at is None
    set_policy(SYSTEM, tenant_id=membership.tenant_id, max_token_days=30)
    expires_at = issue_key(membership.tenant, name="backend")[0].expires_at
    assert expires_at is not None and expires_at < timezone.now() + timedelta(days=31)


def test_a_rotation_has_a_grace_of_a_week_at_most_and_needs_a_token_that_works(membership: Membership) -> None:
    token, _ = issue_token(membership, name="agent")
    with pytest.raises(InvalidValue, match="at most 7 days"):
        rotate_token(token, grace=timedelta(days=8))
    revoke_token(token)
    with pytest.raises(InvalidValue, match="revoked"):
        rotate_token(token)


@pytest.mark.parametrize("left", [timedelta(minutes=1), timedelta(minutes=-1)])
def test_a_renewal_prolongs_no_old_secret(membership: Membership, left: timedelta) -> None:
    token, old = issue_token(membership, name="agent")
    ends = timezone.now() + left
    ApiToken.objects.update(expires_at=ends)
    new = renew_token(token, expires_at=timezone.now() + timedelta(hours=1), grace=timedelta(hours=1))
    assert authenticate_token(new) and bool(authenticate_token(old)) == (left > timedelta())
    until = ApiToken.objects.get().previous_until
    assert until is not None and abs(until - ends) < timedelta(seconds=1)


@pytest.mark.parametrize(("most", "days"), [(None, 90), (365, 90), (30, 30)])
def test_a_token_without_a_date_expires_after_90_days_or_what_its_tenant_allows(
    membership: Membership, most: int | None, days: int
) -> None:
    set_policy(SYSTEM, tenant_id=membership.tenant_id, max_token_days=most)
    token, _ = issue_token(membership, name="agent")
    assert token.expires_at is not None
    assert abs(token.expires_at - timezone.now() - timedelta(days=days)) < timedelta(minutes=1)


@pytest.mark.parametrize(("most", "days"), [(30, 31), (None, 3651)])
def test_a_token_that_lasts_longer_than_is_allowed_is_not_issued(
    membership: Membership, most: int | None, days: int
) -> None:
    set_policy(SYSTEM, tenant_id=membership.tenant_id, max_token_days=most)
    with pytest.raises(InvalidValue, match=r"at most [\d,]+ days"):
        issue_token(membership, name="agent", expires_at=timezone.now() + timedelta(days=days))


@pytest.mark.parametrize("column", ["created_at", "last_used_at"])
def test_a_token_that_nobody_uses_for_90_days_is_refused(membership: Membership, column: str) -> None:
    token, plaintext = issue_token(membership, name="agent", expires_at=timezone.now() + timedelta(days=365))
    long_ago = timezone.now() - timedelta(days=90, minutes=1)
    ApiToken.objects.filter(id=token.id).update(**{"created_at": long_ago, column: long_ago})
    assert authenticate_token(plaintext) is None
    assert ApiToken.objects.get().state_at(timezone.now()) == "expired: unused for 90 days"


def test_an_expired_token_is_refused(membership: Membership) -> None:
    token, plaintext = issue_token(membership, name="agent", expires_at=timezone.now() + timedelta(hours=1))
    assert authenticate_token(plaintext) is not None
    ApiToken.objects.filter(id=token.id).update(expires_at=timezone.now())
    assert authenticate_token(plaintext) is None


def test_a_token_of_whoever_was_deactivated_is_refused_at_once(db: None) -> None:
    members = [make_membership() for _ in range(3)]
    tokens = [issue_token(member, name="agent")[1] for member in members]
    deactivate(members[0])
    deactivate(members[1].tenant)
    deactivate(members[2].user)
    assert [authenticate_token(token) for token in tokens] == [None, None, None]


def test_last_used_is_written_at_most_once_a_minute(
    membership: Membership, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    token, plaintext = issue_token(membership, name="agent")
    with django_assert_num_queries(2):
        authenticate_token(plaintext)
    with django_assert_num_queries(1):
        authenticate_token(plaintext)
    long_ago = timezone.now() - timedelta(minutes=2)
    ApiToken.objects.filter(id=token.id).update(last_used_at=long_ago)
    authenticate_token(plaintext)
    last_used_at = ApiToken.objects.get().last_used_at
    assert last_used_at is not None and last_used_at > long_ago


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        pytest.param({"scopes": []}, "scopes", id="no scope"),
        pytest.param({"scopes": ["memory:everything"]}, "scopes", id="unknown scope"),
        pytest.param({"name": ""}, "name", id="no name"),
        pytest.param({"name": "a\0b"}, "name", id="NUL"),
        pytest.param({"expires_at": timezone.now() - timedelta(seconds=1)}, "expires_at", id="in the past"),
    ],
)
def test_a_bad_token_is_refused_by_field(membership: Membership, arguments: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        issue_token(membership, **{"name": "agent"} | arguments)  # type: ignore[arg-type]  # wrong on purpose
    assert refusal.value.field == field
    assert not ApiToken.objects.exists()


def test_an_inactive_member_gets_no_token(membership: Membership) -> None:
    deactivate(membership)
    with pytest.raises(InvalidValue):
        issue_token(membership, name="agent")


def test_a_member_may_issue_tokens_for_themselves_only(membership: Membership) -> None:
    issue_token(membership, name="mine", issued_by=membership.user)
    with pytest.raises(Forbidden):
        issue_token(make_membership(membership.tenant), name="theirs", issued_by=membership.user)


def test_nobody_issues_tokens_for_who_signs_in_at_a_provider(staff: Membership, membership: Membership) -> None:
    member = end_user(membership)
    provider = IdentityProvider.objects.create(tenant=member.tenant, issuer="https://login.example", client_id="us")
    ProvidedIdentity.objects.create(provider=provider, membership=member, subject="7")
    with pytest.raises(Forbidden):
        issue_token(member, name="spy", issued_by=staff.user)


def test_an_admin_may_issue_tokens_for_end_users_without_a_login(staff: Membership, membership: Membership) -> None:
    issue_token(end_user(membership), name="device", issued_by=staff.user)
    with pytest.raises(Forbidden):
        issue_token(membership, name="spy", issued_by=staff.user)


def test_issuing_for_end_users_isolates_other_tenants(staff: Membership, foreign: Membership) -> None:
    with pytest.raises(Forbidden):
        issue_token(end_user(staff), name="spy", issued_by=foreign.user)


def test_a_scope_that_is_no_right_gives_none(membership: Membership, superuser: User) -> None:
    assert ApiToken(membership=membership, scopes=["root", "chat"]).rights == {Right.CHAT}
