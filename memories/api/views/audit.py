"""Views of the audit log: a member's own chain, and for auditors, administrators and keys all of their tenant's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.api.acting import Acts
from memories.api.authentication import AUDIT, READ
from memories.api.fields import EmptyRequest
from memories.api.serializers.audit import (
    AuditEventResponse,
    AuditPageResponse,
    AuditQuery,
    ReadQuery,
    VerificationResponse,
)
from memories.api.views.base import ApiView, operation
from memories.errors import InvalidInput, NotFound, existing
from memories.selectors.policies import policy_of, wants_reason
from memories.services.admin_requests import asked_reason
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.env.limits import Bucket
from tenants.audit.chain import owner_chain, tenant_chain
from tenants.audit.listing import AuditFilter, note_event_read, owner_of_event, page_of_events, read_filter
from tenants.audit.sentences import sentences
from tenants.audit.verification import faults_of, prove
from tenants.errors import Forbidden
from tenants.models import AuditEvent, ChainCheck, Tenant, User
from tenants.principal import ActorKind, KeyHolder, Principal, Right, Role

_WRITES = (Bucket.WRITES,)  # a verification reads the whole chain
_SAME = (
    "id", "sequence", "action", "actor_kind", "actor_id", "target_kind", "target_id", "owner_id", "request_id",
    "digest", "previous_digest",
)  # fmt: skip


class OwnAuditView(ApiView):
    """Base: the chain of the member that the caller acts for."""

    def owner(self) -> UUID | None:
        """The user whose chain it is; None: all of the tenant."""
        if self.principal.only_app is not None:
            raise Forbidden("The audit log is of all apps: make this call without one.")
        return self.principal.user_id

    def found(self, event_id: UUID) -> AuditEvent:
        """The event. Raises NotFound."""
        wanted = AuditFilter(self.caller.tenant_id, member=self.owner())
        return existing(wanted.events().select_related("payload", "erasure").filter(pk=event_id).first(), "event")

    def shown(self, events: Iterable[AuditEvent], *, names_staff: bool) -> list[dict[str, Any]]:
        """The events with their sentences; `names_staff`: with the names and ids of staff."""
        with acting_as(WideRole.STAFF):  # names of those who acted, which a member's own scope does not read
            told = sentences(events)
            faults = faults_of([each.event for each in told])
        shown = []
        for each in told:
            event = each.event
            entry = {name: getattr(event, name) for name in _SAME}
            entry |= {
                "at": event.created_at,
                "actor": each.who,
                "erased": each.erased,
                "fault": faults.get(event.pk, ""),
            }
            # The key of a fact is of the memory, which a backend key reads only where it acts for the member.
            hides = isinstance(self.caller, KeyHolder) and event.owner_id is not None
            named = f"“{each.thing_name}”" if each.thing_name and not hides else ""
            entry["what"] = " ".join(filter(None, (each.did, each.thing, named)))
            if event.actor_kind == ActorKind.STAFF and not names_staff:
                entry |= {"actor": "Staff", "actor_id": None}
            shown.append(entry)
        return shown

    def names_staff(self) -> bool:
        """Whether the caller sees the names of staff."""
        return policy_of(self.caller.tenant_id).looks_name_staff

    def page(self, *, limit: int, cursor: str, memory: UUID | None, **asked: Any) -> dict[str, Any]:
        """A page of the caller's events."""
        words = {
            name: value.isoformat() if isinstance(value, datetime) else value or "" for name, value in asked.items()
        }
        wanted = read_filter(self.caller.tenant_id, words)
        found = page_of_events(replace(wanted, member=self.owner(), target=memory), cursor=cursor, limit=limit)
        return {
            "results": self.shown(found.events, names_staff=self.names_staff()),
            "next_cursor": found.next_cursor or None,
        }

    def event(self, event: AuditEvent) -> dict[str, Any]:
        """An event with its payload."""
        (entry,) = self.shown([event], names_staff=self.names_staff())
        payload = getattr(event, "payload", None)
        return entry | (payload.data if payload else {"reason": "", "before": None, "after": None})

    def proof(self, chain: str, by: User | None) -> dict[str, Any]:
        """A verification of the whole chain, kept as the latest."""
        with acting_as(WideRole.STAFF):  # anchors are events of the platform
            check: ChainCheck = prove(chain, by)
        same = {name: getattr(check, name) for name in ("ok", "digest", "erased", "first_bad", "reason", "checked_at")}
        return same | {"verified_up_to": check.count}


class AuditView(OwnAuditView):
    """The audit log of a member."""

    @operation("audit_list", READ, query=AuditQuery, gives=AuditPageResponse)
    def get(self, **asked: Any) -> dict[str, Any]:
        """List what happened to the member's memory and who looked at it, latest first, without what was written."""
        return self.page(**asked)


class AuditEventView(OwnAuditView):
    """One event of a member's audit log."""

    @operation("audit_read", READ, gives=AuditEventResponse, refuses=(404,))
    def get(self, event_id: UUID) -> dict[str, Any]:
        """Read an event with what was written. A backend key's reading is an event itself."""
        event = self.found(event_id)
        if self.principal.actor_kind is ActorKind.KEY:
            note_event_read(None, self.principal.actor, event)
        return self.event(event)


class VerifyAuditView(OwnAuditView):
    """The verification of a member's audit log."""

    @operation("audit_verify", READ, takes=EmptyRequest, gives=VerificationResponse, also=_WRITES)
    def post(self) -> dict[str, Any]:
        """Verify the member's chain now, every event of it."""
        self.owner()
        return self.proof(owner_chain(self.principal.tenant_id, self.principal.user_id), None)


class TenantAuditBase(OwnAuditView):
    """Base: all of the tenant, or the chain of the member that the request names."""

    acts = Acts.FOR_TENANT

    def owner(self) -> UUID | None:
        """The user that the request names, if any. Raises NotFound."""
        member = self.named_member()
        return None if member is None else member.user_id

    def names_staff(self) -> bool:
        """Return True: staff and their programs see who acted."""
        return True

    def reader(self) -> User | None:
        """The auditor or administrator; None for a backend key."""
        return User.objects.get(pk=self.caller.user_id) if isinstance(self.caller, Principal) else None


class TenantAuditView(TenantAuditBase):
    """The audit log of the tenant."""

    @operation("tenant_audit_list", AUDIT, query=AuditQuery, gives=AuditPageResponse)
    def get(self, **asked: Any) -> dict[str, Any]:
        """List the events of the tenant and of all its members, or of the one that `user_id` names, latest first."""
        return self.page(**asked)


class TenantAuditEventView(TenantAuditBase):
    """One event of the tenant's audit log."""

    @operation("tenant_audit_read", AUDIT, query=ReadQuery, gives=AuditEventResponse, refuses=(404,))
    def get(self, event_id: UUID, *, reason: str) -> dict[str, Any]:
        """Read an event with what was written. The reading is an event of the same chain, which its owner sees.

        A backend key needs `memory:read` as well for what was written of a member, and sees none of staff.
        """
        event, caller = self.found(event_id), self.caller
        member = owner_of_event(event)
        if isinstance(caller, KeyHolder):
            if event.owner_id is not None:
                caller.require(Right.READ)
                if member is None or member.role != Role.MEMBER:
                    raise NotFound("event")
            note_event_read(None, caller.actor, event, purpose=asked_reason(reason, required=False))
            return self.event(event)
        others = member is not None and member.user_id != caller.user_id
        if (
            others
            and not reason
            and wants_reason(Tenant.objects.select_related("memory_policy").get(pk=caller.tenant_id))
        ):
            raise InvalidInput("reason", "is missing: this organisation asks why you look, and its member sees it.")
        staff = User.objects.get(pk=caller.user_id)
        actor = replace(caller.actor, kind=ActorKind.STAFF, id=staff.pk)
        note_event_read(staff, actor, event, purpose=asked_reason(reason, required=False))
        return self.event(event)


class VerifyTenantAuditView(TenantAuditBase):
    """The verification of the tenant's audit log."""

    @operation("tenant_audit_verify", AUDIT, takes=EmptyRequest, gives=VerificationResponse)
    def post(self) -> dict[str, Any]:
        """Verify the chain of the tenant's own affairs now, or that of the member that `user_id` names."""
        owner, tenant_id = self.owner(), self.caller.tenant_id
        return self.proof(owner_chain(tenant_id, owner) if owner else tenant_chain(tenant_id), self.reader())
