"""Pages of errors: those with source and settings show no credential, and staff stay in the frame of the admin."""

from __future__ import annotations

import secrets
import sys
from uuid import uuid4

import pytest
from django.test import Client, RequestFactory
from django.views.debug import ExceptionReporter
from pytest_django import Settings

from tenants.models import Membership, User

SECRET = secrets.token_hex(8)
HARMLESS = secrets.token_hex(8)


def page() -> str:
    """The page for an error in a function that holds a secret."""
    try:
        _failing(SECRET, HARMLESS)
    except RuntimeError:
        return str(ExceptionReporter(RequestFactory().get("/"), *sys.exc_info()).get_traceback_html())
    raise AssertionError


def _failing(encoded: str, harmless: str) -> None:
    raise RuntimeError("of no meaning")


def test_settings_and_variables_with_credentials_are_hidden(settings: Settings) -> None:
    settings.ELASTICSEARCH_CREDENTIALS = {"indexer": f"someone:{SECRET}"}
    settings.MEMORYHUB_BROKER_URL = f"redis://:{SECRET}@broker/0"
    settings.MEMORYHUB_CREDENTIAL_KEYS = (SECRET,)
    settings.MEMORYHUB_MODEL = HARMLESS
    shown = page()
    assert SECRET not in shown
    assert HARMLESS in shown


@pytest.mark.django_db
def test_staff_stay_in_the_admin_when_nothing_is_there(client: Client, membership: Membership) -> None:
    client.force_login(membership.user)
    User.objects.filter(pk=membership.user_id).update(is_staff=True)
    answer = client.get(f"/admin/memories/membermemory/{uuid4()}/change/")
    assert answer.status_code == 404
    assert "Back to what needs attention" in answer.content.decode()
    assert "Back to what needs attention" not in client.get("/nothing/").content.decode()
