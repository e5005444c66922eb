"""The owner of rows that a backend key names without a user, and the users that anything is kept of."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from memories.errors import InvalidInput, NotFound
from memories.models import Fact, LearningOperation, Session
from tenants.end_users import end_users
from tenants.models import Membership


def owner_named(tenant_id: UUID, model: type[Fact | LearningOperation], ids: Collection[UUID]) -> str:
    """The tenant's id of the one active end user whose rows these are; unknown rows are passed over.

    Raises NotFound alike if all are unknown, of staff or of another tenant; InvalidInput for rows of several users.
    """
    rows = model.objects.unscoped("the end users of a backend key").filter(tenant_id=tenant_id, pk__in=ids)
    owners = end_users(tenant_id).filter(is_active=True, user__in=rows.values("user_id"))
    found = list(owners.values_list("external_id", flat=True)[:2])
    if len(found) > 1:
        raise InvalidInput("memories", "are of several users: send one call for each user.")
    if not found:
        raise NotFound("memory")
    return str(found[0])


def users_with_memory(tenant_id: UUID) -> QuerySet[Membership]:
    """The active end users with a conversation or a fact, oldest first."""
    whose = {"tenant_id": tenant_id, "user": OuterRef("user")}
    said = Session.objects.unscoped("the end users of a backend key").filter(**whose)
    known = Fact.objects.unscoped("the end users of a backend key").filter(**whose)
    return end_users(tenant_id).filter(Exists(said) | Exists(known), is_active=True)
