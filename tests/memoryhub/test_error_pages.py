"""Pages with source and settings show no credential."""

from __future__ import annotations

import secrets
import sys

from django.test import RequestFactory
from django.views.debug import ExceptionReporter
from pytest_django import Settings

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


def test_settings_with_credentials_are_hidden(settings: Settings) -> None:
    settings.ELASTICSEARCH_CREDENTIALS = {"indexer": f"someone:{SECRET}"}
    settings.MEMORYHUB_BROKER_URL = f"redis://:{SECRET}@broker/0"
    settings.MEMORYHUB_CREDENTIAL_KEYS = (SECRET,)
    settings.MEMORYHUB_MODEL = HARMLESS
    shown = page()
    assert SECRET not in shown
    assert HARMLESS in shown


def test_variables_with_credentials_are_hidden() -> None:
    shown = page()
    assert SECRET not in shown
    assert HARMLESS in shown
