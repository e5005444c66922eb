"""Secrets at rest: keys that rotate, and ciphertexts that fit one member."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from memoryhub.env.values import development_secret
from tenants.errors import NoSearchKey
from tenants.models import Membership, SearchCredential
from tenants.principal import Principal
from tenants.search_keys.claims import box, reencrypt
from tests.tenants.search_keys.probing import credential, key_of


def test_a_secret_of_another_member_does_not_open(principal: Principal, other_member: Principal) -> None:
    secret = credential(other_member).secret
    SearchCredential.objects.filter(membership_id=principal.membership_id).update(secret=secret)
    with pytest.raises(NoSearchKey) as refusal:
        key_of(principal)
    assert refusal.value.state == "undecipherable"


def test_all_keys_open_and_the_first_encrypts_anew(membership: Membership, settings: Settings) -> None:
    old, new = development_secret(settings.MEMORYHUB_DATA_DIR, "credential_key"), Fernet.generate_key().decode()
    encoded = key_of(membership)
    settings.MEMORYHUB_CREDENTIAL_KEYS = (new, old)
    assert key_of(membership) == encoded
    assert reencrypt(SearchCredential.objects.all()) == (1, [])
    settings.MEMORYHUB_CREDENTIAL_KEYS = (new,)
    assert key_of(membership) == encoded


def test_what_no_key_opens_is_named_and_left(membership: Membership, settings: Settings) -> None:
    before = credential(membership).secret
    settings.MEMORYHUB_CREDENTIAL_KEYS = (Fernet.generate_key().decode(),)
    assert reencrypt(SearchCredential.objects.all()) == (0, [membership.id])
    assert credential(membership).secret == before


def test_production_has_no_key_of_its_own_making(settings: Settings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_CREDENTIAL_KEYS"):
        box()
