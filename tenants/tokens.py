"""API tokens: shown once in plaintext, stored only as sha256.

A token acts for one membership with at most the rights in its scopes. It stops working when it is revoked, expires, or
its membership, tenant or user is deactivated. Its 256 random bits make a plain digest safe from guessing.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import Forbidden, InvalidValue, store
from tenants.models import ApiToken, Membership, User
from tenants.principal import AGENT_RIGHTS, SYSTEM, Actor, ActorKind, Principal, Right
from tenants.principals import principal_of
from tenants.selectors import administers

# Prefix of every token, so that people and secret scanners recognise one.
TOKEN_MARK = "mh_"  # noqa: S105 - the prefix of tokens, not a token
# `last_used_at` is updated at most this often, so that not every request writes.
LAST_USED_EVERY = timedelta(minutes=1)
_RANDOM_BYTES = 32
_PREFIX_CHARACTERS = len(TOKEN_MARK) + 6
_MAX_CHARACTERS = 100


def issue_token(
    membership: Membership,
    *,
    name: str,
    scopes: Iterable[Right | str] = AGENT_RIGHTS,
    expires_at: datetime | None = None,
    issued_by: User | None = None,
    actor: Actor = SYSTEM,
) -> tuple[ApiToken, str]:
    """A new token and its plaintext, which is stored nowhere. Raises InvalidValue; Forbidden if `issued_by` may not.

    Whoever holds the token can read the member's memory. So users issue tokens only for themselves, and administrators
    only for members who cannot sign in (`may_issue_for`).
    """
    if issued_by is not None and not may_issue_for(membership, issued_by):
        raise Forbidden("Tokens can be issued for oneself, and by admins for members who cannot sign in.")
    if not membership.is_usable:
        raise InvalidValue("membership", "This membership is not active.")
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidValue("expires_at", "Give a time in the future.")
    plaintext = TOKEN_MARK + secrets.token_urlsafe(_RANDOM_BYTES)
    token = ApiToken(
        membership=membership,
        name=name,
        prefix=plaintext[:_PREFIX_CHARACTERS],
        digest=_digest(plaintext),
        scopes=_known_scopes(scopes),
        expires_at=expires_at,
    )
    with transaction.atomic():
        store(token)
        after = {"name": name, "membership": membership.id, "scopes": token.scopes, "expires_at": expires_at}
        record_tenant_event(actor, membership.tenant_id, EventDraft("token.issued", "api_token", token.id, after=after))
    return token, plaintext


def may_issue_for(membership: Membership, user: User) -> bool:
    """Whether `user` may hold a token of this membership: their own, or an end user's in a tenant they administer."""
    if membership.user_id == user.id:
        return True
    signs_in = not membership.external_id or membership.user.has_usable_password()
    return not signs_in and (user.is_superuser or administers(user, membership.tenant_id))


def revoke_token(token: ApiToken, *, actor: Actor = SYSTEM) -> None:
    """Revoke the token. Revoking it again records nothing."""
    now = timezone.now()
    with transaction.atomic():
        if ApiToken.objects.filter(id=token.id, revoked_at=None).update(revoked_at=now):
            token.revoked_at = now
            record_tenant_event(actor, token.membership.tenant_id, EventDraft("token.revoked", "api_token", token.id))


def authenticate_token(plaintext: str, *, request_id: str = "") -> Principal | None:
    """The principal of a token; None for unknown, revoked, expired and deactivated ones alike."""
    if not plaintext.startswith(TOKEN_MARK) or not plaintext.isascii() or len(plaintext) > _MAX_CHARACTERS:
        return None
    token = (
        ApiToken.objects.select_related("membership__tenant", "membership__user")
        .filter(digest=_digest(plaintext))
        .first()
    )
    now = timezone.now()
    if token is None or not token.is_usable_at(now) or not token.membership.is_usable:
        return None
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_EVERY)
    if token.last_used_at is None or token.last_used_at <= now - LAST_USED_EVERY:
        ApiToken.objects.filter(stale, id=token.id).update(last_used_at=now)
    return principal_of(
        token.membership,
        actor_kind=ActorKind.TOKEN,
        actor_id=token.id,
        rights=token.rights,
        request_id=request_id,
    )


def _digest(plaintext: str) -> str:
    return hashlib.sha256(plaintext.encode()).hexdigest()


def _known_scopes(scopes: Iterable[Right | str]) -> list[str]:
    wanted = {str(scope) for scope in scopes}
    if not wanted:
        raise InvalidValue("scopes", "Choose at least one scope.")
    if unknown := wanted - {right.value for right in Right}:
        raise InvalidValue("scopes", f"There is no scope {min(unknown)!r}.")
    return sorted(wanted)
