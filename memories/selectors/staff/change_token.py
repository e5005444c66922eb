"""The change token of a member's memory: it differs as soon as anything changes that staff can see.

Cheap enough for a request every second: each part reads the end of an index or counts a few rows. Of what all tenants
share only the number is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from hashlib import blake2s

from django.db.models import Count, Max, Q, Sum

from memories.models import CatalogEntry, ConsolidationRun, Fact, Message, OutboxEntry, Playbook, RecallTrace, Session
from tenants.audit.chain import owner_chain
from tenants.models import AuditEvent, SearchCredential
from tenants.principal import Principal, Right

_LENGTH = 16  # bytes; what is alike is never compared with what another member has


def change_token(principal: Principal, *, ignoring: Collection[str] = ()) -> str:
    """The token now; audit events whose action is in `ignoring` leave it alone. Ten small statements."""
    principal.require(Right.READ)
    parts = (*_own(principal, ignoring), *_beside(principal), *_shared(principal))
    return blake2s(repr(parts).encode(), digest_size=_LENGTH).hexdigest()


def _own(principal: Principal, ignoring: Collection[str]) -> Iterator[object]:
    """Every change of a memory is an event; uses are counted with the trace of their recall; turns end in messages."""
    events = AuditEvent.objects.filter(chain=owner_chain(principal.tenant_id, principal.user_id))
    yield events.exclude(action__in=ignoring).order_by("-sequence").values_list("sequence").first()
    yield RecallTrace.objects.of(principal).order_by("-created_at").values_list("pk").first()
    session = Session.objects.of(principal).order_by("-last_turn_at").values_list("pk", "last_turn_at").first()
    yield session
    if session is not None:
        said = Message.objects.of(principal).filter(session_id=session[0])
        yield said.order_by("-turn", "-step").values_list("pk", "state").first()


def _beside(principal: Principal) -> Iterator[object]:
    """What waits for the index, with what right is searched, and the last run."""
    waiting = OutboxEntry.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    yield tuple(waiting.aggregate(Max("id"), Count("id"), Sum("attempts")).values())
    keys = SearchCredential.objects.filter(membership_id=principal.membership_id)
    yield keys.values_list("state", "key_id", "trouble").first()
    yield ConsolidationRun.objects.of(principal).order_by("-started_at").values_list("pk", "state").first()


def _shared(principal: Principal) -> Iterator[object]:
    """What the tenant shares, by state, from the index alone; entries of the catalog come and go, never edited."""
    for model in (Fact, Playbook):
        shared = model.objects.of_owner(principal.tenant_id, None)
        yield sorted(shared.order_by().values_list("status").annotate(Count("status")))
    yield (
        CatalogEntry.objects.unscoped("shared rows of a tenant")
        .filter(Q(tenant_id=principal.tenant_id) | Q(tenant_id=None))
        .order_by()
        .count()
    )
