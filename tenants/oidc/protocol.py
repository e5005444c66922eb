"""The relying party's side of OpenID Connect: discovery, the authorization request, and what the answer says.

Code flow with state, nonce and PKCE; the ID token's signature is always verified. A provider is an address that a
tenant's administrator named, so requests to it go through the guard of webhooks (`memoryhub/outgoing.py`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import jwt
from django.core.cache import caches

from memoryhub.outgoing import Unreachable, address_fault, get, send

_SECONDS, _MOST = 10.0, 256 * 1024
_KEPT_SECONDS = 600
# Clocks may differ by so many seconds.
_LEEWAY = 60
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_METADATA = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")


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


def discover(issuer: str) -> dict[str, Any]:
    """The provider's metadata, kept for ten minutes. Raises ProviderError."""
    kept: dict[str, Any] | None = caches["local"].get(name := f"oidc:{issuer}")
    if kept is None:
        kept = _json(get(f"{issuer.rstrip('/')}/.well-known/openid-configuration", {}, seconds=_SECONDS, most=_MOST))
        if any(not isinstance(kept.get(each), str) for each in _METADATA) or kept["issuer"] != issuer:
            raise ProviderError("its configuration is not that of this issuer")
        if address_fault(kept["authorization_endpoint"]):
            raise ProviderError("its sign-in page has an address that is not allowed")
        caches["local"].set(name, kept, _KEPT_SECONDS)
    return kept


def authorization_url(issuer: str, client_id: str, redirect_uri: str, attempt: SignInAttempt) -> str:
    """Where the browser is sent. Raises ProviderError."""
    endpoint = _asking(discover, issuer)["authorization_endpoint"]
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
    claims: dict[str, Any] = _asking(_claims_of, code, issuer, client_id, secret, redirect_uri, attempt)
    return claims


def _claims_of(
    code: str, issuer: str, client_id: str, secret: str, redirect_uri: str, attempt: SignInAttempt
) -> dict[str, Any]:
    metadata = discover(issuer)
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    form["code_verifier"] = attempt.verifier
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if secret and "client_secret_basic" in methods:
        pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    else:
        form |= {"client_id": client_id, **({"client_secret": secret} if secret else {})}
    tokens = _json(send(metadata["token_endpoint"], urlencode(form).encode(), headers, seconds=_SECONDS, most=_MOST))
    claims = _verified(str(tokens.get("id_token", "")), metadata, client_id, attempt.nonce)
    if "email" not in claims and isinstance(metadata.get("userinfo_endpoint"), str):
        bearer = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
        more = _json(get(metadata["userinfo_endpoint"], bearer, seconds=_SECONDS, most=_MOST))
        if more.get("sub") != claims["sub"]:
            raise ProviderError("its answers are about two people")
        claims = more | claims
    return claims


def _verified(id_token: str, metadata: Mapping[str, Any], client_id: str, nonce: str) -> dict[str, Any]:
    keys = jwt.PyJWKSet.from_dict(_json(get(metadata["jwks_uri"], {}, seconds=_SECONDS, most=_MOST))).keys
    kid = jwt.get_unverified_header(id_token).get("kid")
    fitting = [key for key in keys if kid is None or key.key_id == kid]
    if len(fitting) != 1:
        raise ProviderError("its ID token is signed with a key that it does not publish")
    claims: dict[str, Any] = jwt.decode(
        id_token,
        fitting[0],
        algorithms=_ALGORITHMS,
        audience=client_id,
        issuer=metadata["issuer"],
        leeway=_LEEWAY,
        options={"require": ["iss", "aud", "sub", "exp", "iat"]},
    )
    if not secrets.compare_digest(str(claims.get("nonce", "")), nonce):
        raise ProviderError("its ID token answers another request")
    if claims.get("azp", client_id) != client_id:
        raise ProviderError("its ID token is for another client")
    return claims


def _asking(ask: Any, *arguments: Any) -> Any:
    try:
        return ask(*arguments)
    except Unreachable as error:
        raise ProviderError(f"it does not answer ({error})") from None
    except jwt.PyJWTError as error:
        raise ProviderError(f"its ID token is not valid ({type(error).__name__})") from None


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProviderError("it does not answer with JSON")
    return found
