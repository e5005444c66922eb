"""A provider that is slow, away or answers in the wrong form signs nobody in and holds no thread for long."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.cache import caches
from pytest_django import Settings

from tenants.oidc import protocol
from tenants.oidc.protocol import ProviderError, SignInAttempt, authorization_url, claims_of

ATTEMPT = SignInAttempt("state", "nonce", "verifier")


@dataclass
class OddProvider:
    """A provider that answers as a test says: JSON by path, each after `delay` seconds."""

    issuer: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def odd(settings: Settings) -> Iterator[OddProvider]:
    caches["local"].clear()
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    odd = OddProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            odd.asked.append(self.path)
            time.sleep(odd.delay)
            body = json.dumps(odd.answers[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - likewise

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        odd.issuer = f"http://127.0.0.1:{server.server_port}"
        odd.answers["/.well-known/openid-configuration"] = {
            "issuer": odd.issuer,
            **{name: f"{odd.issuer}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")},
        }
        yield odd
        server.shutdown()


def asked(odd: OddProvider) -> dict[str, Any]:
    return claims_of("code", issuer=odd.issuer, client_id="us", secret="", redirect_uri="http://us/", attempt=ATTEMPT)


def put_token(odd: OddProvider, **claims: Any) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    now = int(time.time())
    usual = {"iss": odd.issuer, "aud": "us", "sub": "s", "email": "a@b.example", "iat": now, "exp": now + 60}
    odd.answers["/token_endpoint"] = {"id_token": jwt.encode(usual | claims, key, "ES256")}
    public = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    odd.answers["/jwks_uri"] = {"keys": [public | {"alg": "ES256"}]}


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"nonce": "n\u00f6nce"}, "answers another request"),
        ({"nonce": "\ud800"}, "is not valid"),
        ({"nonce": "nonce", "azp": "them"}, "for another client"),
        ({"nonce": "nonce", "exp": float("inf")}, "is not valid"),
        ({"nonce": "nonce", "sub": 7}, "is not valid"),
    ],
)
def test_a_token_with_odd_claims_is_refused(odd: OddProvider, claims: dict[str, Any], said: str) -> None:
    put_token(odd, nonce="nonce")
    assert asked(odd)["sub"] == "s"
    put_token(odd, **claims)
    with pytest.raises(ProviderError, match=said):
        asked(odd)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/token_endpoint", []),
        ("/token_endpoint", {"id_token": 5}),
        ("/jwks_uri", {"keys": 5}),
        ("/jwks_uri", {"keys": [5]}),
        ("/jwks_uri", {}),
    ],
)
def test_an_answer_of_the_wrong_form_is_refused(odd: OddProvider, path: str, answer: Any) -> None:
    put_token(odd, nonce="nonce")
    odd.answers[path] = answer
    with pytest.raises(ProviderError):
        asked(odd)


def test_wrong_ways_to_name_the_client_are_refused(odd: OddProvider) -> None:
    odd.answers["/.well-known/openid-configuration"]["token_endpoint_auth_methods_supported"] = 5
    with pytest.raises(ProviderError, match="is not valid"):
        claims_of("c", issuer=odd.issuer, client_id="us", secret="s", redirect_uri="http://us/", attempt=ATTEMPT)


def test_one_deadline_ends_all_requests_of_a_sign_in(odd: OddProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    put_token(odd, nonce="nonce")
    monkeypatch.setattr(protocol, "_SECONDS", 1.0)
    odd.delay = 0.6
    began = time.monotonic()
    with pytest.raises(ProviderError, match="timeout"):
        asked(odd)
    assert time.monotonic() - began < 1.5 and "/jwks_uri" not in odd.asked
    with pytest.raises(ProviderError, match="timeout"):
        authorization_url(odd.issuer, "us", "http://us/", ATTEMPT)
    assert len(odd.asked) == 2, "a provider that is away is not asked again"


def test_a_failed_discovery_is_kept_for_a_short_time(odd: OddProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    good = odd.answers["/.well-known/openid-configuration"]
    monkeypatch.setattr(protocol, "_AWAY_SECONDS", 0.3)
    odd.answers["/.well-known/openid-configuration"] = {}
    for _ in range(3):
        with pytest.raises(ProviderError, match="not that of this issuer"):
            authorization_url(odd.issuer, "us", "http://us/", ATTEMPT)
    assert len(odd.asked) == 1
    odd.answers["/.well-known/openid-configuration"] = good
    time.sleep(0.4)
    assert authorization_url(odd.issuer, "us", "http://us/", ATTEMPT).startswith(f"{odd.issuer}/authorization_endpoint")
