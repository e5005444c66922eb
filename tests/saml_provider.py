"""A SAML 2.0 identity provider for tests: pysaml2, which signs with xmlsec1, another library than the product's."""

from __future__ import annotations

import datetime as dt
import shutil
import warnings
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.parts import missing_part

EMAIL_ADDRESS = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
_REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
_SHA256 = {
    "sign_alg": "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
    "digest_alg": "http://www.w3.org/2001/04/xmlenc#sha256",
}


class SamlProvider:
    """A provider with a key of its own, which knows this site by its metadata."""

    def __init__(self, folder: Path, name: str = "https://id.acme.example/saml") -> None:
        self.name, self.folder = name, folder
        self.sign_in_url = "https://id.acme.example/sign-in"
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        now, who = dt.datetime.now(dt.UTC), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "id.acme.example")])
        made = x509.CertificateBuilder().subject_name(who).issuer_name(who).public_key(key.public_key())
        made = made.serial_number(1).not_valid_before(now - dt.timedelta(days=1))
        signed = made.not_valid_after(now + dt.timedelta(days=30)).sign(key, hashes.SHA256())
        self.certificate = signed.public_bytes(Encoding.PEM).decode()
        (folder / "cert.pem").write_text(self.certificate)
        (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))

    def learn(self, metadata: str) -> None:
        """Get to know this site. Skips the test without xmlsec1."""
        if shutil.which("xmlsec1") is None:
            missing_part("xmlsec1 is not installed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it uses what cryptography will move
            from saml2.config import IdPConfig  # noqa: PLC0415 - takes a second
            from saml2.server import Server  # noqa: PLC0415

        (self.folder / "sp.xml").write_text(metadata)
        service = {"endpoints": {"single_sign_on_service": [(self.sign_in_url, _REDIRECT)]}}
        policy = {"default": {"lifetime": {"minutes": 5}, "name_form": None, "attribute_restrictions": None}}
        config = {
            "entityid": self.name,
            "service": {"idp": {**service, "policy": policy}},
            "key_file": str(self.folder / "key.pem"),
            "cert_file": str(self.folder / "cert.pem"),
            "metadata": {"local": [str(self.folder / "sp.xml")]},
        }
        self.server = Server(config=IdPConfig().load(config))

    def metadata(self) -> str:
        """What an administrator pastes."""
        from saml2.metadata import entity_descriptor  # noqa: PLC0415

        return str(entity_descriptor(self.server.config))

    def asked(self, address: str) -> Any:
        """The request in the address that a browser was sent to, as the provider understands it."""
        request = parse_qs(urlsplit(address).query)["SAMLRequest"][0]
        return self.server.parse_authn_request(request, _REDIRECT).message

    def answer(self, address: str, said: dict[str, Any], *, name: str = "ada@acme.example", **more: Any) -> str:
        """The encoded answer to a request, signed as `more` says."""
        from saml2.saml import NameID  # noqa: PLC0415

        how: dict[str, Any] = {"sign_assertion": True, "sign_response": False, **_SHA256} | more
        name_id = NameID(format=how.pop("name_format", EMAIL_ADDRESS), text=name)
        to = self.server.response_args(self.asked(address))
        to |= {each: how.pop(each) for each in ("destination", "in_response_to", "sp_entity_id") if each in how}
        to.pop("binding", None)
        to.pop("name_id_policy", None)
        answer = self.server.create_authn_response(
            said, name_id=name_id, authn={"class_ref": "urn:oasis:names:tc:SAML:2.0:ac:classes:Password"}, **to, **how
        )
        return b64encode(str(answer).encode()).decode()
