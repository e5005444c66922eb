"""One member's search key: its encrypted secret, the claim of the process that makes it, and reading it for a search.

A process claims the credential in a short transaction, asks Elasticsearch without holding a lock, and stores the answer
in another transaction if the claim still holds. If the claim was lost, the new key is retired and never used. The lock
is the owner's (tenants/locks.py), taken before any audit chain's. Each secret is bound to its member; encryption keys
can be rotated. A refused search is recorded on the owner's chain.
"""

from __future__ import annotations

import functools
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memoryhub.env.values import development_secret
from memoryhub.leases import backoff
from tenants.audit.chain import EventDraft, record_events, record_tenant_event
from tenants.errors import NoSearchKey, SearchKeysUnavailable
from tenants.locks import wait_for_owner
from tenants.models import MAY_ACT, CredentialState, KeyTrouble, Membership, RetiredKey, SearchCredential
from tenants.principal import Actor, Principal
from tenants.search_keys.cluster import Minted


class Undecipherable(Exception):
    """No configured key decrypts the secret, or it was encrypted for another member."""


def box() -> MultiFernet:
    """Encrypts with the first configured key and decrypts with all.

    Raises ImproperlyConfigured, OSError in development.
    """
    return _box(_keys())


def _keys() -> tuple[str, ...]:
    keys: tuple[str, ...] = settings.MEMORYHUB_CREDENTIAL_KEYS
    if not keys and settings.PRODUCTION:
        raise ImproperlyConfigured("Set MEMORYHUB_CREDENTIAL_KEYS.")
    return keys or (development_secret(settings.MEMORYHUB_DATA_DIR, "credential_key"),)


@functools.lru_cache(maxsize=4)
def _box(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def seal(membership_id: UUID, encoded: str, *, using: MultiFernet) -> str:
    """Encrypt an encoded key together with its member's id."""
    return using.encrypt(json.dumps([str(membership_id), encoded]).encode()).decode()


def unseal(membership_id: UUID, secret: str) -> str:
    """Decrypt an encoded key. Raises Undecipherable, also for a secret copied from another member."""
    try:
        owner, encoded = json.loads(box().decrypt(secret.encode()))
    except (InvalidToken, ValueError) as error:
        raise Undecipherable from error
    if owner != str(membership_id):
        raise Undecipherable
    return str(encoded)


def with_first_key(secret: str) -> str:
    """`secret` encrypted with the first configured key; the same text if it is already. Raises InvalidToken."""
    with suppress(InvalidToken):
        _box(_keys()[:1]).decrypt(secret.encode())
        return secret
    return box().rotate(secret.encode()).decode()


def reencrypt(credentials: QuerySet[SearchCredential]) -> tuple[int, list[UUID]]:
    """Encrypt each secret with the first key; returns how many are, and the members whose secret no key decrypts.

    A key that is replaced meanwhile is skipped: its new secret is encrypted with the first key already.
    """
    done, closed = 0, []
    held = credentials.exclude(secret="").order_by("membership_id").values_list("membership_id", "secret")
    for membership_id, secret in held.iterator():
        try:
            anew = with_first_key(secret)
        except InvalidToken:
            closed.append(membership_id)
            continue
        done += SearchCredential.objects.filter(membership_id=membership_id, secret=secret).update(secret=anew)
    return done, closed


log = logging.getLogger(__name__)

# Exceeds the time to make a key and search with it; a claim expires after it if its process died.
LEASE = timedelta(seconds=30)
# Exceeds SEARCH_SECONDS, the longest that a search can still use the old key after its replacement.
GRACE = timedelta(seconds=10)
FIRST_RETRY_SECONDS = 5.0
LONGEST_RETRY_SECONDS = 600.0
# A key is replaced after this share of its life, so that members can search while Elasticsearch is down for days.
ROTATE_AFTER = 2 / 3


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """Permission to make this member's next key."""

    token: UUID
    membership_id: UUID
    tenant_id: UUID
    user_id: UUID
    number: int


def locked(membership_ids: Iterable[UUID]) -> list[SearchCredential]:
    """Lock these members for this transaction, in order of id (`tenants/locks.py`); returns their credentials.

    Those are ordered by tenant, so that writing to the tenants' audit chains cannot deadlock either.
    """
    wanted = list(membership_ids)
    owners = Membership.objects.select_for_update(of=("self",), no_key=True).filter(id__in=wanted)
    list(owners.order_by("id").values_list("id", flat=True))
    return list(
        SearchCredential.objects.select_related("membership__tenant", "membership__user")
        .filter(membership_id__in=wanted)
        .order_by("membership__tenant_id", "membership_id")
    )


def locked_one(membership_id: UUID) -> SearchCredential | None:
    """Lock this member for this transaction; returns their credential, or None."""
    return next(iter(locked([membership_id])), None)


def claim(membership_id: UUID, *, wanted: Callable[[SearchCredential], bool]) -> KeyClaim | None:
    """Claim a member's next key.

    None if the credential is not `wanted`, the member is inactive, or another claim holds.
    """
    now = timezone.now()
    with transaction.atomic():
        credential = locked_one(membership_id)
        if credential is None or not credential.membership.is_usable or not wanted(credential):
            return None
        if credential.claimed_until is not None and credential.claimed_until > now:
            return None
        credential.claim, credential.claimed_until = uuid.uuid4(), now + LEASE
        credential.number += 1
        credential.save(update_fields=["claim", "claimed_until", "number"])
    membership = credential.membership
    return KeyClaim(credential.claim, membership_id, membership.tenant_id, membership.user_id, credential.number)


def store(held: KeyClaim, minted: Minted, *, secret: str, grace: timedelta, action: str, actor: Actor) -> bool:
    """Activate the key and retire the previous one after `grace`.

    If the claim was lost, retire the key; returns False.
    """
    with transaction.atomic():
        credential = locked_one(held.membership_id)
        if credential is None or credential.claim != held.token or not credential.membership.is_usable:
            retire(minted.key_id, held.membership_id, minted.minted_at, due_at=timezone.now())
            return False
        before = credential.key_id
        if before:
            retire(before, held.membership_id, credential.minted_at, due_at=timezone.now() + grace)
        _activate(credential, minted, secret)
        draft = EventDraft(
            action,
            "membership",
            held.membership_id,
            before={"key_id": before} if before else None,
            after={"key_id": minted.key_id, "expires_at": minted.expires_at},
        )
        record_tenant_event(actor, held.tenant_id, draft)
    return True


def give_up(held: KeyClaim, error: SearchKeysUnavailable) -> None:
    """Release the claim, store the reason and the time of the next try: after 5 seconds, then 10, 20 … 10 minutes."""
    with transaction.atomic():
        credential = locked_one(held.membership_id)
        if credential is None or credential.claim != held.token:
            return
        credential.claim = credential.claimed_until = None
        wait = FIRST_RETRY_SECONDS * backoff(credential.attempts, LONGEST_RETRY_SECONDS / FIRST_RETRY_SECONDS)
        credential.retry_at = timezone.now() + timedelta(seconds=wait)
        credential.attempts += 1
        credential.trouble = error.trouble
        if credential.state == CredentialState.ACTIVE:  # a rotation was requested; `rotate_due` retries it
            credential.rotate_at = timezone.now()
        credential.save(update_fields=["claim", "claimed_until", "retry_at", "attempts", "trouble", "rotate_at"])
    log.warning("No search key for membership %s: %s", held.membership_id, error)


def retire(key_id: str, membership_id: UUID | None, minted_at: datetime | None, *, due_at: datetime) -> None:
    """Let Elasticsearch end a key after `due_at`; call it in the transaction that stops using the key."""
    RetiredKey.objects.update_or_create(
        key_id=key_id,
        defaults={"due_at": due_at},
        create_defaults={"membership_id": membership_id, "minted_at": minted_at or due_at, "due_at": due_at},
    )


def take_key(credential: SearchCredential, state: CredentialState) -> str:
    """Remove the key from a locked credential and retire it at once; returns its id, empty if there was none."""
    key_id = credential.key_id
    if key_id:
        retire(key_id, credential.membership_id, credential.minted_at, due_at=timezone.now())
    credential.state = state.value
    credential.key_id = credential.secret = ""
    credential.minted_at = credential.expires_at = credential.rotate_at = None
    _save_settled(credential)
    return key_id


def _activate(credential: SearchCredential, minted: Minted, secret: str) -> None:
    credential.state = CredentialState.ACTIVE.value
    credential.key_id, credential.secret = minted.key_id, secret
    credential.minted_at, credential.expires_at = minted.minted_at, minted.expires_at
    credential.rotate_at = minted.minted_at + (minted.expires_at - minted.minted_at) * ROTATE_AFTER
    _save_settled(credential)


def _save_settled(credential: SearchCredential) -> None:
    """Save a credential without a claim and without a failed attempt."""
    credential.claim = credential.claimed_until = None
    credential.attempts, credential.trouble, credential.retry_at = 0, KeyTrouble.NONE.value, timezone.now()
    credential.save()


SENTENCES = {
    "missing": "This member has no search key yet.",
    CredentialState.PENDING.value: "The search key of this member is not made yet; it will be, as soon as possible.",
    CredentialState.SUSPENDED.value: "This membership is not active.",
    CredentialState.REVOKED.value: "The search key of this member was revoked.",
    "expired": "The search key of this member has expired; it will be replaced as soon as possible.",
    "undecipherable": "The search key of this member cannot be read; it has to be replaced.",
}

# The columns that a search needs; every search reads them.
_READ = ("state", "key_id", "secret", "expires_at", "attempts", "retry_at", *MAY_ACT)
# Making a key takes less than a second.
_MADE_WITHIN, _LOOK_AGAIN_SECONDS = timedelta(seconds=3), 0.05


@dataclass(frozen=True, slots=True)
class SearchKey:
    """A key for a search; `encoded` is the secret."""

    key_id: str
    encoded: str = field(repr=False)


def search_key(principal: Principal) -> SearchKey:
    """The active key of the principal's membership. Raises NoSearchKey, whose `state` is a key of SENTENCES.

    A key that is being made for a new member is waited for: a member's first requests often come together.
    """
    found = _own(principal).values_list(*_READ).first()
    while found is not None and _is_being_made(*found):
        time.sleep(_LOOK_AGAIN_SECONDS)
        found = _own(principal).values_list(*_READ).first()
    if found is None:
        raise no_key("missing")
    state, key_id, secret, expires_at, _, _, *may_act = found
    if not all(may_act):
        raise no_key(CredentialState.SUSPENDED.value)
    if state != CredentialState.ACTIVE:
        raise no_key(state)
    if expires_at is None or expires_at <= timezone.now():
        raise no_key("expired")
    try:
        return SearchKey(key_id, unseal(principal.membership_id, secret))
    except Undecipherable:
        raise no_key("undecipherable") from None


def _is_being_made(state: str, *rest: Any) -> bool:
    """Whether a first key was asked for just now. A transaction does not wait: it may hold what the key waits for."""
    _, _, _, attempts, since, *_ = rest
    if state != CredentialState.PENDING or attempts or transaction.get_connection().in_atomic_block:
        return False
    return bool(timezone.now() < since + _MADE_WITHIN)


def _own(principal: Principal) -> QuerySet[SearchCredential]:
    return SearchCredential.objects.filter(
        membership_id=principal.membership_id,
        membership__tenant_id=principal.tenant_id,
        membership__user_id=principal.user_id,
    )


def no_key(state: str) -> NoSearchKey:
    """The error of a `state` in SENTENCES."""
    return NoSearchKey(state, SENTENCES[state])


# At most one event per member in this time.
EVERY = timedelta(minutes=1)


def record_refusal(principal: Principal, *, reason: str) -> None:
    """Record that this member's search was refused, at most once a minute; `reason` is text of this program."""
    now = timezone.now()
    quiet = Q(refused_at=None) | Q(refused_at__lte=now - EVERY)
    rows = _own(principal)
    if rows.exclude(quiet).exists():
        return
    with transaction.atomic():
        if not wait_for_owner(principal):
            return
        SearchCredential.objects.get_or_create(membership_id=principal.membership_id)
        if rows.filter(quiet).update(refused_at=now):
            draft = EventDraft("search.refused", "membership", principal.membership_id, reason)
            record_events(principal, [draft])
