"""The page "Connect an agent": a token of one's own, made and revoked, and nobody else's."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from memories.services.policies import set_policy
from tenants.models import ApiToken, AuditEvent, Membership
from tenants.principal import SYSTEM, Principal, Right
from tenants.services import issue_token

pytestmark = pytest.mark.django_db

HOME, MAKE = "/connect/", "/connect/tokens/"
FORM = {"name": "My laptop", "scopes": ["memory:read"]}


@pytest.fixture(params=["other_tenant_member", "other_member"])
def theirs(request: pytest.FixtureRequest) -> ApiToken:
    """A token of somebody else, of another tenant or of Ada's."""
    other: Principal = request.getfixturevalue(request.param)
    return issue_token(Membership.objects.get(pk=other.membership_id), name="Secret laptop")[0]


def revoking(token_id: uuid.UUID) -> str:
    return reverse("connect:revoke", args=[token_id])


def test_a_token_of_one_s_own_is_made_in_person(ada: Client, membership: Membership) -> None:
    made = ada.post(MAKE, FORM)
    token = ApiToken.objects.get()
    assert (token.membership, token.name, token.scopes) == (membership, "My laptop", ["memory:read"])
    event = AuditEvent.objects.get(action="token.issued")
    assert (event.actor_kind, event.actor_id) == ("member", membership.user_id)
    assert token.prefix in ada.get(made["Location"]).content.decode()


def test_what_a_token_may_do_is_told_in_the_language_of_the_page(ada: Client) -> None:
    ada.post(MAKE, FORM)
    assert "… · lesen" in ada.get(HOME, headers={"accept-language": "de"}).content.decode()


def test_another_session_never_sees_a_new_token(ada: Client, membership: Membership) -> None:
    made, elsewhere = ada.post(MAKE, FORM), Client()
    elsewhere.force_login(membership.user)
    assert "new-token" not in elsewhere.get(made["Location"]).content.decode()
    assert "new-token" in ada.get(made["Location"]).content.decode()
    assert "new-token" not in ada.get(made["Location"]).content.decode()


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"name": "My laptop"}, "Choose at least one scope."),
        ({"name": "My laptop", "scopes": ["memory:decide", "members", "tokens"]}, "Choose at least one scope."),
        ({"name": " ", "scopes": ["memory:read"]}, "Name: "),
        ({"name": "x" * 101, "scopes": ["memory:read"]}, "Name: "),
    ],
)
def test_a_bad_form_makes_nothing(ada: Client, form: dict[str, object], problem: str) -> None:
    answer = ada.post(MAKE, form)
    assert answer.status_code == 400 and problem in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_the_tenant_s_policy_holds(ada: Client, membership: Membership) -> None:
    set_policy(SYSTEM, tenant_id=membership.tenant_id, max_token_days=7)
    ada.post(MAKE, FORM)
    token = ApiToken.objects.get()
    assert token.expires_at is not None and (token.expires_at - token.created_at).days <= 7


def test_another_s_token_is_neither_shown_nor_revoked(ada: Client, theirs: ApiToken) -> None:
    assert "Secret laptop" not in ada.get(HOME, {"new": str(theirs.pk)}).content.decode()
    foreign, unknown = ada.post(revoking(theirs.pk)), ada.post(revoking(uuid.uuid4()))
    assert foreign.status_code == unknown.status_code == 404
    theirs.refresh_from_db()
    assert theirs.revoked_at is None


def test_a_token_with_other_scopes_is_shown_and_one_that_ended_is_not(ada: Client, membership: Membership) -> None:
    issue_token(membership, name="Decider", scopes=[Right.READ, Right.DECIDE])
    page = ada.get(HOME).content.decode()
    assert "Decider" in page and "decide, read" in page
    ada.post(revoking(ApiToken.objects.get().pk))
    assert "No agent has access" in ada.get(HOME).content.decode()
