"""What a security review looks for on every page."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_a_page_carries_what_browsers_heed(client: Client) -> None:
    headers = client.get("/login/").headers
    assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"]) == ("DENY", "nosniff")
    assert headers["Referrer-Policy"] == headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_scripts_and_styles_come_from_here_and_never_inline(client: Client) -> None:
    policy = client.get("/login/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_no_page_may_be_kept_by_a_cache_or_use_a_device(client: Client) -> None:
    answer = client.get("/livez")
    assert "no-store" in answer.headers["Cache-Control"]
    assert "camera=()" in answer.headers["Permissions-Policy"]


def test_pages_need_a_login_unless_they_say_otherwise(client: Client) -> None:
    answer = client.get("/")
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/login/")
