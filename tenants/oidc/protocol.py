"""The relying party's side of OpenID Connect: discovery, the authorization request, and what the answer says.

Code flow with state, nonce and PKCE; the ID token's signature is always verified. A provider is an address that a
tenant's administrator named, so requests to it go through the guard of webhooks (`memoryhub/outgoing.py`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import jwt
from django.core.cache import caches

from memoryhub.outgoing import Unreachable, address_fault, get, send

# All requests of one sign-in together, and the size of each answer.
_SECONDS, _MOST = 10.0, 256 * 1024
# How long its configuration is kept, and that it does not answer.
_KEPT_SECONDS, _AWAY_SECONDS = 600, 30
# Clocks may differ by so many seconds.
_LEEWAY = 60
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_METADATA = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
# What reading an answer of the wrong form raises.
_MALFORMED = (TypeError, ValueError, AttributeError, KeyError, OverflowError, RecursionError)


class ProviderError(Exception):
    """The provider does not answer, or not as it must; the message says what, and never holds what it said."""


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """What the session keeps between the request and the answer."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> SignInAttempt:
        """Random values."""
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))


class _Provider:
    """A provider's answers in one sign-in; a deadline ends all requests together.

    A provider that is away is not asked again for half a minute, so that it holds few threads.
    """

    def __init__(self, issuer: str) -> None:
        self._issuer, self._kept_as = issuer, f"oidc:{issuer}"
        self._deadline = time.monotonic() + _SECONDS

    def discover(self) -> dict[str, Any]:
        """The metadata, kept for ten minutes. Raises ProviderError."""
        kept: dict[str, Any] | str | None = caches["local"].get(self._kept_as)
        if isinstance(kept, str):
            raise ProviderError(kept)
        if kept is None:
            try:
                kept = self._metadata()
            except ProviderError as error:
                self._note_away(str(error))
                raise
            caches["local"].set(self._kept_as, kept, _KEPT_SECONDS)
        return kept

    def ask(self, url: str, headers: Mapping[str, str], body: bytes | None = None) -> dict[str, Any]:
        """The JSON that an address answers with. Raises ProviderError."""
        seconds = self._deadline - time.monotonic()
        try:
            if body is None:
                return _json(get(url, headers, seconds=seconds, most=_MOST))
            return _json(send(url, body, headers, seconds=seconds, most=_MOST))
        except Unreachable as error:
            said = f"it does not answer ({error})"
            if str(error) == "timeout":
                self._note_away(said)
            raise ProviderError(said) from None

    def _metadata(self) -> dict[str, Any]:
        found = self.ask(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration", {})
        if any(not isinstance(found.get(each), str) for each in _METADATA) or found["issuer"] != self._issuer:
            raise ProviderError("its configuration is not that of this issuer")
        if address_fault(found["authorization_endpoint"]):
            raise ProviderError("its sign-in page has an address that is not allowed")
        return found

    def _note_away(self, said: str) -> None:
        caches["local"].set(self._kept_as, said, _AWAY_SECONDS)


def check_issuer(issuer: str) -> None:
    """Ask an issuer for its configuration anew. Raises ProviderError."""
    caches["local"].delete(f"oidc:{issuer}")
    _Provider(issuer).discover()


def authorization_url(issuer: str, client_id: str, redirect_uri: str, attempt: SignInAttempt) -> str:
    """Where the browser is sent. Raises ProviderError."""
    endpoint = _Provider(issuer).discover()["authorization_endpoint"]
    challenge = urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=").decode()
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": "openid profile email",
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"


def claims_of(
    code: str, *, issuer: str, client_id: str, secret: str, redirect_uri: str, attempt: SignInAttempt
) -> dict[str, Any]:
    """What the provider says of whoever signed in there. Raises ProviderError."""
    try:
        return _claims_of(_Provider(issuer), code, client_id, secret, redirect_uri, attempt)
    except jwt.PyJWTError as error:
        raise ProviderError(f"its ID token is not valid ({type(error).__name__})") from None
    except _MALFORMED as error:
        raise ProviderError(f"its answer is not valid ({type(error).__name__})") from None


def _claims_of(
    provider: _Provider, code: str, client_id: str, secret: str, redirect_uri: str, attempt: SignInAttempt
) -> dict[str, Any]:
    metadata = provider.discover()
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    form["code_verifier"] = attempt.verifier
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if secret and "client_secret_basic" in methods:
        pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    else:
        form |= {"client_id": client_id, **({"client_secret": secret} if secret else {})}
    tokens = provider.ask(metadata["token_endpoint"], headers, urlencode(form).encode())
    keys = jwt.PyJWKSet.from_dict(provider.ask(metadata["jwks_uri"], {})).keys
    claims = _verified(str(tokens.get("id_token", "")), keys, metadata["issuer"], client_id, attempt.nonce)
    if "email" not in claims and isinstance(metadata.get("userinfo_endpoint"), str):
        bearer = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
        more = provider.ask(metadata["userinfo_endpoint"], bearer)
        if more.get("sub") != claims["sub"]:
            raise ProviderError("its answers are about two people")
        claims = more | claims
    return claims


def _verified(id_token: str, keys: Sequence[jwt.PyJWK], issuer: str, client_id: str, nonce: str) -> dict[str, Any]:
    kid = jwt.get_unverified_header(id_token).get("kid")
    fitting = [key for key in keys if kid is None or key.key_id == kid]
    if len(fitting) != 1:
        raise ProviderError("its ID token is signed with a key that it does not publish")
    claims: dict[str, Any] = jwt.decode(
        id_token,
        fitting[0],
        algorithms=_ALGORITHMS,
        audience=client_id,
        issuer=issuer,
        leeway=_LEEWAY,
        options={"require": ["iss", "aud", "sub", "exp", "iat"]},
    )
    if not secrets.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise ProviderError("its ID token answers another request")
    if claims.get("azp", client_id) != client_id:
        raise ProviderError("its ID token is for another client")
    return claims


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProviderError("it does not answer with JSON")
    return found
