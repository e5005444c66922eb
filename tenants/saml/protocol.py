"""The service provider's side of SAML 2.0: the request, our metadata, and what a verified assertion says.

Only what a signature covers is read: `signxml` gives back the element that was signed, parsed again from the signed
bytes. A document with a DTD, a second assertion, an encrypted one, or a signature of SHA-1 is refused.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode
from xml.sax.saxutils import escape, quoteattr

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tenants.oidc.protocol import ProviderError

if TYPE_CHECKING:
    from signxml.verifier import SignatureConfiguration

SAML: Final = "urn:oasis:names:tc:SAML:2.0:assertion"
SAMLP: Final = "urn:oasis:names:tc:SAML:2.0:protocol"
METADATA: Final = "urn:oasis:names:tc:SAML:2.0:metadata"
DS: Final = "http://www.w3.org/2000/09/xmldsig#"
REDIRECT: Final = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
POST: Final = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
_BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
_SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
_TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
# Characters of metadata; an answer is as long as a request of nobody may be.
MAX_METADATA = 200_000
# Clocks may differ by so much.
_LEEWAY = timedelta(seconds=60)
# What providers call the address and the name: plain, as LDAP's OIDs, as Microsoft's claims.
_CLAIMS = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"
_EMAIL = ("email", "mail", "urn:oid:0.9.2342.19200300.100.1.3", f"{_CLAIMS}emailaddress")
_NAME = (
    "name",
    "displayName",
    "urn:oid:2.16.840.1.113730.3.1.241",
    "http://schemas.microsoft.com/identity/claims/displayname",
)
_ALGORITHMS = ("RSA_SHA256", "RSA_SHA384", "RSA_SHA512", "ECDSA_SHA256", "ECDSA_SHA384", "ECDSA_SHA512")
_DIGESTS = ("SHA256", "SHA384", "SHA512")


@dataclass(frozen=True, slots=True)
class ServiceProvider:
    """What one tenant's provider knows of this site: the entity ID, and the address that takes answers."""

    entity_id: str
    answers_at: str


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """What a provider's metadata says: entity ID, address of the sign-in page, certificates in PEM."""

    issuer: str
    sign_in_url: str
    certificates: str


def request_url(sign_in_url: str, to: ServiceProvider, request_id: str) -> str:
    """Where the browser is sent, with a request in the redirect binding."""
    request = (
        f'<samlp:AuthnRequest xmlns:samlp="{SAMLP}" xmlns:saml="{SAML}" ID={quoteattr(request_id)} Version="2.0" '
        f'IssueInstant="{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}" Destination={quoteattr(sign_in_url)} '
        f'ProtocolBinding="{POST}" AssertionConsumerServiceURL={quoteattr(to.answers_at)}>'
        f'<saml:Issuer>{escape(to.entity_id)}</saml:Issuer><samlp:NameIDPolicy AllowCreate="true"/>'
        "</samlp:AuthnRequest>"
    )
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(request.encode()) + packer.flush()
    sign = "&" if "?" in sign_in_url else "?"
    return f"{sign_in_url}{sign}{urlencode({'SAMLRequest': b64encode(packed).decode()})}"


def metadata_of(own: ServiceProvider) -> str:
    """Our metadata, which an administrator gives to the provider."""
    return (
        f'<?xml version="1.0"?>\n<md:EntityDescriptor xmlns:md="{METADATA}" entityID={quoteattr(own.entity_id)}>'
        f'<md:SPSSODescriptor protocolSupportEnumeration="{SAMLP}" AuthnRequestsSigned="false" '
        'WantAssertionsSigned="true">'
        f'<md:AssertionConsumerService index="0" isDefault="true" Binding="{POST}" '
        f"Location={quoteattr(own.answers_at)}/></md:SPSSODescriptor></md:EntityDescriptor>"
    )


def read_metadata(text: str) -> ProviderMetadata:
    """What an administrator pasted. Raises ProviderError."""
    if len(text) > MAX_METADATA:
        raise ProviderError("it is too long")
    root = _parsed(text.strip().encode())
    sites = root.findall(f".//{{{METADATA}}}SingleSignOnService[@Binding='{REDIRECT}']")
    keys = [
        key
        for each in root.iterfind(f".//{{{METADATA}}}IDPSSODescriptor/{{{METADATA}}}KeyDescriptor")
        if each.get("use", "signing") == "signing"
        for key in each.iter(f"{{{DS}}}X509Certificate")
    ]
    if root.tag != f"{{{METADATA}}}EntityDescriptor" or not sites or not keys:
        raise ProviderError("it is not the metadata of one provider with a sign-in page and certificates")
    return ProviderMetadata(
        issuer=root.get("entityID", ""),
        sign_in_url=sites[0].get("Location", ""),
        certificates=checked_certificates("\n".join("".join((key.text or "").split()) for key in keys)),
    )


def checked_certificates(text: str) -> str:
    """Certificates in PEM, from PEM or one line of base64 each. Raises ProviderError."""
    try:
        if "-----BEGIN" in text:
            found = x509.load_pem_x509_certificates(text.encode())
        else:
            found = [x509.load_der_x509_certificate(b64decode(line)) for line in text.splitlines() if line.strip()]
    except ValueError:
        raise ProviderError("it is no certificate") from None
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in dict.fromkeys(found))


def claims_of_answer(
    answer: str, *, issuer: str, certificates: str, to: ServiceProvider, role_claim: str = "", now: datetime
) -> dict[str, Any]:
    """What a provider's answer says of somebody: `sub`, `email`, `name`, `preferred_username`, the role's attribute.

    Beside these, `in_response_to` is the id of the request that it answers, or empty. `assertion` is the assertion's
    own id. Nothing is called verified, for SAML does not say. Raises ProviderError.
    """
    try:
        root = _parsed(b64decode("".join(answer.split()), validate=True))
    except ValueError:
        raise ProviderError("its answer is not valid") from None
    if root.tag != f"{{{SAMLP}}}Response":
        raise ProviderError("its answer is no response")
    status = root.find(f"{{{SAMLP}}}Status/{{{SAMLP}}}StatusCode")
    if status is None or status.get("Value") != _SUCCESS:
        raise ProviderError("it did not sign you in")
    assertion = _signed_assertion(root, x509.load_pem_x509_certificates(certificates.encode()))
    if _text(assertion.find(f"{{{SAML}}}Issuer")) != issuer:
        raise ProviderError("its assertion is of another issuer")
    _require_conditions(assertion, to, now)
    subject, answered = _subject(assertion, to, now)
    said = _attributes(assertion)
    email = _first(said, _EMAIL) or (subject if "@" in subject else "")
    claims: dict[str, Any] = {role_claim: said.get(role_claim, [])} if role_claim else {}
    return claims | {
        "sub": subject,
        "email": email,
        "name": _first(said, _NAME),
        "preferred_username": subject,
        "in_response_to": answered,
        "assertion": assertion.get("ID", ""),
    }


def _parsed(xml: bytes) -> Any:
    """The root of a document without a DTD; nothing outside of it is read."""
    from lxml import etree  # noqa: PLC0415 - ten megabytes, for those who use it

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_pis=True)
    try:
        root = etree.fromstring(xml, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise ProviderError("its answer is no XML") from None
    if root.getroottree().docinfo.doctype:
        raise ProviderError("its answer has a document type")
    return root


def _signed_assertion(root: Any, certificates: Sequence[x509.Certificate]) -> Any:
    """The one assertion, as signed by itself or with the whole response. Raises ProviderError."""
    if next(root.iter(f"{{{SAML}}}EncryptedAssertion"), None) is not None:
        raise ProviderError("its assertion is encrypted; have it signed only")
    if len(list(root.iter(f"{{{SAML}}}Assertion"))) != 1:
        raise ProviderError("its answer must have one assertion")
    whole = root.find(f"{{{DS}}}Signature") is not None
    signed = _verified(root, certificates, "./" if whole else f"./{{{SAML}}}Assertion/")
    assertion = signed.find(f"{{{SAML}}}Assertion") if whole else signed
    wanted = f"{{{SAMLP}}}Response" if whole else f"{{{SAML}}}Assertion"
    if signed.tag != wanted or assertion is None or signed.get("ID") is None:
        raise ProviderError("its signature is of something else")
    return assertion


def _verified(root: Any, certificates: Sequence[x509.Certificate], location: str) -> Any:
    """The element that is signed, read from the signed bytes. Raises ProviderError."""
    from signxml.exceptions import InvalidSignature, SignXMLException  # noqa: PLC0415 - with lxml
    from signxml.verifier import XMLVerifier  # noqa: PLC0415

    fault: Exception | None = None
    for certificate in certificates:
        try:
            found = XMLVerifier().verify(
                root, x509_cert=certificate, expect_config=_configuration(location), id_attribute="ID"
            )
        except (InvalidSignature, SignXMLException, ValueError, TypeError) as error:
            fault = error
        else:
            signed = None if isinstance(found, list) else found.signed_xml
            if signed is not None:
                return signed
    raise ProviderError(f"its answer is not signed by it ({type(fault).__name__})")


def _configuration(location: str) -> SignatureConfiguration:
    from signxml.algorithms import DigestAlgorithm, SignatureMethod  # noqa: PLC0415 - with lxml
    from signxml.verifier import SignatureConfiguration  # noqa: PLC0415

    return SignatureConfiguration(
        location=location,
        expect_references=1,
        signature_methods=frozenset(SignatureMethod[name] for name in _ALGORITHMS),
        digest_algorithms=frozenset(DigestAlgorithm[name] for name in _DIGESTS),
    )


def _require_conditions(assertion: Any, to: ServiceProvider, now: datetime) -> None:
    conditions = assertion.find(f"{{{SAML}}}Conditions")
    restrictions = [] if conditions is None else conditions.findall(f"{{{SAML}}}AudienceRestriction")
    if not restrictions or any(
        to.entity_id not in [_text(each) for each in restriction.iterfind(f"{{{SAML}}}Audience")]
        for restriction in restrictions
    ):
        raise ProviderError("its assertion is for another audience")
    statement = assertion.find(f"{{{SAML}}}AuthnStatement")
    if statement is None:
        raise ProviderError("its assertion does not say that you signed in")
    _require_now(conditions, now)
    if (until := _moment(statement.get("SessionNotOnOrAfter"))) is not None and now - _LEEWAY >= until:
        raise ProviderError("its assertion is over")


def _subject(assertion: Any, to: ServiceProvider, now: datetime) -> tuple[str, str]:
    """The name of whoever signed in, and the id of the request; for whoever bears the assertion, here and now."""
    name = assertion.find(f"{{{SAML}}}Subject/{{{SAML}}}NameID")
    if name is None or not (subject := _text(name)):
        raise ProviderError("its assertion names nobody")
    if name.get("Format") == _TRANSIENT:
        raise ProviderError("it gives you another name at each sign-in; have it send a lasting NameID")
    for confirmation in assertion.iterfind(f"{{{SAML}}}Subject/{{{SAML}}}SubjectConfirmation"):
        data = confirmation.find(f"{{{SAML}}}SubjectConfirmationData")
        if confirmation.get("Method") == _BEARER and data is not None and data.get("Recipient") == to.answers_at:
            _require_now(data, now, ends=True)
            return subject, data.get("InResponseTo", "")
    raise ProviderError("its assertion is for another address")


def _require_now(element: Any, now: datetime, *, ends: bool = False) -> None:
    begin, end = _moment(element.get("NotBefore")), _moment(element.get("NotOnOrAfter"))
    if (begin is not None and now + _LEEWAY < begin) or (end is not None and now - _LEEWAY >= end):
        raise ProviderError("its assertion is over, or the clocks differ")
    if ends and end is None:
        raise ProviderError("its assertion has no end")


def _moment(said: str | None) -> datetime | None:
    """An xs:dateTime; without a zone it is UTC. Raises ProviderError."""
    if said is None:
        return None
    try:
        found = datetime.fromisoformat(said.strip())
    except ValueError:
        raise ProviderError("its assertion has a time that is none") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _attributes(assertion: Any) -> dict[str, list[str]]:
    """The values of each attribute, by its name and its friendly name."""
    found: dict[str, list[str]] = {}
    for attribute in assertion.iterfind(f"{{{SAML}}}AttributeStatement/{{{SAML}}}Attribute"):
        values = [_text(each) for each in attribute.iterfind(f"{{{SAML}}}AttributeValue")]
        for name in {attribute.get("Name", ""), attribute.get("FriendlyName", "")} - {""}:
            found.setdefault(name, []).extend(values)
    return found


def _first(said: Mapping[str, list[str]], names: Sequence[str]) -> str:
    return next((values[0] for name in names if (values := said.get(name))), "")


def _text(element: Any) -> str:
    """All text of an element: a comment within it hides nothing."""
    return "" if element is None else str(element.xpath("string()")).strip()
