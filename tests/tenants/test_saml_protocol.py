"""Answers of a SAML provider count only as it signed them, for this site, now."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tenants.oidc.protocol import ProviderError
from tenants.saml.protocol import (
    ServiceProvider,
    checked_certificates,
    claims_of_answer,
    metadata_of,
    read_metadata,
    request_url,
)
from tests.saml_provider import SamlProvider

HUB = ServiceProvider("https://hub.example/metadata/", "https://hub.example/answer/")
ADA = {"mail": ["ada@acme.example"], "displayName": ["Ada"], "groups": ["it", "all"]}
DTD = "?><!DOCTYPE x [<!ENTITY %s>]>"
SHA1 = {
    "sign_alg": "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
    "digest_alg": "http://www.w3.org/2000/09/xmldsig#sha1",
}
ASSERTION = re.compile(r"<ns1:Assertion.*</ns1:Assertion>", re.DOTALL)


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> SamlProvider:
    made = SamlProvider(tmp_path_factory.mktemp("saml"))
    made.learn(metadata_of(HUB))
    return made


def answer_of(provider: SamlProvider, **how: Any) -> str:
    return provider.answer(request_url(provider.sign_in_url, HUB, "_asked"), ADA, **how)


def read(provider: SamlProvider, answer: str, **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"issuer": provider.name, "certificates": provider.certificate, "to": HUB}
    return claims_of_answer(answer, **{"now": datetime.now(UTC)} | usual | more)


def changed(answer: str, change: Callable[[str], str]) -> str:
    before = b64decode(answer).decode()
    after = change(before)
    assert after != before
    return b64encode(after.encode()).decode()


@pytest.mark.parametrize(("assertion", "response"), [(True, False), (False, True), (True, True)])
def test_what_is_signed_is_read(provider: SamlProvider, assertion: bool, response: bool) -> None:
    answer = answer_of(provider, sign_assertion=assertion, sign_response=response)
    claims = read(provider, answer, role_claim="groups")
    assert (claims["sub"], claims["email"], claims["name"]) == ("ada@acme.example", "ada@acme.example", "Ada")
    assert (claims["groups"], claims["in_response_to"]) == (["it", "all"], "_asked")
    assert "email_verified" not in claims


def evil(text: str) -> str:
    """The assertion of somebody else, without a signature and with another id."""
    found = ASSERTION.search(text)
    assert found
    without = re.sub(r"<ns2:Signature .*?</ns2:Signature>", "", found[0], flags=re.DOTALL)
    return re.sub(r' ID="[^"]*"', ' ID="evil"', without).replace("ada@", "eve@")


def wrapped(text: str, into: str) -> str:
    """An answer with somebody else's assertion, and the signed one where nobody looks (`into`, %s)."""
    found = ASSERTION.search(text)
    assert found
    return text.replace(found[0], into % {"evil": evil(text), "signed": found[0]})


EXTENSIONS = "<ns0:Extensions>%(signed)s</ns0:Extensions>%(evil)s"
WRAPPINGS = (
    "%(evil)s%(signed)s",
    "%(signed)s%(evil)s",
    EXTENSIONS,
    '%(evil)s<ns2:Signature><ns2:Object xmlns:ns2="http://www.w3.org/2000/09/xmldsig#">%(signed)s</ns2:Object></ns2:Signature>',
)


@pytest.mark.parametrize("into", WRAPPINGS)
@pytest.mark.parametrize("signed", [{}, {"sign_response": True}])
def test_a_signature_does_not_cover_what_is_wrapped_around_it(
    provider: SamlProvider, into: str, signed: dict[str, bool]
) -> None:
    answer = changed(answer_of(provider, **signed), lambda text: wrapped(text, into))
    with pytest.raises(ProviderError, match=r"must have one assertion|no XML"):
        read(provider, answer)


def moved_signature(text: str) -> str:
    """The assertion's own signature under the response, and the assertion changed."""
    signature = re.search(r"<ns2:Signature .*?</ns2:Signature>", text, re.DOTALL)
    assert signature
    return text.replace(signature[0], "").replace("<ns0:Status>", f"{signature[0]}<ns0:Status>").replace("ada@", "eve@")


def hidden_response(text: str) -> str:
    """The whole signed answer inside another one, whose assertion has the name of an element that nobody counts."""
    return (
        f'<ns0:Response xmlns:ns0="urn:oasis:names:tc:SAML:2.0:protocol" ID="outer"><ns0:Status><ns0:StatusCode '
        f'Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></ns0:Status>{text.partition("?>")[2]}</ns0:Response>'
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("ada@acme", "eve@acme"), "not signed by it"),
        (lambda text: re.sub(r"<ns2:Signature .*?</ns2:Signature>", "", text, flags=re.DOTALL), "not signed by it"),
        (moved_signature, "not signed by it|of something else"),
        (hidden_response, "not signed by it|of something else"),
        (lambda text: text.replace("<ns0:Status>", "<!DOCTYPE x><ns0:Status>"), "no XML"),
        (
            lambda text: text.replace("?>", '?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>', 1),
            "document type",
        ),
        (
            lambda text: text.replace("?>", '?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>', 1),
            "document type",
        ),
        (lambda text: text.replace("status:Success", "status:Requester"), "did not sign you in"),
        (lambda text: text.replace("ns1:Assertion ", "ns1:EncryptedAssertion ", 1), "no XML"),
        (lambda text: text.replace("<ns0:Status>", "<ns1:EncryptedAssertion/><ns0:Status>"), "is encrypted"),
        (lambda text: "<x/>", "no response"),
        (lambda text: text[:200], "no XML"),
    ],
)
def test_a_changed_answer_is_refused(provider: SamlProvider, change: Callable[[str], str], said: str) -> None:
    with pytest.raises(ProviderError, match=said):
        read(provider, changed(answer_of(provider), change))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"to": replace(HUB, entity_id="https://hub.example/of-another-tenant/")}, "another audience"),
        ({"to": replace(HUB, answers_at="https://elsewhere.example/")}, "another address"),
        ({"issuer": "https://id.other.example"}, "another issuer"),
        ({"now": datetime.now(UTC) + timedelta(minutes=20)}, "over"),
        ({"now": datetime.now(UTC) - timedelta(minutes=20)}, "over"),
    ],
)
def test_an_answer_for_others_or_another_time_is_refused(
    provider: SamlProvider, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(ProviderError, match=said):
        read(provider, answer_of(provider), **more)


def test_the_key_of_another_provider_signs_nothing_here(provider: SamlProvider, tmp_path: Path) -> None:
    other = SamlProvider(tmp_path, provider.name)
    with pytest.raises(ProviderError, match="not signed by it"):
        read(provider, answer_of(provider), certificates=other.certificate)
    both = other.certificate + provider.certificate
    assert read(provider, answer_of(provider), certificates=both)["sub"] == "ada@acme.example"


def test_sha1_signs_nothing(provider: SamlProvider) -> None:
    with pytest.raises(ProviderError, match="not signed by it"):
        read(provider, answer_of(provider, **SHA1))


def test_a_name_that_does_not_last_is_refused(provider: SamlProvider) -> None:
    answer = answer_of(provider, name_format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient")
    with pytest.raises(ProviderError, match="another name at each sign-in"):
        read(provider, answer)


def test_a_comment_shortens_no_name(provider: SamlProvider) -> None:
    answer = answer_of(provider, name="ada@acme.example.evil.example")
    answer = changed(answer, lambda text: text.replace("ada@acme.example.evil", "ada@acme.example<!-- -->.evil"))
    assert read(provider, answer)["sub"] == "ada@acme.example.evil.example"


def test_metadata_of_a_provider_is_read(provider: SamlProvider) -> None:
    found = read_metadata(provider.metadata())
    assert (found.issuer, found.sign_in_url, found.certificates) == (
        provider.name,
        provider.sign_in_url,
        provider.certificate,
    )
    for text in ("", "<x/>", metadata_of(HUB), '<!DOCTYPE x [<!ENTITY e "e">]><x>&e;</x>', "x" * 300_000):
        with pytest.raises(ProviderError):
            read_metadata(text)
    for text in ("none", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"):
        with pytest.raises(ProviderError, match="no certificate"):
            checked_certificates(text)
