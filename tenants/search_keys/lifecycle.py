"""Making and rotating members' keys, and what happens to a key when a member comes, changes, goes or returns.

A key takes over from another only after a search with it succeeded, and the other ends only when no search can still
hold it. Functions here do not raise for a cluster that is down: the credential records it and is tried again. Changes
of members call them within their transaction; the cluster is asked after the commit and never fails it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from memoryhub.elasticsearch import in_use
from tenants.errors import SearchKeysUnavailable
from tenants.models import CredentialState, KeyTrouble, Membership, SearchCredential, Tenant, User
from tenants.models.search_credential import USABLE
from tenants.principal import SYSTEM, Actor
from tenants.search_keys import cluster
from tenants.search_keys.claims import GRACE, KeyClaim, SearchKey, box, claim, give_up, retire, seal, store
from tenants.search_keys.ending import resume, suspend, suspend_strays
from tenants.search_keys.policy import member_key_name, temporary_key_name
from tenants.selectors import active_memberships

# No temporary key outlives a long proof.
LONGEST_TEMPORARY = timedelta(days=1)
PER_SWEEP = 500


class KeyOutcome(StrEnum):
    """What became of an attempt to make a key."""

    MADE = "made"
    NOT_NEEDED = "not needed"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Swept:
    """How many keys a sweep made, or ended, and how many it has to try again."""

    done: int = 0
    failed: int = 0


def provision(membership: Membership, *, actor: Actor = SYSTEM) -> KeyOutcome:
    """Make the key of a member who has no valid one and may have one; a failure is noted and tried again."""
    return _provision(membership.id, actor)


def rotate(
    membership: Membership, *, grace: timedelta = GRACE, actor: Actor = SYSTEM, action: str = "search_key.rotated"
) -> KeyOutcome:
    """Replace a member's key by a proven one; the old one ends after `grace`. On failure the old one stays."""
    return _rotate(membership.id, grace=grace, actor=actor, action=action)


def mint_waiting(*, limit: int = PER_SWEEP) -> Swept:
    """Make the keys that are waiting for it: pending ones whose time has come, expired ones, and those never begun."""
    begin_missing(active_memberships())
    resume()
    now = timezone.now()
    waiting = Q(state=CredentialState.PENDING) | Q(state=CredentialState.ACTIVE, expires_at__lte=now)
    return _counted(
        _provision(membership_id, SYSTEM) for membership_id in _due(waiting, now).order_by("retry_at")[:limit]
    )


def rotate_due(now: datetime | None = None, *, limit: int = PER_SWEEP) -> Swept:
    """Replace the keys that have reached two thirds of their life, the oldest first.

    It also looks for members who were deactivated by another way than the services, and takes their keys.
    """
    now = now or timezone.now()
    suspend_strays()
    due = _due(Q(state=CredentialState.ACTIVE, rotate_at__lte=now), now).order_by("rotate_at")[:limit]
    return _counted(_rotate(membership_id, grace=GRACE, actor=SYSTEM, due=now) for membership_id in due)


def temporary_key(tenant_id: UUID, user_id: UUID, *, lifetime: timedelta) -> SearchKey:
    """A key with this member's rights that no membership keeps, to warm up or to prove something with.

    It ends by itself, or by `invalidate`. Raises SearchKeysUnavailable; ValueError for more than a day.
    """
    if lifetime > LONGEST_TEMPORARY:
        raise ValueError("A temporary key lives for a day at most.")
    minted = cluster.mint(
        name=temporary_key_name(),
        tenant_id=tenant_id,
        user_id=user_id,
        lifetime=lifetime,
        metadata={"tenant": str(tenant_id), "user": str(user_id)},
    )
    return SearchKey(minted.key_id, minted.encoded)


def begin_missing(memberships: QuerySet[Membership]) -> int:
    """Give a pending credential to each of these members who has none; return how many."""
    if not in_use():
        return 0
    missing = memberships.filter(search_credential=None).order_by("id").values_list("id", flat=True)
    rows = [SearchCredential(membership_id=membership_id) for membership_id in missing[:PER_SWEEP]]
    SearchCredential.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _provision(membership_id: UUID, actor: Actor) -> KeyOutcome:
    held = claim(membership_id, wanted=_waits_for_a_key)
    return KeyOutcome.NOT_NEEDED if held is None else _make(held, GRACE, "search_key.minted", actor, proven=False)


def _rotate(
    membership_id: UUID,
    *,
    grace: timedelta,
    actor: Actor,
    action: str = "search_key.rotated",
    due: datetime | None = None,
) -> KeyOutcome:
    def wanted(credential: SearchCredential) -> bool:
        if credential.state != CredentialState.ACTIVE:
            return False
        return due is None or (credential.rotate_at is not None and credential.rotate_at <= due)

    held = claim(membership_id, wanted=wanted)
    return KeyOutcome.NOT_NEEDED if held is None else _make(held, grace, action, actor, proven=True)


def _make(held: KeyClaim, grace: timedelta, action: str, actor: Actor, *, proven: bool) -> KeyOutcome:
    encryption = box()  # before there is a key that could not be kept
    minted = None
    try:
        minted = cluster.mint(
            name=member_key_name(held.membership_id, held.number),
            tenant_id=held.tenant_id,
            user_id=held.user_id,
            lifetime=timedelta(days=settings.MEMORYHUB_KEY_DAYS),
            metadata={
                "tenant": str(held.tenant_id),
                "user": str(held.user_id),
                "membership": str(held.membership_id),
            },
        )
        if proven:
            cluster.prove(minted.encoded)
    except SearchKeysUnavailable as error:
        if minted is not None:
            retire(minted.key_id, held.membership_id, minted.minted_at, due_at=timezone.now())
        give_up(held, error)
        return KeyOutcome.UNREACHABLE if error.trouble == KeyTrouble.UNREACHABLE else KeyOutcome.FAILED
    secret = seal(held.membership_id, minted.encoded, using=encryption)
    stored = store(held, minted, secret=secret, grace=grace, action=action, actor=actor)
    return KeyOutcome.MADE if stored else KeyOutcome.NOT_NEEDED


def _waits_for_a_key(credential: SearchCredential) -> bool:
    if credential.state == CredentialState.ACTIVE:
        return credential.expires_at is None or credential.expires_at <= timezone.now()
    return credential.state == CredentialState.PENDING


def _due(condition: Q, now: datetime) -> QuerySet[SearchCredential, UUID]:
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    return SearchCredential.objects.filter(condition & USABLE & free, retry_at__lte=now).values_list(
        F("membership_id"), flat=True
    )


def _counted(outcomes: Iterable[KeyOutcome]) -> Swept:
    made = failed = 0
    for outcome in outcomes:
        made += outcome is KeyOutcome.MADE
        failed += outcome in {KeyOutcome.FAILED, KeyOutcome.UNREACHABLE}
        if outcome is KeyOutcome.UNREACHABLE:
            break  # the others would wait for the same cluster
    return Swept(made, failed)


# Whoever comes back with more members than these waits for the next sweep (`mint_waiting`) to make the other keys.
AT_ONCE = 100


def member_added(membership: Membership, *, actor: Actor = SYSTEM) -> None:
    """A new member gets a key."""
    if begin_missing(Membership.objects.filter(id=membership.id)):
        transaction.on_commit(partial(provision, membership, actor=actor), robust=True)


def role_changed(membership: Membership, *, actor: Actor = SYSTEM) -> None:
    """A member with another role gets another key; if the cluster is down, as soon as it is back."""
    active = SearchCredential.objects.filter(membership_id=membership.id, state=CredentialState.ACTIVE)
    if active.update(rotate_at=timezone.now()):
        transaction.on_commit(partial(rotate, membership, actor=actor), robust=True)


def deactivated(what: Membership | Tenant | User, *, actor: Actor = SYSTEM) -> None:
    """Take the keys of members who can no longer act."""
    noun = what._meta.model_name or ""
    suspend(_of(what), reason=f"{noun} deactivated", actor=actor)


def activated(what: Membership | Tenant | User, *, actor: Actor = SYSTEM) -> None:
    """Give members who can act again a new key."""
    if SearchCredential.objects.filter(_of(what), state=CredentialState.SUSPENDED).exists():
        transaction.on_commit(lambda: _provide(resume(_of(what)), actor), robust=True)


def _of(what: Membership | Tenant | User) -> Q:
    match what:
        case Membership():
            return Q(membership_id=what.id)
        case Tenant():
            return Q(membership__tenant_id=what.id)
        case _:
            return Q(membership__user_id=what.id)


def _provide(membership_ids: list[UUID], actor: Actor) -> None:
    for membership in Membership.objects.filter(id__in=membership_ids[:AT_ONCE]):
        if provision(membership, actor=actor) is KeyOutcome.UNREACHABLE:
            return
