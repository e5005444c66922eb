"""API tokens: shown once in plaintext, stored only as sha256.

A token acts for one membership, a backend key for any ordinary member of its tenant (docs/adr/0026), with at most the
rights in its scopes. It stops working when it is revoked, expires, was not used for 90 days, is used from outside its
networks, or its membership, tenant or user is deactivated. Its 256 random bits make a plain digest safe from guessing.

A token is `mh_`, a backend key `mhb_`, then 43 random letters and digits, and 6 more that are the CRC32 of those (in
base 62, as GitHub's). The checksum lets a scanner of texts be sure that it found a token (`is_token`), without asking
anybody.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
import string
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.db.compiled_query import Prepared
from memoryhub.languages import number
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.audit.rights import token_record
from tenants.errors import Forbidden, InvalidValue, store
from tenants.models import ApiToken, Membership, Tenant, User
from tenants.principal import (
    AGENT_RIGHTS,
    ALL_RIGHTS,
    KEY_RIGHTS,
    SYSTEM,
    Actor,
    ActorKind,
    KeyHolder,
    Principal,
    Right,
)
from tenants.principals import principal_of
from tenants.selectors import administers

# Prefixes of every token and backend key, so that people and secret scanners recognise one.
TOKEN_MARK, KEY_MARK = "mh_", "mhb_"
# `last_used_at` is updated at most this often, so that not every request writes.
LAST_USED_EVERY = timedelta(minutes=1)
# The days that a token works if whoever issues it names no time, and the most that can be named.
TOKEN_DAYS, MAX_TOKEN_DAYS = 90, 3650
# After a rotation the old secret works for so long, unless another time is named, and the most that can be named.
ROTATION_GRACE, MAX_ROTATION_GRACE = timedelta(hours=24), timedelta(days=7)
MAX_NETWORKS = 50
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM_CHARACTERS, _CHECK_CHARACTERS = 43, 6  # 62 ** 43 > 2 ** 256, 62 ** 6 > 2 ** 32
_SHOWN_CHARACTERS = 6
_SECRET = rf"[0-9A-Za-z]{{{_RANDOM_CHARACTERS + _CHECK_CHARACTERS}}}"
TOKEN_PATTERN = re.compile(rf"(?:{TOKEN_MARK}|{KEY_MARK}){_SECRET}", re.ASCII)

_longest_days: list[Callable[[UUID], int | None]] = []


def limit_token_days(days_of: Callable[[UUID], int | None]) -> None:
    """Register a function that returns the most days that a new token of a tenant may last, or None."""
    if days_of not in _longest_days:
        _longest_days.append(days_of)


def is_token(text: str) -> bool:
    """Whether `text` is the plaintext of a token or key, by its checksum; says nothing about whether it works."""
    if not TOKEN_PATTERN.fullmatch(text):
        return False
    characters = text.partition("_")[2]
    return characters[_RANDOM_CHARACTERS:] == _checksum(characters[:_RANDOM_CHARACTERS])


def is_key(text: str) -> bool:
    """Whether `text` is the plaintext of a backend key, as `is_token`."""
    return text.startswith(KEY_MARK) and is_token(text)


def _checksum(characters: str) -> str:
    """The CRC32 of the characters, as 6 digits in base 62."""
    rest, digits = zlib.crc32(characters.encode()), ""
    for __ in range(_CHECK_CHARACTERS):
        rest, digit = divmod(rest, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def new_plaintext(mark: str = TOKEN_MARK) -> str:
    """A random token, or key."""
    characters = "".join(secrets.choice(_DIGITS) for _ in range(_RANDOM_CHARACTERS))
    return mark + characters + _checksum(characters)


def issue_token(
    membership: Membership,
    *,
    name: str,
    scopes: Iterable[Right | str] = AGENT_RIGHTS,
    expires_at: datetime | None = None,
    networks: Sequence[str] | None = None,
    issued_by: User | None = None,
    maker_id: UUID | None = None,
    client_id: str = "",
    actor: Actor = SYSTEM,
) -> tuple[ApiToken, str]:
    """A new token and its plaintext, which is stored nowhere. Raises InvalidValue; Forbidden if `issued_by` may not.

    Whoever holds the token can read the member's memory. So users issue tokens only for themselves, and administrators
    and backend keys only for members who cannot sign in. Without `expires_at` it works for TOKEN_DAYS, or for as long
    as the tenant allows if that is less. A token issued with another one, `maker_id`, reaches no further than that. The
    event names the OAuth client, `client_id`, that it is for.
    """
    if issued_by is not None and not may_issue_for(membership, issued_by):
        raise Forbidden(_("Tokens can be issued for oneself, and by admins for members who cannot sign in."))
    if actor.kind is ActorKind.KEY and signs_in(membership):
        raise Forbidden(_("A backend key issues tokens only for members who cannot sign in."))
    if not membership.is_usable:
        raise InvalidValue("membership", _("This membership is not active."))
    usual = timezone.now() + timedelta(days=min(TOKEN_DAYS, days_allowed(membership.tenant_id)))
    token = ApiToken(
        tenant_id=membership.tenant_id,
        membership=membership,
        name=name,
        scopes=_known_scopes(scopes, ALL_RIGHTS),
        networks=_known_networks(networks or ()),
        expires_at=expires_at,
        maker_id=maker_id,
    )
    return token, _issued(token, new_plaintext(), actor, usual=usual, wider=networks is None, client_id=client_id)


def issue_key(
    tenant: Tenant,
    *,
    name: str,
    scopes: Iterable[Right | str] = KEY_RIGHTS,
    expires_at: datetime | None = None,
    networks: Sequence[str] | None = None,
    issued_by: User | None = None,
    maker_id: UUID | None = None,
    plaintext: str = "",
    actor: Actor = SYSTEM,
) -> tuple[ApiToken, str]:
    """A new backend key of the tenant, and its plaintext, as `issue_token`.

    Only administrators and superusers issue one, and keys with the right to. It does not expire unless that is asked
    for, or the tenant's policy limits the life of tokens. `plaintext` is a key that was made elsewhere.
    """
    if issued_by is not None and not (issued_by.is_superuser or administers(issued_by, tenant.id)):
        raise Forbidden(_("Only administrators issue backend keys."))
    if not tenant.is_active:
        raise InvalidValue("tenant", _("This tenant is not active."))
    days = days_allowed(tenant.id)
    key = ApiToken(
        tenant=tenant,
        name=name,
        scopes=_known_scopes(scopes, frozenset(Right)),
        networks=_known_networks(networks or ()),
        expires_at=expires_at,
        maker_id=maker_id,
    )
    usual = timezone.now() + timedelta(days=days) if days < MAX_TOKEN_DAYS else None
    return key, _issued(key, plaintext or new_plaintext(KEY_MARK), actor, usual=usual, wider=networks is None)


def _issued(
    token: ApiToken, plaintext: str, actor: Actor, *, usual: datetime | None, wider: bool, client_id: str = ""
) -> str:
    """Store a token with this plaintext; `usual` is its end if it has none, `wider`: it names no networks."""
    now, days = timezone.now(), days_allowed(token.tenant_id)
    with transaction.atomic():
        if token.maker_id:
            usual = _narrow(token, token.maker_id, usual, wider=wider)
        token.expires_at = token.expires_at or usual
        if token.expires_at and token.expires_at <= now:
            raise InvalidValue("expires_at", _("Give a time in the future."))
        if token.expires_at and token.expires_at > now + timedelta(days=days, minutes=1):  # a minute to fill in a form
            raise InvalidValue(
                "expires_at",
                _("A token of this organisation works for at most %(days)s days.") % {"days": number(days)},
            )
        token.prefix, token.digest = _shown(plaintext), digest_of(plaintext)
        store(token)
        after: dict[str, Any] = {"name": token.name, "scopes": token.scopes, "expires_at": token.expires_at}
        after |= {"membership": token.membership_id, "networks": token.networks}
        after |= {"client": client_id} if client_id else {}
        draft = EventDraft("token.issued", "api_token", token.id, after=after, row=token_record(token))
        record_tenant_event(actor, token.tenant_id, draft)
    return plaintext


def _narrow(token: ApiToken, maker_id: UUID, usual: datetime | None, *, wider: bool) -> datetime | None:
    """Keep a new token within the rights, life and networks of its maker, which is locked against its revocation."""
    maker = ApiToken.objects.select_for_update(no_key=True).get(pk=maker_id)
    if maker.tenant_id != token.tenant_id or not maker.is_usable_at(timezone.now()):
        raise Forbidden(_("The token that makes this one does not work."))
    if beyond := set(token.scopes) - set(maker.scopes):
        raise Forbidden(_("A token gives only scopes that it has itself, so not %(scope)s.") % {"scope": min(beyond)})
    if maker.expires_at and token.expires_at and token.expires_at > maker.expires_at:
        raise InvalidValue("expires_at", _("Is later than the end of the token that makes this one."))
    if maker.networks and wider:
        token.networks = maker.networks
    elif maker.networks and not all(_is_within(network, maker.networks) for network in token.networks or ["::/0"]):
        raise InvalidValue("networks", _("Reach further than those of the token that makes this one."))
    return min(filter(None, (usual, maker.expires_at)), default=None)


def signs_in(membership: Membership) -> bool:
    """Whether the member may have a login of their own, rather than being a user of the tenant's system alone."""
    by_name = not membership.external_id or bool(membership.user_name)
    return by_name or membership.user.has_usable_password() or membership.identities.exists()


def may_issue_for(membership: Membership, user: User) -> bool:
    """Whether `user` may hold a token of this membership: their own, or an end user's in a tenant they administer."""
    if membership.user_id == user.id:
        return True
    return not signs_in(membership) and (user.is_superuser or administers(user, membership.tenant_id))


def days_allowed(tenant_id: UUID) -> int:
    """The most days that a new token of the tenant may last."""
    return min([MAX_TOKEN_DAYS, *filter(None, (days_of(tenant_id) for days_of in _longest_days))])


def rotate_token(token: ApiToken, *, grace: timedelta = ROTATION_GRACE, actor: Actor = SYSTEM) -> str:
    """Give the token a new secret, and return it; the old one works for `grace`. Raises InvalidValue.

    Scopes, networks and expiry stay. A secret from an earlier rotation ends at once.
    """
    if not timedelta() <= grace <= MAX_ROTATION_GRACE:
        raise InvalidValue("grace", _("Takes at most %(days)s days.") % {"days": MAX_ROTATION_GRACE.days})
    now = timezone.now()
    with transaction.atomic():
        locked = ApiToken.objects.select_for_update(no_key=True).get(pk=token.pk)
        if settings.MEMORYHUB_BOOTSTRAP_KEY and locked.digest == digest_of(settings.MEMORYHUB_BOOTSTRAP_KEY):
            # The next start would make the old secret work again.
            raise InvalidValue("token", _("Set another MEMORYHUB_BOOTSTRAP_KEY, start again, and revoke this one."))
        if not locked.is_usable_at(now):
            raise InvalidValue(
                "token", _("This token is %(state_at)s; make a new one.") % {"state_at": locked.state_at(now)}
            )
        return _with_new_secret(token, locked, grace, actor)


def renew_token(token: ApiToken, *, expires_at: datetime, grace: timedelta, actor: Actor = SYSTEM) -> str:
    """Give the token a new secret and end, and return the secret, also if it expired. Raises InvalidValue if revoked.

    For a token whose ground lasts longer than itself, such as a member's consent.
    """
    with transaction.atomic():
        locked = ApiToken.objects.select_for_update(no_key=True).get(pk=token.pk)
        if locked.revoked_at is not None:
            raise InvalidValue("token", _("This token is revoked; make a new one."))
        if locked.expires_at is not None:  # the old secret works no longer than it would have
            grace = min(grace, locked.expires_at - timezone.now())
        locked.expires_at = expires_at
        return _with_new_secret(token, locked, grace, actor)


def _with_new_secret(token: ApiToken, locked: ApiToken, grace: timedelta, actor: Actor) -> str:
    plaintext = new_plaintext(KEY_MARK if locked.is_key else TOKEN_MARK)
    locked.previous_digest, locked.previous_until = locked.digest, timezone.now() + grace
    locked.digest, locked.prefix = digest_of(plaintext), _shown(plaintext)
    store(locked, fields=["previous_digest", "previous_until", "digest", "prefix", "expires_at"])
    after = {"old_secret_until": locked.previous_until, "expires_at": locked.expires_at}
    draft = EventDraft("token.rotated", "api_token", locked.id, after=after, row=token_record(locked))
    record_tenant_event(actor, locked.tenant_id, draft)
    token.prefix, token.previous_until, token.expires_at = locked.prefix, locked.previous_until, locked.expires_at
    return plaintext


def revoke_token(token: ApiToken, *, actor: Actor = SYSTEM) -> None:
    """Revoke the token and all that were made with it. Revoking it again records nothing."""
    now = timezone.now()
    with transaction.atomic():
        waiting = [token]
        while waiting:
            each = waiting.pop()
            if ApiToken.objects.filter(id=each.id, revoked_at=None).update(revoked_at=now):
                each.revoked_at = now
                record_tenant_event(actor, each.tenant_id, EventDraft("token.revoked", "api_token", each.id))
                waiting += ApiToken.objects.filter(maker=each, revoked_at=None)


def authenticate_token(plaintext: str, *, request_id: str = "", address: str = "") -> Principal | None:
    """The principal of a member's token, used from this address.

    None for unknown, revoked, expired, unused and deactivated ones alike, and for a backend key.
    """
    token = _usable(plaintext, address)
    if token is None or token.membership is None or not token.membership.is_usable:
        return None
    _note_use(token)
    return principal_of(
        token.membership,
        actor_kind=ActorKind.TOKEN,
        actor_id=token.id,
        rights=token.rights & ALL_RIGHTS,
        request_id=request_id,
    )


def authenticate_key(plaintext: str, *, request_id: str = "", address: str = "") -> KeyHolder | None:
    """The holder of a backend key, used from this address; None as in `authenticate_token`, and for a member's."""
    token = _usable(plaintext, address)
    if token is None or not token.is_key or not token.tenant.is_active:
        return None
    _note_use(token)
    return KeyHolder(token.tenant_id, token.id, token.rights, request_id)


def sender_of(plaintext: str, address: str) -> UUID | None:
    """The user of a token or the tenant of a backend key that works now, from this address."""
    if is_key(plaintext):
        key = authenticate_key(plaintext, address=address)
        return key.tenant_id if key else None
    caller = authenticate_token(plaintext, address=address)
    return caller.user_id if caller else None


def issued_with(plaintext: str) -> ApiToken | None:
    """The token with this secret, or with this one before its last rotation, whether it works or not."""
    digest = digest_of(plaintext)
    return ApiToken.objects.filter(Q(digest=digest) | Q(previous_digest=digest)).first()


def _with_digest(digest: str, now: datetime) -> QuerySet[ApiToken]:
    rows = ApiToken.objects.select_related("tenant", "membership__tenant", "membership__user").order_by()
    return rows.filter(Q(digest=digest) | Q(previous_digest=digest, previous_until__gt=now))[:1]


_WITH_DIGEST = Prepared(_with_digest)


def _usable(plaintext: str, address: str) -> ApiToken | None:
    if not is_token(plaintext):
        return None
    digest, now = digest_of(plaintext), timezone.now()
    token = _WITH_DIGEST.first(digest, now)
    if token is None or not token.is_usable_at(now) or (token.networks and not _is_within(address, token.networks)):
        return None
    return token


def _note_use(token: ApiToken) -> None:
    now = timezone.now()
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_EVERY)
    if token.last_used_at is None or token.last_used_at <= now - LAST_USED_EVERY:
        ApiToken.objects.filter(stale, id=token.id).update(last_used_at=now)


def _is_within(address: str, networks: Iterable[str]) -> bool:
    """Whether an address or network lies in one of `networks`; an IPv4 address may be written as IPv6."""
    with suppress(ValueError):
        inner = ipaddress.ip_network(address)
        if isinstance(inner, ipaddress.IPv6Network) and inner.prefixlen == inner.max_prefixlen:
            mapped = inner.network_address.ipv4_mapped
            inner = ipaddress.ip_network(mapped) if mapped else inner
        for outer in map(ipaddress.ip_network, networks):
            if inner.version == outer.version and inner.subnet_of(outer):  # type: ignore[arg-type]  # one version
                return True
    return False


def _known_networks(networks: Sequence[str]) -> list[str]:
    if len(networks) > MAX_NETWORKS:
        raise InvalidValue("networks", _("Takes at most %(max_networks)s.") % {"max_networks": MAX_NETWORKS})
    try:
        return [str(ipaddress.ip_network(str(network).strip())) for network in networks]
    except ValueError:
        raise InvalidValue("networks", _("Write networks as 10.0.0.0/8 or 2001:db8::/32.")) from None


def _shown(plaintext: str) -> str:
    return plaintext[: plaintext.index("_") + 1 + _SHOWN_CHARACTERS]


def digest_of(plaintext: str) -> str:
    """The digest under which a random secret is stored."""
    return hashlib.sha256(plaintext.encode()).hexdigest()


def _known_scopes(scopes: Iterable[Right | str], allowed: frozenset[Right]) -> list[str]:
    wanted = {str(scope) for scope in scopes}
    if not wanted:
        raise InvalidValue("scopes", _("Choose at least one scope."))
    if unknown := wanted - {right.value for right in Right}:
        raise InvalidValue("scopes", _("There is no scope %(scope)s.") % {"scope": f"{min(unknown)!r}"})
    if beyond := wanted - {right.value for right in allowed}:
        raise InvalidValue("scopes", _("Only a backend key has the scope %(scope)s.") % {"scope": min(beyond)})
    return sorted(wanted)
