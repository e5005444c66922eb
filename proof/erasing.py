"""Erasing what the proof made, in the database, in the search plane and in the cluster's keys.

Invariant: a tenant or user goes only if the audit trail says that the proof made it, and nobody else lives in it. The
trail itself stays, as it always does: who did what to which id, without a word of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.contrib.sessions.models import Session as BrowserSession
from django.db import transaction

from memories.errors import MemoriesError
from memories.models import (
    MEMORY_MODELS,
    ConsolidationRun,
    EpisodeLedger,
    Mention,
    Message,
    Operation,
    OutboxEntry,
    RecallTrace,
    ReviewItem,
    SealedOriginal,
    Session,
    SessionEntry,
)
from memories.models.guard import raw_writes
from memories.recall import recording
from memories.search import search_plane
from memories.search.base import Tombstone
from memories.types import Kind, Owner
from proof import cluster
from proof.building import COOKIE_PREFIX, MADE
from tenants.audit.chain import PLATFORM_CHAIN
from tenants.models import ApiToken, AuditEvent, AuditPayload, Membership, SearchCredential, Tenant, User
from tenants.services import deactivate_tenant


class NotOurs(MemoriesError):
    """A tenant or member that the proof did not make: it is left alone, and so is everything else."""


class RealTenants(MemoriesError):
    """The database holds tenants that the proof did not make."""


def made(noun: str) -> set[UUID]:
    """The ids of all tenants or users that the proof ever made."""
    events = AuditEvent.objects.filter(chain=PLATFORM_CHAIN, action=MADE, target_kind=noun)
    return {id_ for id_ in events.values_list("target_id", flat=True) if id_ is not None}


def require_no_real_tenants() -> None:
    """Raise RealTenants if the database holds a tenant that the proof did not make."""
    if count := Tenant.objects.exclude(pk__in=made("tenant")).count():
        raise RealTenants(
            f"The database holds {count:,} tenants of others. The proof erases only what it makes, but it loads the"
            " server and writes to the audit log. Run it on another database, or add --beside-real-tenants."
        )


def require_ours(memberships: Iterable[Membership]) -> None:
    """Raise NotOurs unless the proof made all of these tenants and users."""
    tenants, users = made("tenant"), made("user")
    if any(each.tenant_id not in tenants or each.user_id not in users for each in memberships):
        raise NotOurs("Somebody else is a member of a tenant of the proof; nothing was attacked or erased.")


def erase_leftovers() -> int:
    """Erase whatever the proof left behind, of this run or of earlier ones; return how many tenants that were.

    Raises NotOurs; SearchUnavailable if the search plane or its keys cannot be reached: then it has to be called again.
    """
    tenants = list(Tenant.objects.filter(pk__in=made("tenant")))
    users = list(User.objects.filter(pk__in=made("user")))
    memberships = list(Membership.objects.filter(tenant__in=tenants).select_related("tenant", "user"))
    require_ours(memberships)
    if Membership.objects.filter(user__in=users).exclude(tenant__in=tenants).exists():
        raise NotOurs("A user of the proof is a member elsewhere; nothing was erased.")
    if not tenants and not users:
        return 0
    recording.flush()
    for tenant in tenants:
        deactivate_tenant(tenant)
    _revoke(memberships)
    _erase_from_plane(memberships, tenants)
    _erase_rows(memberships, tenants, users)
    return len(tenants)


# What else belongs to a tenant or a member; what points at others comes first.
_OWNED = (
    ReviewItem, SealedOriginal, Mention, SessionEntry, Message, RecallTrace, Session, ConsolidationRun, EpisodeLedger
)  # fmt: skip


def _erase_from_plane(memberships: list[Membership], tenants: list[Tenant]) -> None:
    """The rows go first, so that nothing can carry them to the plane again."""
    owners = [Owner(each.tenant_id, each.user_id) for each in memberships]
    owners += [Owner(tenant.pk, None) for tenant in tenants]
    plane = search_plane()
    with transaction.atomic():
        gone: dict[Owner, list[Tombstone]] = {owner: [] for owner in owners}
        waiting = OutboxEntry.objects.filter(tenant_id__in=[tenant.pk for tenant in tenants])
        for entry in waiting.filter(operation=Operation.DELETE):
            # Its row is gone, so that only the outbox knew that the plane may hold it.
            gone[entry.owner].append(Tombstone(Kind(entry.kind), entry.memory_id, entry.version))
        waiting.delete()
        for kind, model in MEMORY_MODELS.items():
            rows = model.objects.unscoped("isolation proof").filter(tenant__in=tenants)
            for id_, version, tenant_id, user_id in rows.values_list("pk", "version", "tenant_id", "user_id"):
                gone[Owner(tenant_id, user_id)].append(Tombstone(kind, id_, version + 1))
            with raw_writes("isolation proof"):
                rows.delete()
        if plane.joint:
            for owner, tombstones in gone.items():
                plane.delete(owner, tombstones)
    if plane.joint:
        plane.settle()
        plane.expunge()
        return
    for owner in owners:
        plane.erase_owner(owner)


def _erase_rows(memberships: list[Membership], tenants: list[Tenant], users: list[User]) -> None:
    targets = [*(tenant.pk for tenant in tenants), *(user.pk for user in users)]
    with transaction.atomic():
        BrowserSession.objects.filter(session_key__startswith=COOKIE_PREFIX).delete()
        AuditPayload.objects.filter(event__tenant_id__in=[tenant.pk for tenant in tenants]).delete()
        AuditPayload.objects.filter(event__chain=PLATFORM_CHAIN, event__target_id__in=targets).delete()
        ApiToken.objects.filter(membership__in=memberships).delete()
        Membership.objects.filter(tenant__in=tenants).delete()
        with raw_writes("isolation proof"):
            for model in _OWNED:
                model.objects.unscoped("isolation proof").filter(tenant__in=tenants).delete()
        Tenant.objects.filter(pk__in=[tenant.pk for tenant in tenants]).delete()
        User.objects.filter(pk__in=[user.pk for user in users]).delete()


def _revoke(memberships: list[Membership]) -> None:
    """End the members' search keys at the cluster, where there are any."""
    if search_plane().name == cluster.PLANE:
        cluster.end_all(membership.pk for membership in memberships)
    SearchCredential.objects.filter(membership__in=memberships).delete()
