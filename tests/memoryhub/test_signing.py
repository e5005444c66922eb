"""What is signed here verifies with the public half, and nothing else does."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from pytest_django import Settings

from memoryhub.signing.keys import new_key, public_keys, read_public_key, sign, verify

DOCUMENT = b"The bread is proved for fourteen hours."


def test_what_was_signed_verifies_and_every_change_of_it_does_not(settings: Settings) -> None:
    settings.MEMORYHUB_SIGNING_KEYS = (new_key(),)
    signature = sign(DOCUMENT)
    assert verify(DOCUMENT, signature) and verify(DOCUMENT, f"{signature}\n")
    for place in range(len(DOCUMENT)):
        changed = bytearray(DOCUMENT)
        changed[place] ^= 1
        assert not verify(bytes(changed), signature)


def test_a_replaced_key_verifies_for_as_long_as_it_is_listed(settings: Settings) -> None:
    old, new = new_key(), new_key()
    settings.MEMORYHUB_SIGNING_KEYS = (old,)
    signature = sign(DOCUMENT)
    settings.MEMORYHUB_SIGNING_KEYS = (new, old)
    assert verify(DOCUMENT, signature)
    assert sign(DOCUMENT).split(":")[1] == public_keys()[0].id != signature.split(":")[1]
    settings.MEMORYHUB_SIGNING_KEYS = (new,)
    assert not verify(DOCUMENT, signature)


def test_whoever_has_the_public_key_verifies_without_the_private_one(settings: Settings) -> None:
    settings.MEMORYHUB_SIGNING_KEYS = (new_key(),)
    signature, public = sign(DOCUMENT), public_keys()[0].encoded
    settings.MEMORYHUB_SIGNING_KEYS = (new_key(),)
    assert verify(DOCUMENT, signature, keys=[public])
    assert not verify(DOCUMENT, signature)
    assert not verify(DOCUMENT, signature, keys=[public_keys()[0].encoded])


@pytest.mark.parametrize("encoded", ["", "bread", "AAAA", "ü" * 44])
def test_what_is_no_public_key_is_refused_in_words(encoded: str) -> None:
    with pytest.raises(ValueError, match="signing_keys public"):
        read_public_key(encoded)


def test_production_says_what_to_set(settings: Settings) -> None:
    settings.PRODUCTION, settings.MEMORYHUB_SIGNING_KEYS = True, ()
    with pytest.raises(ImproperlyConfigured, match=r"MEMORYHUB_SIGNING_KEYS.*signing_keys new"):
        sign(DOCUMENT)
    with pytest.raises(CommandError, match="MEMORYHUB_SIGNING_KEYS"):
        call_command("signing_keys", "public")


def test_the_command_prints_a_new_key_and_never_one_that_is_in_use(settings: Settings) -> None:
    made, shown, listed = StringIO(), StringIO(), StringIO()
    call_command("signing_keys", "new", stdout=made)
    private = made.getvalue().strip()
    settings.MEMORYHUB_SIGNING_KEYS = (private,)
    call_command("signing_keys", "public", stdout=shown)
    call_command("signing_keys", "public", "--json", stdout=listed)
    key = public_keys()[0]
    assert shown.getvalue() == f"{key.encoded}  {key.id}\n"
    assert json.loads(listed.getvalue()) == [{"id": key.id, "encoded": key.encoded}]
    assert private not in shown.getvalue() + listed.getvalue()
