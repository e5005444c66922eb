"""The theme is remembered by a cookie and rendered by the server."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db


def test_a_chosen_theme_is_on_the_next_page(client: Client) -> None:
    response = client.post(reverse("chat:theme"), {"theme": "dark", "next": "/login/"}, follow=True)
    assert '<html lang="en" data-theme="dark">' in response.content.decode()


@pytest.mark.parametrize("theme", ["", 'purple" onload="x'])
def test_anything_else_means_what_the_system_prefers(client: Client, theme: str) -> None:
    client.post(reverse("chat:theme"), {"theme": "dark"})
    response = client.post(reverse("chat:theme"), {"theme": theme, "next": "/login/"}, follow=True)
    assert "data-theme" not in response.content.decode().split(">")[1]


def test_a_forged_cookie_is_not_rendered(client: Client) -> None:
    client.cookies["theme"] = 'x"><script>'
    assert "<script>" not in client.get("/login/").content.decode()
