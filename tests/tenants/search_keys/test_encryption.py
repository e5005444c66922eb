"""Secrets at rest: keys that rotate, and ciphertexts that fit one member."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from tenants.errors import NoSearchKey
from tenants.models import SearchCredential
from tenants.principal import Principal
from tenants.search_keys.claims import box
from tests.tenants.search_keys.probing import credential, key_of


def test_a_secret_of_another_member_does_not_open(principal: Principal, other_member: Principal) -> None:
    secret = credential(other_member).secret
    SearchCredential.objects.filter(membership_id=principal.membership_id).update(secret=secret)
    with pytest.raises(NoSearchKey) as refusal:
        key_of(principal)
    assert refusal.value.state == "undecipherable"


def test_production_has_no_key_of_its_own_making(settings: Settings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_CREDENTIAL_KEYS"):
        box()
