"""Erases all that the proof created: rows, documents of the search plane, and search keys.

A tenant or user is erased only if the audit log marks it as the proof's and nobody else is a member. Audit events stay;
they hold ids and no text.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.apps import apps
from django.db import transaction
from django.db.models import Q

from memories.errors import MemoriesError
from memories.models import MEMORY_MODELS, Operation, OutboxEntry
from memories.models.guard import raw_writes
from memories.recall import recording
from memories.search import search_plane
from memories.search.base import Tombstone
from memories.types import Kind, Owner
from proof import cluster
from proof.attack import PROOF
from proof.attacks.oauth import CLIENT
from proof.building import MADE
from tenants.audit.chain import PLATFORM_CHAIN, EventDraft, erase_some, record_platform_event
from tenants.erasure import end_logins
from tenants.models import ApiToken, AuditEvent, AuditPayload, Membership, OAuthClient, SearchCredential, Tenant, User
from tenants.principal import SYSTEM, ActorKind
from tenants.services import deactivate


class NotOurs(MemoriesError):
    """A tenant of the proof has another member, or a user of the proof is a member elsewhere; the proof stops."""


class RealTenants(MemoriesError):
    """The database holds tenants that the proof did not create."""


def made(noun: str) -> set[UUID]:
    """The ids of all tenants or users that the proof ever created, or a key of one of its tenants."""
    events = AuditEvent.objects.filter(chain=PLATFORM_CHAIN, target_kind=noun)
    ours = Q(action=MADE)
    if noun == "user":
        keys = ApiToken.objects.filter(tenant__in=made("tenant"), membership=None)
        ours |= Q(action="user.created", actor_kind=ActorKind.KEY, actor_id__in=keys.values("pk"))
    return {id_ for id_ in events.filter(ours).values_list("target_id", flat=True) if id_ is not None}


def require_no_real_tenant() -> None:
    """Raise RealTenants if there is a tenant that the proof did not create."""
    ours = made("tenant")
    count = sum(pk not in ours for pk in Tenant.objects.values_list("pk", flat=True))
    if count:
        tenants = "1 tenant" if count == 1 else f"{count:,} tenants"
        raise RealTenants(
            f"This database holds {tenants} that the proof did not make; nothing was made, attacked or erased. "
            "Run the proof on a database of its own, or allow real tenants with --beside-real-tenants."
        )


def require_ours(memberships: Iterable[Membership]) -> None:
    """Raise NotOurs unless the proof created the tenants and users of these memberships."""
    tenants, users = made("tenant"), made("user")
    if any(each.tenant_id not in tenants or each.user_id not in users for each in memberships):
        raise NotOurs("Somebody else is a member of a tenant of the proof; nothing was attacked or erased.")


def erase_leftovers() -> int:
    """Erase all that this or an earlier run created; returns the number of tenants.

    Raises NotOurs; SearchUnavailable or KeysMissing if the search plane or its keys cannot be reached (call again
    later).
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
        deactivate(tenant)
    if search_plane().name == cluster.PLANE:
        cluster.end_all(membership.pk for membership in memberships)
    SearchCredential.objects.filter(membership__in=memberships).delete()
    _erase_memories(memberships, tenants)
    _erase_people(tenants, users)
    return len(tenants)


def _erase_memories(memberships: list[Membership], tenants: list[Tenant]) -> None:
    """Delete rows and outbox entries first, so that nothing indexes them again, then the documents."""
    owners = [Owner(each.tenant_id, each.user_id) for each in memberships]
    owners += [Owner(tenant.pk, None) for tenant in tenants]
    plane = search_plane()
    with transaction.atomic():
        gone: dict[Owner, list[Tombstone]] = {owner: [] for owner in owners}
        waiting = OutboxEntry.objects.filter(tenant_id__in=[tenant.pk for tenant in tenants])
        for entry in waiting.filter(operation=Operation.DELETE):
            # Only this entry still names a document whose row was deleted.
            gone[entry.owner].append(Tombstone(Kind(entry.kind), entry.memory_id, entry.version))
        waiting.delete()
        for kind, model in MEMORY_MODELS.items():
            rows = model.objects.unscoped(PROOF).filter(tenant__in=tenants)
            for id_, version, tenant_id, user_id in rows.values_list("pk", "version", "tenant_id", "user_id"):
                gone[Owner(tenant_id, user_id)].append(Tombstone(kind, id_, version + 1))
        with raw_writes(PROOF):
            for rows_of in apps.get_app_config("memories").get_models():
                if not rows_of._meta.proxy and any(field.name == "tenant" for field in rows_of._meta.fields):
                    rows_of._base_manager.filter(tenant__in=tenants).delete()
        if plane.joint:
            for owner, tombstones in gone.items():
                plane.delete(owner, tombstones)
    if plane.joint:
        plane.settle()
        plane.expunge()
        return
    for owner in owners:
        plane.erase_owner(owner)


def _erase_people(tenants: list[Tenant], users: list[User]) -> None:
    targets = [*(tenant.pk for tenant in tenants), *(user.pk for user in users)]
    with transaction.atomic():
        end_logins(*(user.pk for user in users))
        by = record_platform_event(SYSTEM, EventDraft("proof.removed"))
        about = Q(event__tenant_id__in=[tenant.pk for tenant in tenants])
        about |= Q(event__chain=PLATFORM_CHAIN, event__target_id__in=targets) | Q(event=by)
        erase_some(AuditPayload.objects.filter(about), by=by.pk)
        ApiToken.objects.filter(tenant__in=tenants).delete()
        Membership.objects.filter(tenant__in=tenants).delete()
        OAuthClient.objects.filter(client_id=CLIENT).delete()
        Tenant.objects.filter(pk__in=[tenant.pk for tenant in tenants]).delete()
        User.objects.filter(pk__in=[user.pk for user in users]).delete()
