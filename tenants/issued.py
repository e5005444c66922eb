"""A new token's plaintext on its way to the page that shows it once: encrypted in the session, for a minute."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import timedelta

from cryptography.fernet import Fernet, InvalidToken
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from tenants.models import ApiToken

# Key of the session: the id of the token just issued, and its plaintext, encrypted.
_ISSUED = "issued_token"
_SHOWN_WITHIN = timedelta(minutes=1)


def keep_issued(request: HttpRequest, token: ApiToken, plaintext: str) -> None:
    """Keep the plaintext for the next page, so that the answer to the form is a redirect and a reload makes none."""
    sealed = _box(str(token.pk)).encrypt(plaintext.encode()).decode()
    request.session[_ISSUED] = (str(token.pk), sealed)


def take_issued(request: HttpRequest, pk: str) -> str:
    """The plaintext of the token that this session issued in the last minute, the first time; else empty."""
    issued, sealed = request.session.get(_ISSUED, ("", ""))
    if issued != pk:
        return ""
    del request.session[_ISSUED]
    try:
        return _box(pk).decrypt(sealed, ttl=int(_SHOWN_WITHIN.total_seconds())).decode()
    except InvalidToken:
        return ""


def _box(pk: str) -> Fernet:
    """Encrypts with a key of the token with this id that is not in the database, where sessions are."""
    key = salted_hmac("memoryhub.issued_token", pk, algorithm="sha256").digest()
    return Fernet(urlsafe_b64encode(key))
