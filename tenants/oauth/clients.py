"""OAuth clients: metadata documents at an address of their own, registrations, and where they may be redirected to.

A `client_id` that is an https address names a document that describes the client; it is fetched with the guard of
webhooks (`memoryhub/outgoing.py`) and kept for an hour. Other clients register (RFC 7591). All are public clients: they
have no secret and prove by PKCE that whoever began is who ends. What nobody allows is forgotten after a day.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit
from uuid import uuid4

from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext_noop

from memoryhub import __version__
from memoryhub.env.limits import HOUR
from memoryhub.limits import Quota, take
from memoryhub.outgoing import Unreachable, address_fault, get
from tenants.errors import InvalidValue, store
from tenants.models import OAuthClient, OAuthGrant
from tenants.oauth.protocol import OAuthError

# A document is fetched again after this long, and must be this small and quick.
DOCUMENT_KEPT, DOCUMENT_BYTES, DOCUMENT_SECONDS = timedelta(hours=1), 16 * 1024, 5.0
# Documents that one member may have fetched, and registrations from one address and of all, in an hour.
FETCHES, REGISTRATIONS, ALL_REGISTRATIONS = 30, 30, 1_000
UNUSED_FOR = timedelta(days=1)
MAX_REDIRECTS, MAX_ADDRESS, NAME_CHARACTERS = 10, 500, 60
_WEB, _LOOPBACK = ("https", "http"), ("127.0.0.1", "::1", "localhost")
# A private-use scheme holds a dot (RFC 8252, section 7.1), so no scheme passes that a browser or the system handles by
# itself. These agents register one without.
_AGENTS = frozenset(("claude", "cursor", "vscode", "vscode-insiders", "windsurf"))
_REFUSED: Final = "invalid_client_metadata"
log = logging.getLogger(__name__)


def client_of(client_id: str, *, asked_by: str) -> OAuthClient:
    """The client with this id, whose document is fetched if need be. Raises OAuthError."""
    known = OAuthClient.objects.filter(client_id=client_id).first()
    if not _is_address(client_id):
        if known is None:
            raise OAuthError(
                "invalid_client", gettext_noop("This client is not registered here, or was forgotten."), status=401
            )
        return known
    if known is not None and known.checked_at > timezone.now() - DOCUMENT_KEPT:
        return known
    _take(Quota("oauth_documents", asked_by, FETCHES, HOUR))
    return _stored(known or OAuthClient(client_id=client_id), _document(client_id))


def is_known(client_id: str) -> bool:
    """Whether a client with this id need not register."""
    return _is_address(client_id) or OAuthClient.objects.filter(client_id=client_id).exists()


def register_client(metadata: object, *, address: str) -> OAuthClient:
    """Register a client that described itself, from this network address. Raises OAuthError."""
    _take(
        Quota("oauth_registrations", _place(address), REGISTRATIONS, HOUR),
        Quota("oauth_registrations", "all", ALL_REGISTRATIONS, HOUR),
    )
    if not isinstance(metadata, dict):
        raise OAuthError(_REFUSED, "Send a JSON object.")
    return _stored(OAuthClient(client_id=str(uuid4())), metadata)


def _place(address: str) -> str:
    """Whoever holds an address: of IPv6 its /64, all of which one subscriber has."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    return str(found.ipv4_mapped or ip_network((int(found), 64), strict=False))


def forget_unused() -> None:
    """The job that deletes what ended: codes that nobody used, grants whose token ended, clients that nobody allows."""
    now = timezone.now()
    OAuthGrant.objects.filter(token=None, code_until__lt=now).delete()
    OAuthGrant.objects.filter(ends_at__lt=now).delete()
    OAuthGrant.objects.filter(token__revoked_at__lt=now - UNUSED_FOR).delete()
    allowed = Exists(OAuthGrant.objects.filter(client=OuterRef("pk")))
    OAuthClient.objects.filter(~allowed, checked_at__lt=now - UNUSED_FOR).delete()


def checked_redirect(client: OAuthClient, address: str) -> str:
    """The address if it is one of the client's, to the letter but for the port of a loopback one. Raises OAuthError."""
    wanted, fault = _split(address), _redirect_fault(address)
    if address in client.redirect_uris and not fault:
        return address
    if wanted and _is_loopback(wanted) and not fault:
        for each in client.redirect_uris:
            known = urlsplit(each)
            same = (known.hostname, known.path, known.query) == (wanted.hostname, wanted.path, wanted.query)
            if same and _is_loopback(known):
                return address
    raise OAuthError("invalid_request", "The address to return to is not one of the client's.")


def host_of(address: str) -> str:
    """Who gets the code, for people: a host, this computer, or an app by the scheme of its address."""
    parts = urlsplit(address)
    if _is_loopback(parts):
        return "a program on your computer"
    return parts.hostname or "" if parts.scheme in _WEB else f"the app that opens {parts.scheme}: links"


def form_source(address: str) -> str:
    """The address as a source in `form-action`, which browsers also hold redirects to. It names no IPv6 address."""
    parts = urlsplit(address)
    return (
        f"{parts.scheme}://{parts.netloc}" if parts.scheme in _WEB and "[" not in parts.netloc else f"{parts.scheme}:"
    )


def _take(*quotas: Quota) -> None:
    refused = [use for use in take(quotas) if not use.fits]
    if refused:
        raise OAuthError("temporarily_unavailable", f"Too many; try again in {refused[0].seconds} seconds.", status=429)


def _is_address(client_id: str) -> bool:
    """Whether a client id is the address of a document: with a path, and the one way to write it."""
    parts = _split(client_id)
    if not parts or parts.scheme not in _WEB or address_fault(client_id) or len(client_id) > MAX_ADDRESS:
        return False
    return len(parts.path) > 1 and not parts.query and not {".", ".."} & set(parts.path.split("/"))


def _document(client_id: str) -> Mapping[str, Any]:
    headers = {"accept": "application/json", "user-agent": f"memoryhub/{__version__}"}
    try:
        found = json.loads(get(client_id, headers, seconds=DOCUMENT_SECONDS, most=DOCUMENT_BYTES))
    except Unreachable as error:  # the member learns no reason, which would tell of the network here
        log.info("The document of an OAuth client at %s could not be read: %s.", urlsplit(client_id).hostname, error)
        raise OAuthError("invalid_client", "The client's document could not be read.") from None
    except (ValueError, RecursionError):
        raise OAuthError("invalid_client", "The client's document is not JSON.") from None
    if not isinstance(found, dict) or found.get("client_id") != client_id:
        raise OAuthError("invalid_client", "The client's document does not name its own address as client_id.")
    if found.get("token_endpoint_auth_method", "none") != "none":
        raise OAuthError("invalid_client", "The client wants to prove itself by a secret or key; use none.")
    return found


def _stored(client: OAuthClient, metadata: Mapping[str, Any]) -> OAuthClient:
    """Take name and addresses from what the client says of itself, and store it."""
    found = metadata.get("redirect_uris")
    if not isinstance(found, list) or not 0 < len(found) <= MAX_REDIRECTS:
        raise OAuthError("invalid_redirect_uri", f"Give 1 to {MAX_REDIRECTS} redirect_uris.")
    for each in found:
        if not isinstance(each, str) or (fault := _redirect_fault(each)):
            raise OAuthError("invalid_redirect_uri", f"A redirect URI {fault if isinstance(each, str) else 'is text.'}")
    name = metadata.get("client_name", "")
    if not isinstance(name, str):
        raise OAuthError(_REFUSED, "client_name is text.")
    client.name, client.redirect_uris, client.checked_at = _plain(name), found, timezone.now()
    try:
        store(client)
    except InvalidValue:  # another request stored the same document meanwhile
        return OAuthClient.objects.get(client_id=client.client_id)
    return client


def _plain(name: str) -> str:
    """The name without what is not seen, so that no name shows as another, and cut."""
    seen = "".join(each for each in name if unicodedata.category(each)[0] != "C")
    return " ".join(seen.split())[:NAME_CHARACTERS]


def _redirect_fault(address: str) -> str:
    """Why no code is sent to this address, as the end of a sentence; empty if one may be."""
    parts = _split(address)
    if parts is None or not parts.scheme or len(address) > MAX_ADDRESS:
        return f"is an absolute address of at most {MAX_ADDRESS} ASCII letters."
    if "#" in address or "@" in parts.netloc:
        return "has no fragment, name or password."
    if parts.scheme in _WEB:
        if not parts.hostname or any(each in parts.netloc for each in ";,'\"\\*"):
            return "names a host."
        return "" if parts.scheme == "https" or _is_loopback(parts) else "begins with https:// unless it is loopback."
    return "" if "." in parts.scheme or parts.scheme in _AGENTS else "has a scheme like com.example.app (RFC 8252)."


def _is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and parts.hostname in _LOOPBACK


def _split(address: str) -> SplitResult | None:
    """The parts of an address of printable ASCII letters; None for others."""
    if not address.isascii() or not address.isprintable() or " " in address or "\\" in address:
        return None
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts
