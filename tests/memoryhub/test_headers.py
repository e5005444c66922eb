"""What a security review looks for on every page."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from tests.memoryhub.test_start import GOOD, run

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


def test_addresses_that_redirect_to_an_object_by_its_type_are_gone(admin_client: Client) -> None:
    assert admin_client.get("/admin/r/1/x/").status_code == 404


@pytest.mark.long
@pytest.mark.parametrize(
    ("chosen", "header"),
    [
        ("", "max-age=31536000"),
        ("subdomains", "max-age=31536000; includeSubDomains"),
        ("preload", "max-age=31536000; includeSubDomains; preload"),
        ("off", None),
    ],
)
def test_production_insists_on_https_for_the_hosts_that_it_names(
    tmp_path: Path, chosen: str, header: str | None
) -> None:
    program = """
import django
django.setup()
from django.test import Client
print(Client().get("/livez", secure=True, headers={"host": "memory.example"}).headers.get("Strict-Transport-Security"))
"""
    environ = {**GOOD, "MEMORYHUB_HSTS": chosen, "MEMORYHUB_DATA_DIR": str(tmp_path)}
    done = run("-c", program, environ={**environ, "DJANGO_SETTINGS_MODULE": "memoryhub.settings"})
    assert done.stdout.strip().splitlines()[-1:] == [str(header)], done.stderr
