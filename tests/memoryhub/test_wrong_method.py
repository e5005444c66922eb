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


def test_a_browser_gets_a_page_and_a_script_the_bare_status(signed_in: Client) -> None:
    address = reverse("remember:export")
    page, bare = (signed_in.get(address, headers={"Accept": each}) for each in ("text/html,*/*;q=0.8", "*/*"))
    assert {(answer.status_code, answer.headers["Allow"]) for answer in (page, bare)} == {(405, "POST")}
    assert "cannot be opened by its address" in page.content.decode() and bare.content == b""
