"""API tokens: shown once in plaintext, stored only as sha256.

A token acts for one membership with at most the rights in its scopes. It stops working when it is revoked, expires, was
not used for 90 days, or its membership, tenant or user is deactivated. Its 256 random bits make a plain digest safe
from guessing.

A token is `mh_`, 43 random letters and digits, and 6 more that are the CRC32 of those (in base 62, as GitHub's). The
checksum lets a scanner of texts be sure that it found a token (`is_token`), without asking anybody.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import zlib
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.audit.rights import token_record
from tenants.errors import Forbidden, InvalidValue, store
from tenants.models import ApiToken, Membership, User
from tenants.principal import AGENT_RIGHTS, SYSTEM, Actor, ActorKind, Principal, Right
from tenants.principals import principal_of
from tenants.selectors import administers

# Prefix of every token, so that people and secret scanners recognise one.
TOKEN_MARK = "mh_"  # noqa: S105 - the prefix of tokens, not a token
# `last_used_at` is updated at most this often, so that not every request writes.
LAST_USED_EVERY = timedelta(minutes=1)
# The days that a token works if whoever issues it names no time, and the most that can be named.
TOKEN_DAYS, MAX_TOKEN_DAYS = 90, 3650
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM_CHARACTERS, _CHECK_CHARACTERS = 43, 6  # 62 ** 43 > 2 ** 256, 62 ** 6 > 2 ** 32
_PREFIX_CHARACTERS = len(TOKEN_MARK) + 6
TOKEN_PATTERN = re.compile(rf"{TOKEN_MARK}[0-9A-Za-z]{{{_RANDOM_CHARACTERS + _CHECK_CHARACTERS}}}", re.ASCII)

_longest_days: list[Callable[[UUID], int | None]] = []


def limit_token_days(days_of: Callable[[UUID], int | None]) -> None:
    """Register a function that returns the most days that a new token of a tenant may last, or None."""
    if days_of not in _longest_days:
        _longest_days.append(days_of)


def is_token(text: str) -> bool:
    """Whether `text` is the plaintext of a token, by its checksum; says nothing about whether it works."""
    if not TOKEN_PATTERN.fullmatch(text):
        return False
    return text[-_CHECK_CHARACTERS:] == _checksum(text[len(TOKEN_MARK) : -_CHECK_CHARACTERS])


def _checksum(characters: str) -> str:
    """The CRC32 of the characters, as 6 digits in base 62."""
    rest, digits = zlib.crc32(characters.encode()), ""
    for _ in range(_CHECK_CHARACTERS):
        rest, digit = divmod(rest, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def new_plaintext() -> str:
    """A random token."""
    characters = "".join(secrets.choice(_DIGITS) for _ in range(_RANDOM_CHARACTERS))
    return TOKEN_MARK + characters + _checksum(characters)


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
    only for members who cannot sign in (`may_issue_for`). Without `expires_at` it works for TOKEN_DAYS, or for as long
    as the tenant allows if that is less.
    """
    if issued_by is not None and not may_issue_for(membership, issued_by):
        raise Forbidden("Tokens can be issued for oneself, and by admins for members who cannot sign in.")
    if not membership.is_usable:
        raise InvalidValue("membership", "This membership is not active.")
    now, days = timezone.now(), _days_allowed(membership.tenant_id)
    expires_at = expires_at or now + timedelta(days=min(TOKEN_DAYS, days))
    if expires_at <= now:
        raise InvalidValue("expires_at", "Give a time in the future.")
    if expires_at > now + timedelta(days=days, minutes=1):  # a minute to fill in the form
        raise InvalidValue("expires_at", f"A token of this organisation works for at most {days:,} days.")
    plaintext = new_plaintext()
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
        draft = EventDraft("token.issued", "api_token", token.id, after=after, row=token_record(token))
        record_tenant_event(actor, membership.tenant_id, draft)
    return token, plaintext


def may_issue_for(membership: Membership, user: User) -> bool:
    """Whether `user` may hold a token of this membership: their own, or an end user's in a tenant they administer."""
    if membership.user_id == user.id:
        return True
    signs_in = not membership.external_id or membership.user.has_usable_password()
    return not signs_in and (user.is_superuser or administers(user, membership.tenant_id))


def _days_allowed(tenant_id: UUID) -> int:
    return min([MAX_TOKEN_DAYS, *filter(None, (days_of(tenant_id) for days_of in _longest_days))])


def revoke_token(token: ApiToken, *, actor: Actor = SYSTEM) -> None:
    """Revoke the token. Revoking it again records nothing."""
    now = timezone.now()
    with transaction.atomic():
        if ApiToken.objects.filter(id=token.id, revoked_at=None).update(revoked_at=now):
            token.revoked_at = now
            record_tenant_event(actor, token.membership.tenant_id, EventDraft("token.revoked", "api_token", token.id))


def authenticate_token(plaintext: str, *, request_id: str = "") -> Principal | None:
    """The principal of a token; None for unknown, revoked, expired, unused and deactivated ones alike."""
    if not is_token(plaintext):
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
