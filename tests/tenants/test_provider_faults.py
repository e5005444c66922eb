"""Faults of a provider in the language of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils import translation

from tenants.oidc import pages
from tenants.oidc import protocol as oidc
from tenants.oidc.faults import FAULTS, provider_fault_words
from tenants.saml import protocol as saml


def test_each_fault_of_a_provider_has_words() -> None:
    code = "".join(Path(str(module.__file__)).read_text() for module in (pages, oidc, saml))
    given = set(re.findall(r'ProviderError\("([^"]+)"\)', code))
    assert len(given) > 20 and given <= FAULTS


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("its assertion is over", "seine Assertion ist abgelaufen"),
        ("it does not answer (timeout)", "er antwortet nicht (timeout)"),
        ("something else", "something else"),
    ],
)
def test_a_fault_of_a_provider_is_told_in_the_language_of_the_page(fault: str, words: str) -> None:
    with translation.override("de"):
        assert provider_fault_words(fault) == words
