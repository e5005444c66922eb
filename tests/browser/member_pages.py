"""Every page outside of the admin, read from the URLconf, so that a new page cannot be missed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData

from memories.types import ALL_KINDS
from tenants.invitations import invitation_path, invite
from tenants.models import Membership
from tenants.principal import SYSTEM, Right, Role
from tenants.services import issue_token
from tests.factories import make_membership, own_principal
from tests.memories.chat.addresses import OWN_KINDS
from tests.memories.chat.lives import live

# What programs read, and the admin, which has tests of its own.
_NOT_HERE = (
    "admin/", "api/v1/", "api/mem0/", "scim/", "v1/", "mcp", "oauth/", ".well-known/", "metrics", "livez", "readyz",
)  # fmt: skip
_YET_HERE = ("api/v1/docs/", "oauth/authorize")


def member_pages(member: Membership) -> list[str]:
    """The addresses, with rows of this member; those of kinds, for each kind."""
    life = live(own_principal(member))
    data = {"name": "Key", "credential": _credential()}
    passkey = Authenticator.objects.create(user=member.user, type=Authenticator.Type.WEBAUTHN, data=data)
    boss = make_membership(member.tenant, role="admin")
    invitation = invite(tenant=member.tenant, role=Role.MEMBER, email="ines@acme.example", by=boss.user, actor=SYSTEM)
    token, _ = issue_token(member, name="laptop", scopes=[Right.READ])
    filled: dict[str, Any] = {
        "session_id": life.session,
        "turn": 1,
        "review_id": life.review,
        "proposal_id": life.proposal,
        "token_id": token.pk,
        "pk": passkey.pk,
        "slug": member.tenant.slug,
        "token": invitation_path(invitation).split("/")[2],
        "uidb36": user_pk_to_url_str(member.user),
        "key": default_token_generator.make_token(member.user),
    }
    found: list[str] = []
    for name, takes in _named(get_resolver().url_patterns):
        rows = [filled]
        if "memory_id" in takes:
            rows = [filled | {"kind": kind, "memory_id": life.of(kind)} for kind in OWN_KINDS]
        elif "kind" in takes:
            rows = [filled | {"kind": kind} for kind in ALL_KINDS]
        elif "key" in takes:  # a link to set a password leads on to the form
            rows = [filled, filled | {"key": "set-password"}]
        found += [reverse(name, kwargs={each: row[each] for each in takes}) for row in rows]
    return [*dict.fromkeys(found), "/nowhere/"]


def _credential() -> dict[str, Any]:
    """What a browser answers when it made a passkey."""
    key = ES256.from_cryptography_key(generate_private_key(SECP256R1()).public_key())  # type: ignore[no-untyped-call]
    made = AttestedCredentialData.create(Aaguid.NONE, b"a key of ours", key)
    flags = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.AT
    attested = AttestationObject.create("none", AuthenticatorData.create(bytes(32), flags, 0, made), {})
    client = json.dumps({"type": "webauthn.create", "challenge": "AA", "origin": "http://localhost"}).encode()
    named = websafe_encode(made.credential_id)
    answer = {"clientDataJSON": websafe_encode(client), "attestationObject": websafe_encode(attested)}
    return {"type": "public-key", "id": named, "rawId": named, "response": answer, "clientExtensionResults": {}}


def _named(
    patterns: Sequence[URLPattern | URLResolver], before: str = "", space: str = "", taken: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The name of each address and what it takes."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if route.startswith(_NOT_HERE) and not any(each.startswith(route) or each == route for each in _YET_HERE):
            continue
        takes = (*taken, *pattern.pattern.regex.groupindex)
        if isinstance(pattern, URLResolver):
            inside = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from _named(pattern.url_patterns, route, inside, takes)
        elif pattern.name:
            yield space + pattern.name, takes
