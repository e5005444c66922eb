"""Keyed digests (HMAC-SHA256) of what the audit log proves. The database never holds a key.

A keyed digest is 64 characters: the id of its key, a colon, and the first 224 bits of the HMAC in hexadecimal. The
first key makes digests and all of them check. Keys come from MEMORYHUB_AUDIT_KEYS and then, by HKDF, from
MEMORYHUB_SIGNING_KEYS; the last resort is MEMORYHUB_SECRET_KEY in production, a file in the data folder in development.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from memoryhub.env.values import development_secret

# RFC 2104, section 5, allows half of a digest or more.
_ID_CHARACTERS, _DIGEST_CHARACTERS = 7, 56
_LABEL = b"memoryhub audit log"


def keyed_digest(purpose: str, text: str, *, like: str = "") -> str:
    """The digest of `text` under the key of the digest `like`; under the first key if that is not configured.

    Digests of two purposes never agree.
    """
    keys = _configured()
    key_id = like[:_ID_CHARACTERS] if like[:_ID_CHARACTERS] in keys else next(iter(keys))
    digest = hmac.digest(keys[key_id], f"{purpose}\0{text}".encode(errors="surrogatepass"), "sha256")
    return f"{key_id}:{digest.hex()[:_DIGEST_CHARACTERS]}"


def is_keyed(digest: object) -> bool:
    """Whether this is a keyed digest, of whichever key."""
    return isinstance(digest, str) and digest[_ID_CHARACTERS : _ID_CHARACTERS + 1] == ":"


def is_digest_of(digest: str, purpose: str, text: str) -> bool:
    """Whether `digest` is the keyed digest of `text`, under whichever configured key."""
    return is_keyed(digest) and hmac.compare_digest(keyed_digest(purpose, text, like=digest).encode(), digest.encode())


def missing_key(digest: str) -> str:
    """The id of the key of a keyed digest, if that key is not configured here; else empty."""
    key_id = digest[:_ID_CHARACTERS]
    return key_id if is_keyed(digest) and key_id not in _configured() else ""


def _configured() -> dict[str, bytes]:
    given = (*settings.MEMORYHUB_AUDIT_KEYS, *settings.MEMORYHUB_SIGNING_KEYS)
    last = settings.SECRET_KEY if settings.PRODUCTION else _of_development(settings.MEMORYHUB_DATA_DIR)
    return _keys((*given, last))


@functools.lru_cache(maxsize=4)
def _keys(secrets: tuple[str, ...]) -> dict[str, bytes]:
    keys = [HKDF(SHA256(), 32, salt=None, info=_LABEL).derive(secret.encode()) for secret in secrets]
    return {hashlib.sha256(b"id" + key).hexdigest()[:_ID_CHARACTERS]: key for key in keys}


@functools.lru_cache(maxsize=4)
def _of_development(data_dir: Path) -> str:
    return development_secret(data_dir, "audit_key")
