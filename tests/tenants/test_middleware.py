"""Who a request is from."""

from __future__ import annotations

from typing import cast
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from memoryhub.session_store import SessionStore
from tenants.middleware import TENANT_SESSION_KEY
from tenants.models import Membership
from tenants.services import deactivate
from tests.factories import make_tenant

PATH = "/tests/whoami"


@pytest.fixture(autouse=True)
def _whoami(settings: Settings) -> None:
    settings.ROOT_URLCONF = "tests.tenants.whoami"


def whoami(client: Client, method: str = "GET") -> str:
    """The user id of the principal of a request, and its tenant, or "nobody"."""
    return client.generic(method, PATH).content.decode()


def described(membership: Membership) -> str:
    return f"{membership.user_id} in {membership.tenant_id}"


@pytest.fixture
def signed_in(client: Client, membership: Membership) -> Client:
    client.force_login(membership.user)
    return client


def test_a_signed_in_member_is_a_principal(signed_in: Client, membership: Membership) -> None:
    assert whoami(signed_in) == described(membership)


def test_whoever_is_not_signed_in_is_nobody_and_costs_no_query(
    client: Client, db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        assert whoami(client) == "nobody"


def test_a_request_costs_three_queries(signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    whoami(signed_in)
    with django_assert_num_queries(3):  # the session, the user, the membership with its tenant
        whoami(signed_in)


def test_the_first_tenant_by_name_is_remembered(signed_in: Client, membership: Membership) -> None:
    whoami(signed_in)
    assert signed_in.session[TENANT_SESSION_KEY] == str(membership.tenant_id)
    earlier = Membership.objects.create(tenant=make_tenant("A first name"), user=membership.user)
    assert whoami(signed_in) == described(membership)
    assert whoami_anew(membership) == described(earlier)


def whoami_anew(membership: Membership) -> str:
    client = Client()
    client.force_login(membership.user)
    return whoami(client)


def test_what_is_written_for_a_lost_tenant_lands_in_no_other(signed_in: Client, membership: Membership) -> None:
    whoami(signed_in)
    other = Membership.objects.create(tenant=make_tenant(), user=membership.user)
    deactivate(membership)
    assert whoami(signed_in, "POST") == "nobody"
    assert whoami(signed_in, "GET") == described(other)
    assert whoami(signed_in, "POST") == described(other)


def test_a_session_cannot_name_a_tenant_of_others(signed_in: Client, membership: Membership) -> None:
    session = cast("SessionStore", signed_in.session)
    session[TENANT_SESSION_KEY] = str(make_tenant().id)
    session.save()
    assert whoami(signed_in, "POST") == "nobody"
    assert whoami(signed_in, "GET") == described(membership)


def test_a_request_has_an_id_that_is_sent_back(client: Client, db: None) -> None:
    first, second = (client.get(PATH).headers["X-Request-ID"] for _ in range(2))
    assert UUID(first) != UUID(second)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("0123-abcd_efgh.ijkl", True, id="sensible"),
        pytest.param("short", False, id="short"),
        pytest.param("x" * 65, False, id="long"),
        pytest.param("spaced out id", False, id="spaces"),
        pytest.param("12345678\n", False, id="newline"),
        pytest.param("4539148803436467", False, id="a card"),
        pytest.param("gh" + "p_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx", False, id="a token"),
    ],
)
def test_a_callers_id_is_kept_if_it_is_sensible(client: Client, db: None, given: str, kept: bool) -> None:
    answered = client.get(PATH, headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert (answered == given) is kept


def test_the_principal_carries_the_request_id(signed_in: Client) -> None:
    response = signed_in.get(PATH, headers={"X-Request-ID": "request-0001"})
    assert response.headers["X-Principal-Request-ID"] == "request-0001"
