"""Moving between one's own tenants, and to no other."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client
from pytest_django import Settings

from tenants.middleware import TENANT_SESSION_KEY
from tenants.models import Membership
from tenants.services import deactivate
from tests.factories import make_tenant

SWITCH = "/tenant/switch/"


@pytest.fixture(autouse=True)
def _plain_error_pages(settings: Settings) -> None:
    settings.TEMPLATES = [settings.TEMPLATES[0] | {"DIRS": []}]


@pytest.fixture
def second(membership: Membership) -> Membership:
    """Ada's membership of another tenant."""
    return Membership.objects.create(tenant=make_tenant(), user=membership.user)


@pytest.fixture
def ada(client: Client, membership: Membership) -> Client:
    """Ada's browser, in `tenant`."""
    client.force_login(membership.user)
    session = client.session
    session[TENANT_SESSION_KEY] = str(membership.tenant_id)
    session.save()
    return client


def test_a_member_moves_to_another_of_their_tenants(ada: Client, second: Membership) -> None:
    response = ada.post(SWITCH, {"tenant": str(second.tenant_id)})
    assert (response.status_code, response.headers["Location"]) == (302, "/")
    assert ada.session[TENANT_SESSION_KEY] == str(second.tenant_id)


def test_switching_isolates_other_tenants(ada: Client, membership: Membership) -> None:
    unknown = ada.post(SWITCH, {"tenant": str(uuid.uuid4())})
    foreign = ada.post(SWITCH, {"tenant": str(make_tenant().id)})
    malformed = ada.post(SWITCH, {"tenant": "x'; --"})
    missing = ada.post(SWITCH)
    assert {response.status_code for response in (unknown, foreign, malformed, missing)} == {404}
    assert unknown.content == foreign.content == malformed.content == missing.content
    assert ada.session[TENANT_SESSION_KEY] == str(membership.tenant_id)


def test_a_tenant_that_one_was_removed_from_is_unknown(ada: Client, second: Membership) -> None:
    deactivate(second)
    assert ada.post(SWITCH, {"tenant": str(second.tenant_id)}).status_code == 404


@pytest.mark.parametrize("onward", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_switching_goes_on_within_this_site_only(ada: Client, second: Membership, onward: str) -> None:
    response = ada.post(SWITCH, {"tenant": str(second.tenant_id), "next": onward})
    assert response.headers["Location"] == "/"
    response = ada.post(SWITCH, {"tenant": str(second.tenant_id), "next": "/remember/"})
    assert response.headers["Location"] == "/remember/"


def test_switching_is_a_post_with_a_csrf_token(membership: Membership, second: Membership) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(membership.user)
    assert browser.get(SWITCH).status_code == 405
    assert browser.post(SWITCH, {"tenant": str(second.tenant_id)}).status_code == 403


def test_whoever_is_not_signed_in_is_sent_to_the_login(client: Client, db: None) -> None:
    assert client.post(SWITCH, {"tenant": str(uuid.uuid4())}).headers["Location"].startswith("/login/")
