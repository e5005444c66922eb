"""What members allow OAuth clients: a code for a consent, a token for a code, and its renewal and end.

The access token is an ApiToken of the member, so limits, scopes, isolation, the audit log and revocation are those of
every token. A code or refresh token that comes twice, or with what does not belong to it, was stolen by one of the two
that brought it: then the grant ends, and its token with it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_noop

from tenants.errors import Forbidden, InvalidValue, store
from tenants.models import Membership, OAuthClient, OAuthGrant
from tenants.oauth.clients import checked_redirect, client_of, host_of, is_known
from tenants.oauth.protocol import OFFERED, USUAL, OAuthError
from tenants.principal import Actor, ActorKind, Right
from tenants.tokens import TOKEN_DAYS, days_allowed, digest_of, issue_token, renew_token, revoke_token

CODE_LIFE, ACCESS_LIFE = timedelta(minutes=1), timedelta(hours=8)
# Requests that were sent with the access token before, while it was renewed, are still answered.
RENEWAL_GRACE = timedelta(minutes=1)
REFRESH_MARK = "mhr_"
MAX_PARAMETER = 4_000
_SECRET_BYTES = 32
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """What a client asks a member for; its addresses are checked."""

    client: OAuthClient
    redirect_uri: str
    state: str
    challenge: str
    scopes: tuple[Right, ...]

    @property
    def host(self) -> str:
        """Who gets the code, for people."""
        return host_of(self.redirect_uri)


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """An access token and the refresh token that renews it, in plaintext."""

    access: str
    refresh: str
    scopes: tuple[str, ...]
    seconds: int


def parameter(sent: QueryDict, name: str) -> str:
    """A parameter, or an empty text. Raises OAuthError if it is there twice, too long, or not of ASCII letters."""
    values = sent.getlist(name)
    value = values[0] if values else ""
    if len(values) > 1 or len(value) > MAX_PARAMETER or not value.isascii() or not value.isprintable():
        raise OAuthError("invalid_request", f"{name} is sent once, in at most {MAX_PARAMETER:,} ASCII letters.")
    return value


def read_request(sent: QueryDict, *, resource: str, asked_by: str) -> AuthorizationRequest:
    """Read an authorization request. Raises OAuthError, with the address that may learn of it once that is checked."""
    client = client_of(parameter(sent, "client_id"), asked_by=asked_by)
    redirect = checked_redirect(client, parameter(sent, "redirect_uri"))
    state = parameter(sent, "state")
    try:
        challenge, scopes = _wishes(sent, resource)
    except OAuthError as error:
        raise OAuthError(error.code, str(error), redirect=redirect, state=state) from None
    return AuthorizationRequest(client, redirect, state, challenge, scopes)


def _wishes(sent: QueryDict, resource: str) -> tuple[str, tuple[Right, ...]]:
    if parameter(sent, "response_type") != "code":
        raise OAuthError("unsupported_response_type", "response_type is code.")
    challenge = parameter(sent, "code_challenge")
    if parameter(sent, "code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "Send a code_challenge, and S256 as code_challenge_method.")
    check_resource(sent, resource)
    wanted = parameter(sent, "scope").split()
    scopes = tuple(right for right in OFFERED if right in (wanted or USUAL))
    if not scopes:
        raise OAuthError("invalid_scope", f"The scopes are {', '.join(OFFERED)}.")
    return challenge, scopes


def check_resource(sent: QueryDict, resource: str) -> None:
    """Raise OAuthError if a token is wanted for another resource (RFC 8707) than this site's MCP or the site."""
    if any(each.rstrip("/") not in (resource, resource.rpartition("/")[0]) for each in sent.getlist("resource")):
        raise OAuthError("invalid_target", f"Tokens are for {resource} alone.")


def allow(wanted: AuthorizationRequest, membership: Membership, scopes: Iterable[Right]) -> str:
    """Store the member's consent to these of the wanted scopes; the code. Raises OAuthError."""
    chosen = [right.value for right in wanted.scopes if right in set(scopes)]
    if not chosen:
        raise OAuthError("invalid_scope", "Nothing was allowed.")
    if not membership.is_usable:
        raise OAuthError("access_denied", "This membership is not active.")
    now, code = timezone.now(), secrets.token_urlsafe(_SECRET_BYTES)
    days = min(TOKEN_DAYS, days_allowed(membership.tenant_id))
    grant = OAuthGrant(
        membership=membership,
        client=wanted.client,
        scopes=chosen,
        redirect_uri=wanted.redirect_uri,
        code_digest=digest_of(code),
        code_challenge=wanted.challenge,
        code_until=now + CODE_LIFE,
        ends_at=now + timedelta(days=days),
    )
    with transaction.atomic():
        OAuthGrant.objects.filter(membership=membership, token=None, code_until__lt=now).delete()
        store(grant)
    return code


def exchange_code(*, client_id: str, code: str, redirect_uri: str, verifier: str) -> IssuedTokens:
    """The tokens for a code. Raises OAuthError; a code that comes twice or with the wrong proof ends the grant."""
    with transaction.atomic():
        grant = _locked(code_digest=digest_of(code))
        if grant is not None:
            fits = grant.client.client_id == client_id and grant.redirect_uri == redirect_uri
            in_time = grant.token is None and timezone.now() < grant.code_until
            if fits and in_time and _proves(verifier, grant.code_challenge) and grant.membership.is_usable:
                return _first_tokens(grant)
            _end(grant)
    raise _unfit(client_id)


def refresh(*, client_id: str, refresh_token: str) -> IssuedTokens:
    """New tokens for a refresh token, which ends. Raises OAuthError; one that comes twice ends the grant."""
    family = refresh_token.partition(".")[0]
    with transaction.atomic():
        grant = _locked(family_digest=digest_of(family))
        if grant is not None and grant.token is not None:
            current = hmac.compare_digest(grant.refresh_digest, digest_of(refresh_token))
            if not current or grant.client.client_id != client_id:
                _end(grant)
            elif grant.membership.is_usable and timezone.now() < grant.ends_at and grant.token.revoked_at is None:
                end = min(grant.ends_at, timezone.now() + ACCESS_LIFE)
                access = renew_token(grant.token, expires_at=end, grace=RENEWAL_GRACE, actor=_actor(grant))
                return _issued(grant, access, family, end)
    raise _unfit(client_id)


def revoke(*, client_id: str, token: str) -> None:
    """End the grant of an access or refresh token of this client; others are left (RFC 7009)."""
    with transaction.atomic():
        digest = digest_of(token)
        grant = _locked(family_digest=digest_of(token.partition(".")[0])) or _locked(token__digest=digest)
        grant = grant or _locked(token__previous_digest=digest)  # it may have been renewed meanwhile
        if grant is not None and grant.client.client_id == client_id:
            _end(grant)


def _unfit(client_id: str) -> OAuthError:
    """The error for a code or token that does not fit; a client that was forgotten learns that it has to register."""
    if is_known(client_id):
        return OAuthError("invalid_grant", "Unknown, used or expired, or of another client; ask the member again.")
    return OAuthError(
        "invalid_client", gettext_noop("This client is not registered here, or was forgotten."), status=401
    )


def _locked(**which: str) -> OAuthGrant | None:
    rows = OAuthGrant.objects.select_for_update(of=("self",)).select_related(
        "client", "membership__tenant", "membership__user"
    )
    return rows.filter(**which).first()


def _first_tokens(grant: OAuthGrant) -> IssuedTokens:
    """Make the token of a grant, under the client's name and host, so that lists and the audit log name the client."""
    name = f"{grant.client.name or 'An agent'} ({host_of(grant.redirect_uri)[-36:]})"
    end = min(grant.ends_at, timezone.now() + ACCESS_LIFE)
    try:
        grant.token, access = issue_token(
            grant.membership,
            name=name,
            scopes=grant.scopes,
            expires_at=end,
            client_id=grant.client.client_id,
            actor=_actor(grant),
        )
    except (InvalidValue, Forbidden) as error:
        raise OAuthError("invalid_grant", str(error)) from None
    family = REFRESH_MARK + secrets.token_urlsafe(_SECRET_BYTES)
    grant.family_digest = digest_of(family)
    return _issued(grant, access, family, end)


def _issued(grant: OAuthGrant, access: str, family: str, end: datetime) -> IssuedTokens:
    plaintext = f"{family}.{secrets.token_urlsafe(_SECRET_BYTES)}"
    grant.refresh_digest = digest_of(plaintext)
    grant.save(update_fields=["token", "family_digest", "refresh_digest"])
    seconds = int((end - timezone.now()).total_seconds())
    return IssuedTokens(access, plaintext, tuple(grant.scopes), seconds)


def _end(grant: OAuthGrant) -> None:
    """End a grant with its token; one without a token is deleted."""
    if grant.token is None:
        grant.delete()
    else:
        revoke_token(grant.token, actor=_actor(grant))


def _actor(grant: OAuthGrant) -> Actor:
    """The member, who consented."""
    return Actor(ActorKind.MEMBER, grant.membership.user_id)


def _proves(verifier: str, challenge: str) -> bool:
    """Whether the verifier is that of the challenge (RFC 7636, S256)."""
    if not _VERIFIER.fullmatch(verifier):
        return False
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    return hmac.compare_digest(digest, challenge.encode())
