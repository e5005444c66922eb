"""Ed25519 signatures of exports and receipts, which the public key verifies.

Keys are 32 random bytes in URL-safe base64 (`manage.py signing_keys new`). A signature is one line, `ed25519:<id of the
key>:<base64>`. The first key of MEMORYHUB_SIGNING_KEYS signs and all of them verify: keep a replaced key in the list as
long as its signatures must verify here. Configured private keys are never printed.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memoryhub.env.values import development_secret
from memoryhub.installation import PROGRAM

ALGORITHM = "ed25519"
KEY_BYTES = 32
_ID_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key. `encoded` is its base64 for others, `id` the start of its sha256."""

    id: str
    encoded: str


def new_key() -> str:
    """A new private key for MEMORYHUB_SIGNING_KEYS."""
    return base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def sign(document: bytes) -> str:
    """Sign these bytes with the first key. Raises ImproperlyConfigured in production without a key."""
    private = _private_keys(_configured())[0]
    return ":".join((ALGORITHM, _public(private).id, base64.urlsafe_b64encode(private.sign(document)).decode()))


def verify(document: bytes, signature: str, *, keys: Sequence[str] | None = None) -> bool:
    """True if one of `keys` (public, base64; by default this installation's own) signed exactly these bytes.

    A malformed signature is invalid. Raises ValueError for a malformed key.
    """
    known = public_keys() if keys is None else [read_public_key(key) for key in keys]
    algorithm, _, rest = signature.strip().partition(":")
    key_id, _, encoded = rest.partition(":")
    try:
        proof = base64.b64decode(encoded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    if algorithm != ALGORITHM or base64.urlsafe_b64encode(proof).decode() != encoded:
        return False
    return any(_signed(key, document, proof) for key in known if key.id == key_id)


def public_keys() -> tuple[PublicKey, ...]:
    """The public keys of the configured private keys, the signing one first.

    Raises ImproperlyConfigured without any.
    """
    return tuple(_public(private) for private in _private_keys(_configured()))


def can_sign() -> bool:
    """Whether there is a key that signs; in production one must be configured."""
    return bool(settings.MEMORYHUB_SIGNING_KEYS) or not settings.PRODUCTION


def read_public_key(encoded: str) -> PublicKey:
    """Parse a public key as `manage.py signing_keys public` prints it, with or without its id. Raises ValueError."""
    try:
        raw = base64.b64decode(next(iter(encoded.split()), ""), altchars=b"-_", validate=True)
        return _named(Ed25519PublicKey.from_public_bytes(raw))
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"This is no public key; give one as `{PROGRAM} signing_keys public` prints it.") from error


def _signed(key: PublicKey, document: bytes, proof: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key.encoded)).verify(proof, document)
    except InvalidSignature:
        return False
    return True


def _configured() -> tuple[str, ...]:
    keys: tuple[str, ...] = settings.MEMORYHUB_SIGNING_KEYS
    if not keys and settings.PRODUCTION:
        raise ImproperlyConfigured(
            f"Set MEMORYHUB_SIGNING_KEYS to what `{PROGRAM} signing_keys new` prints: exports and receipts are signed."
        )
    return keys or (development_secret(settings.MEMORYHUB_DATA_DIR, "signing_key"),)


@functools.lru_cache(maxsize=4)
def _private_keys(keys: tuple[str, ...]) -> tuple[Ed25519PrivateKey, ...]:
    return tuple(Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(key)) for key in keys)


def _public(private: Ed25519PrivateKey) -> PublicKey:
    return _named(private.public_key())


def _named(key: Ed25519PublicKey) -> PublicKey:
    raw = key.public_bytes_raw()
    return PublicKey(
        id=hashlib.sha256(raw).hexdigest()[:_ID_CHARACTERS], encoded=base64.urlsafe_b64encode(raw).decode()
    )
