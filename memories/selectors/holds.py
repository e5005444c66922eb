"""Whether a legal hold keeps what somebody owns: of one member, or of a whole tenant and what it shares."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from memories.errors import Conflict
from memories.models import LegalHold
from memories.types import Owner
from memoryhub.statements import Prepared

# Said wherever somebody asks to erase: it tells that there is a hold, and nothing of why.
SENTENCE = "A legal hold is in force: nothing can be erased until it is released."


def holds_on(owner: Owner) -> QuerySet[LegalHold]:
    """The holds in force that keep what this owner has. What all tenants share is never held."""
    in_force = LegalHold.objects.filter(tenant=owner.tenant_id, released_at=None)
    if owner.tenant_id is None:
        return in_force.none()
    return in_force.filter(Q(user=None) | Q(user=owner.user_id)) if owner.user_id else in_force.filter(user=None)


def on_hold(owner: Owner) -> bool:
    """Whether nothing of this owner may be erased or expire now. To be relied on, ask under the owner's lock."""
    return owner.tenant_id is not None and _HOLDS.any(owner.tenant_id, owner.user_id)


def _holds(tenant_id: UUID, user_id: UUID | None) -> QuerySet[LegalHold, Any]:
    return holds_on(Owner(tenant_id, user_id)).order_by().values_list("pk")[:1]


_HOLDS = Prepared(_holds)


def require_no_hold(owner: Owner) -> None:
    """Raise Conflict if a hold keeps what this owner has; the caller holds the owner's lock."""
    if on_hold(owner):
        raise Conflict(SENTENCE)
