"""An address that takes no GET says so on a page of the site; to whoever reads no HTML, as before."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tenants.models import Membership

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client, membership: Membership) -> Client:
    client.force_login(membership.user)
    return client


def test_a_browser_gets_a_page(signed_in: Client) -> None:
    answer = signed_in.get(reverse("remember:export"), headers={"Accept": "text/html,*/*;q=0.8"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "cannot be opened by its address" in answer.content.decode()


def test_a_script_gets_the_bare_status(signed_in: Client) -> None:
    answer = signed_in.get(reverse("remember:export"), headers={"Accept": "*/*"})
    assert (answer.status_code, answer.headers["Allow"], answer.content) == (405, "POST", b"")
