"""The secrets of the members' keys at rest: encrypted with rotatable keys, each bound to the member it was made for."""

from __future__ import annotations

import functools
import json
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet

from memoryhub.env.development_key import development_credential_key
from tenants.models import SearchCredential


class Undecipherable(Exception):
    """A secret that none of the configured keys opens, or that was made for somebody else."""


def box() -> MultiFernet:
    """What encrypts with the first key and decrypts with all. Raises ImproperlyConfigured, OSError in development."""
    keys: tuple[str, ...] = settings.MEMORYHUB_CREDENTIAL_KEYS
    if not keys and settings.PRODUCTION:
        raise ImproperlyConfigured("Set MEMORYHUB_CREDENTIAL_KEYS.")
    return _box(keys or (development_credential_key(settings.MEMORYHUB_DATA_DIR),))


@functools.lru_cache(maxsize=4)
def _box(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


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


def reencrypt(credentials: QuerySet[SearchCredential]) -> tuple[int, list[UUID]]:
    """Encrypt every secret anew, with the first key; return how many, and the members whose secret no key opens.

    A key that is replaced meanwhile is left alone: it was encrypted with the first key already.
    """
    done, closed = 0, []
    using = box()
    held = credentials.exclude(secret="").order_by("membership_id").values_list("membership_id", "secret")
    for membership_id, secret in held.iterator():
        try:
            anew = using.rotate(secret.encode()).decode()
        except InvalidToken:
            closed.append(membership_id)
            continue
        done += SearchCredential.objects.filter(membership_id=membership_id, secret=secret).update(secret=anew)
    return done, closed
