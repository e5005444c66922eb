"""Lifecycle of search keys: makes, replaces, revokes and ends them as members are added, changed and deactivated.

The transaction that takes a member's right to search also takes the key from the credential, so the application uses it
no more. Elasticsearch ends the key within seconds, or when it is reachable again; until then the key is in RetiredKey.

A new key replaces another only after a search with it succeeded; the old one ends after GRACE. These functions do not
raise if Elasticsearch is down: the credential records it, and a job retries. A key that fails by itself stops no other.
Services of members call them in their transaction; requests to Elasticsearch follow the commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from memoryhub.elasticsearch import in_use
from memoryhub.health import PartState
from memoryhub.jobs import Unavailable
from memoryhub.leases import due, fault_of, halved, passes
from tenants.audit.chain import EventDraft, record_tenant_event
from tenants.errors import SearchKeysUnavailable
from tenants.models import USABLE, CredentialState, KeyTrouble, Membership, RetiredKey, SearchCredential, Tenant, User
from tenants.principal import SYSTEM, Actor
from tenants.search_keys import cluster
from tenants.search_keys.claims import (
    GRACE,
    LEASE,
    LONGEST_RETRY_SECONDS,
    KeyClaim,
    SearchKey,
    box,
    claim,
    give_up,
    locked,
    locked_one,
    retire,
    seal,
    store,
    take_key,
)
from tenants.search_keys.cluster import is_temporary, member_key_name, temporary_key_name
from tenants.selectors import active_memberships

log = logging.getLogger(__name__)

# Elasticsearch lists a new key about a second after it was made, because `mint` does not wait for a refresh.
VISIBLE_AFTER = timedelta(seconds=15)
# A younger key without a row may be about to be stored.
ORPHAN_AFTER = 4 * LEASE
PER_REQUEST = 500
# If the cluster refuses to end more keys than this one by one, the fault is not theirs.
MOST_REFUSED = 3


@dataclass(frozen=True, slots=True)
class EndedKeys:
    """The number of keys ended at Elasticsearch, and of those still to end."""

    done: int = 0
    waiting: int = 0


def revoke(membership: Membership, *, actor: Actor = SYSTEM) -> bool:
    """Take a member's key; the member gets none until `allow`. Returns False if it was revoked already."""
    with transaction.atomic():
        credential = locked_one(membership.id)
        if credential is None or credential.state == CredentialState.REVOKED:
            return False
        taken = _take([credential], CredentialState.REVOKED, "by hand", actor)
        if not taken and actor != SYSTEM:  # record a person's act also if there was no key
            draft = EventDraft("search_key.revoked", "membership", membership.id, "by hand")
            record_tenant_event(actor, credential.membership.tenant_id, draft)
        end_on_commit(taken)
    return True


def still_ending(membership: Membership) -> bool:
    """Whether Elasticsearch has yet to end a key that was taken from this member."""
    return RetiredKey.objects.filter(membership_id=membership.id, due_at__lte=timezone.now()).exists()


def suspend(memberships: Q, *, reason: str, actor: Actor) -> None:
    """Take the keys of members who were just deactivated, in the caller's transaction.

    `memberships` is a condition on credentials. A key revoked by an operator stays revoked.
    """
    usual = [CredentialState.PENDING.value, CredentialState.ACTIVE.value]
    rows = _locked_where(memberships & Q(state__in=usual))
    end_on_commit(_take(rows, CredentialState.SUSPENDED, reason, actor))


def suspend_strays() -> None:
    """Take the keys of members who were deactivated without the services, for instance by SQL."""
    with transaction.atomic():
        suspend(~USABLE, reason="not active", actor=SYSTEM)


def resume(memberships: Q | None = None) -> list[UUID]:
    """Let active members among these (or all) have a key again; returns the ids of those whose key is to be made."""
    with transaction.atomic():
        rows = _locked_where((memberships or Q()) & USABLE & Q(state=CredentialState.SUSPENDED.value))
        for credential in rows:
            take_key(credential, CredentialState.PENDING)
    return [credential.membership_id for credential in rows]


def allow(membership: Membership) -> None:
    """Undo `revoke`. `provision` makes the key."""
    with transaction.atomic():
        credential = locked_one(membership.id)
        if credential is not None and credential.state == CredentialState.REVOKED:
            take_key(credential, CredentialState.PENDING)


def invalidate(key_ids: Iterable[str]) -> None:
    """End keys that belong to no membership; `revoke_waiting` retries those that fail."""
    now = timezone.now()
    wanted = list(key_ids)
    for key_id in wanted:
        retire(key_id, None, now, due_at=now)
    end_now(wanted)


def end_on_commit(key_ids: Sequence[str]) -> None:
    """End these retired keys after the caller's transaction commits; a failure is left to `revoke_waiting`."""
    if key_ids:
        transaction.on_commit(lambda: _end_all(key_ids), robust=True)


def revoke_waiting(now: datetime | None = None) -> EndedKeys:
    """End every retired key whose `due_at` has passed."""
    now = now or timezone.now()
    due = RetiredKey.objects.filter(due_at__lte=now).order_by("due_at")
    done = _end_all(list(due.values_list("key_id", flat=True)))
    return EndedKeys(done, due.count())


def end_now(key_ids: Sequence[str]) -> int:
    """Ask Elasticsearch to end these retired keys; returns how many ended. A failure is stored with each."""
    if not key_ids:
        return 0
    rows = RetiredKey.objects.filter(key_id__in=key_ids)
    done = failed = 0

    def end(some: Sequence[str]) -> None:
        nonlocal done
        ended = cluster.invalidate(some)
        unclear = [key_id for key_id in some if key_id not in ended]
        ended |= _over(unclear) if unclear else set()
        of_some = rows.filter(key_id__in=some)
        of_some.exclude(key_id__in=ended).update(attempts=F("attempts") + 1, trouble=KeyTrouble.NONE.value)
        done += of_some.filter(key_id__in=ended).delete()[0]

    def refused(key_id: str, error: Exception) -> None:
        nonlocal failed
        failed += 1
        if failed > MOST_REFUSED:
            raise error
        _note_trouble(rows.filter(key_id=key_id), error)

    try:
        halved(key_ids, end, refused, may_pass=_of_cluster)
    except Exception as error:  # noqa: BLE001 - stored, and tried again by `revoke_waiting`
        _note_trouble(rows, error)
    return done


def _of_cluster(error: BaseException) -> bool:
    """Whether every key fails in this way, because the cluster is away, or refuses or does not know the minter."""
    one = {KeyTrouble.FAILED.value, KeyTrouble.UNPROVEN.value}
    return passes(error) or (isinstance(error, SearchKeysUnavailable) and error.trouble not in one)


def _note_trouble(rows: QuerySet[RetiredKey], error: Exception) -> None:
    rows.update(attempts=F("attempts") + 1, trouble=_known(error).trouble)


def _known(error: Exception) -> SearchKeysUnavailable:
    """The error, or one of the kind FAILED for what nobody foresaw, which is logged without its message."""
    if isinstance(error, SearchKeysUnavailable):
        return error
    log.error("A search key could not be made or ended: %s.", fault_of(error))
    return cluster.unavailable(KeyTrouble.FAILED)


def end_orphans(*, older_than: timedelta = ORPHAN_AFTER, tenant_id: UUID | None = None) -> int:
    """End this installation's keys that no row knows, because their process died before storing them. Returns how many.

    Raises SearchKeysUnavailable.
    """
    orphaned = [key.key_id for key in orphans(older_than=older_than, tenant_id=tenant_id)]
    invalidate(orphaned)
    return len(orphaned)


def end_orphans_now() -> None:
    """`end_orphans` as a job. Raises Unavailable."""
    try:
        ended = end_orphans()
    except SearchKeysUnavailable as error:
        raise Unavailable(f"Keys without a member could not be looked for: {error}") from error
    if ended:
        log.warning("Ended %d key(s) that no member held.", ended)


def orphans(*, older_than: timedelta = ORPHAN_AFTER, tenant_id: UUID | None = None) -> list[cluster.FoundKey]:
    """Valid member keys at Elasticsearch that no row knows. Raises SearchKeysUnavailable."""
    now = timezone.now()
    found = [
        key
        for key in cluster.every_valid_key()
        if key.is_valid_at(now)
        and key.created_at <= now - older_than
        and not is_temporary(key.name)
        and tenant_id in {None, _uuid(key.metadata.get("tenant"))}
    ]
    known: set[str] = set()
    for start in range(0, len(found), PER_REQUEST):
        some = [key.key_id for key in found[start : start + PER_REQUEST]]
        known |= {*SearchCredential.objects.filter(key_id__in=some).values_list("key_id", flat=True)}
        known |= {*RetiredKey.objects.filter(key_id__in=some).values_list("key_id", flat=True)}
    return [key for key in found if key.key_id not in known]


def _end_all(key_ids: Sequence[str]) -> int:
    return sum(end_now(key_ids[start : start + PER_REQUEST]) for start in range(0, len(key_ids), PER_REQUEST))


def _over(key_ids: Sequence[str]) -> set[str]:
    """The keys that need no further request: invalid, expired, or unknown though old enough to be listed."""
    now = timezone.now()
    known = cluster.read(key_ids)
    visible = set(
        RetiredKey.objects.filter(key_id__in=key_ids, minted_at__lte=now - VISIBLE_AFTER).values_list(
            "key_id", flat=True
        )
    )
    return {
        key_id for key_id in key_ids if (not known[key_id].is_valid_at(now) if key_id in known else key_id in visible)
    }


def _locked_where(condition: Q) -> list[SearchCredential]:
    """The credentials that match a condition, with their members locked."""
    ids = list(SearchCredential.objects.filter(condition).values_list("membership_id", flat=True))
    rows = locked(ids)
    meeting = set(SearchCredential.objects.filter(condition).values_list("membership_id", flat=True)) if rows else set()
    return [credential for credential in rows if credential.membership_id in meeting]


def _take(rows: Sequence[SearchCredential], state: CredentialState, reason: str, actor: Actor) -> list[str]:
    """Take the keys of locked credentials, with an event for each; returns the key ids."""
    taken = []
    for credential in rows:
        if key_id := take_key(credential, state):
            taken.append(key_id)
            draft = EventDraft(
                "search_key.revoked", "membership", credential.membership_id, reason, before={"key_id": key_id}
            )
            record_tenant_event(actor, credential.membership.tenant_id, draft)
    return taken


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


# Keys are replaced after two thirds of their life; one that is overdue and near its end points to a failing job.
NEAR = timedelta(days=7)
OVERDUE = timedelta(hours=1)


def keys_near_expiry() -> PartState:
    """Health probe: whether a key that should have been replaced expires soon, or has expired."""
    now = timezone.now()
    try:
        left = SearchCredential.objects.filter(
            USABLE, state=CredentialState.ACTIVE, rotate_at__lte=now - OVERDUE, expires_at__lte=now + NEAR
        ).exists()
    except DatabaseError:
        return PartState.UNAVAILABLE
    return PartState.EXPIRING if left else PartState.OK


# Longer than the longest verification.
LONGEST_TEMPORARY = timedelta(days=1)
PER_SWEEP = 500


class KeyOutcome(StrEnum):
    """The result of an attempt to make a key."""

    MADE = "made"
    NOT_NEEDED = "not needed"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Swept:
    """The number of keys that a run made, and of those that failed."""

    done: int = 0
    failed: int = 0


def provision(membership: Membership, *, actor: Actor = SYSTEM) -> KeyOutcome:
    """Make the key of a member who may have one and has no valid one; a failure is stored and retried."""
    return _provision(membership.id, actor)


def rotate(membership: Membership, *, grace: timedelta = GRACE, actor: Actor = SYSTEM) -> KeyOutcome:
    """Replace a member's key after a search with the new one; the old one ends after `grace`. On failure it stays."""
    return _rotate(membership.id, lambda key: key.state == CredentialState.ACTIVE, grace, actor)


def mint_waiting(*, limit: int = PER_SWEEP) -> Swept:
    """Make missing keys: pending ones due for a try, expired ones, and those of members without a credential."""
    begin_missing(active_memberships())
    resume()
    now = timezone.now()
    waiting = Q(state=CredentialState.PENDING) | Q(state=CredentialState.ACTIVE, expires_at__lte=now)
    return _counted(_provision(each, SYSTEM) for each in _due(waiting, now).order_by("retry_at")[:limit])


def rotate_due(now: datetime | None = None) -> Swept:
    """Replace the keys that have reached two thirds of their life, oldest first.

    First takes the keys of members who were deactivated without the services.
    """
    now = now or timezone.now()
    suspend_strays()

    def is_due(credential: SearchCredential) -> bool:
        at = credential.rotate_at
        return credential.state == CredentialState.ACTIVE and at is not None and at <= now

    due = _due(Q(state=CredentialState.ACTIVE, rotate_at__lte=now), now).order_by("rotate_at")[:PER_SWEEP]
    return _counted(_rotate(each, is_due, GRACE, SYSTEM) for each in due)


def temporary_key(tenant_id: UUID, user_id: UUID, *, lifetime: timedelta) -> SearchKey:
    """A key with this member's search rights that belongs to no membership, for warming up and for checks.

    It expires, or is ended by `invalidate`. Raises SearchKeysUnavailable; ValueError for a lifetime over a day.
    """
    if lifetime > LONGEST_TEMPORARY:
        raise ValueError("A temporary key lives for a day at most.")
    minted = cluster.mint(name=temporary_key_name(), lifetime=lifetime, tenant_id=tenant_id, user_id=user_id)
    return SearchKey(minted.key_id, minted.encoded)


def begin_missing(memberships: QuerySet[Membership]) -> int:
    """Create a pending credential for each of these members without one, at most PER_SWEEP; returns how many."""
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
    membership_id: UUID, wanted: Callable[[SearchCredential], bool], grace: timedelta, actor: Actor
) -> KeyOutcome:
    held = claim(membership_id, wanted=wanted)
    return KeyOutcome.NOT_NEEDED if held is None else _make(held, grace, "search_key.rotated", actor, proven=True)


def _make(held: KeyClaim, grace: timedelta, action: str, actor: Actor, *, proven: bool) -> KeyOutcome:
    encryption = box()  # fails before a key is made that could not be stored
    minted = None
    try:
        minted = cluster.mint(
            name=member_key_name(held.membership_id, held.number),
            lifetime=timedelta(days=settings.MEMORYHUB_KEY_DAYS),
            tenant_id=held.tenant_id,
            user_id=held.user_id,
            membership_id=held.membership_id,
        )
        if proven:
            cluster.prove(minted.encoded)
        secret = seal(held.membership_id, minted.encoded, using=encryption)
        stored = store(held, minted, secret=secret, grace=grace, action=action, actor=actor)
    except Exception as error:
        if passes(error):
            raise
        known = _known(error)
        if minted is not None:
            retire(minted.key_id, held.membership_id, minted.minted_at, due_at=timezone.now())
        give_up(held, known)
        return KeyOutcome.UNREACHABLE if known.trouble == KeyTrouble.UNREACHABLE else KeyOutcome.FAILED
    return KeyOutcome.MADE if stored else KeyOutcome.NOT_NEEDED


def _waits_for_a_key(credential: SearchCredential) -> bool:
    if credential.state == CredentialState.ACTIVE:
        return credential.expires_at is None or credential.expires_at <= timezone.now()
    return credential.state == CredentialState.PENDING


def _due(condition: Q, now: datetime) -> QuerySet[SearchCredential, UUID]:
    free = Q(claimed_until=None) | due("claimed_until", now, longest=LEASE.total_seconds())
    ready = due("retry_at", now, longest=LONGEST_RETRY_SECONDS)
    return SearchCredential.objects.filter(condition & USABLE & free & ready).values_list(F("membership_id"), flat=True)


def _counted(outcomes: Iterable[KeyOutcome]) -> Swept:
    made = failed = 0
    for outcome in outcomes:
        made += outcome is KeyOutcome.MADE
        failed += outcome in {KeyOutcome.FAILED, KeyOutcome.UNREACHABLE}
        if outcome is KeyOutcome.UNREACHABLE:
            break  # the others would fail the same way
    return Swept(made, failed)


# The most keys made after an activation; `mint_waiting` makes the rest.
AT_ONCE = 100


def member_added(membership: Membership, *, actor: Actor = SYSTEM) -> None:
    """Make a key for a new member, after the commit."""
    if begin_missing(Membership.objects.filter(id=membership.id)):
        transaction.on_commit(partial(provision, membership, actor=actor), robust=True)


def role_changed(membership: Membership, *, actor: Actor = SYSTEM) -> None:
    """Replace the key of a member whose role changed, after the commit; retried while Elasticsearch is down."""
    active = SearchCredential.objects.filter(membership_id=membership.id, state=CredentialState.ACTIVE)
    if active.update(rotate_at=timezone.now()):
        transaction.on_commit(partial(rotate, membership, actor=actor), robust=True)


def deactivated(what: Membership | Tenant | User, *, actor: Actor = SYSTEM) -> None:
    """Take the keys of members who can no longer act."""
    noun = what._meta.model_name or ""
    suspend(_of(what), reason=f"{noun} deactivated", actor=actor)


def activated(what: Membership | Tenant | User, *, actor: Actor = SYSTEM) -> None:
    """Make keys for members who can act again, after the commit."""
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
