"""After signing in, everybody is where they have something to do."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tenants.models import Membership, User
from tests.factories import PASSWORD

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
