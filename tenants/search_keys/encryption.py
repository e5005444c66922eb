"""The secrets of the members' keys at rest: encrypted with rotatable keys, each bound to the member it was made for."""

from __future__ import annotations

import json
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memoryhub.development_key import development_credential_key


class Undecipherable(Exception):
    """A secret that none of the configured keys opens, or that was made for somebody else."""


def box() -> MultiFernet:
    """What encrypts with the first key and decrypts with all. Raises ImproperlyConfigured, OSError in development."""
    keys: tuple[str, ...] = settings.MEMORYHUB_CREDENTIAL_KEYS
    if not keys and settings.PRODUCTION:
        raise ImproperlyConfigured("Set MEMORYHUB_CREDENTIAL_KEYS.")
    return MultiFernet([Fernet(key) for key in keys or (development_credential_key(settings.MEMORYHUB_DATA_DIR),)])


def seal(membership_id: UUID, encoded: str, *, using: MultiFernet) -> str:
    """An encoded key of this member, encrypted."""
    return using.encrypt(json.dumps([str(membership_id), encoded]).encode()).decode()


def unseal(membership_id: UUID, secret: str) -> str:
    """The encoded key behind a secret. Raises Undecipherable, also for a secret copied from another member."""
    try:
        owner, encoded = json.loads(box().decrypt(secret.encode()))
    except (InvalidToken, ValueError) as error:
        raise Undecipherable from error
    if owner != str(membership_id):
        raise Undecipherable
    return str(encoded)


def resealed(secret: str) -> str:
    """The same, encrypted with the first key. Raises Undecipherable."""
    try:
        return box().rotate(secret.encode()).decode()
    except InvalidToken as error:
        raise Undecipherable from error
