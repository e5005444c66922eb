"""Audit logs, the memory policy, erasures and legal holds. `user_id` names a member."""

from __future__ import annotations

from datetime import datetime

from memoryhub_client.calls import C, Call, Resource, at, delete, endpoint, get, paged, post
from memoryhub_client.types import (
    Asked,
    AuditEntry,
    AuditEvent,
    Hold,
    MemberErasure,
    Policy,
    PolicyChange,
    Receipt,
    ReceiptCheck,
    Verification,
)


class Audit(Resource[C]):
    """The audit log of the owner's memory."""

    @paged
    def list(
        self,
        *,
        action: str | None = None,
        memory: str | None = None,
        request: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Call[AuditEntry]:
        """List what happened to the memory and who looked, latest first; `action` such as `fact.*`."""
        return get("/audit/", action=action, memory=memory, request=request, since=since, until=until, limit=limit)

    @endpoint
    def get(self, event_id: str) -> Call[AuditEvent]:
        """Read an event with what was written."""
        return get(at("audit", event_id))

    @endpoint
    def verify(self) -> Call[Verification]:
        """Verify every event of the owner's chain now."""
        return post("/audit/verify/")


class TenantAudit(Resource[C]):
    """The audit log of the tenant, or of one member. Needs `audit`."""

    @paged
    def list(
        self,
        *,
        user_id: str | None = None,
        action: str | None = None,
        memory: str | None = None,
        request: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Call[AuditEntry]:
        """List events of the tenant and all its members, or of one, latest first."""
        narrowed = {"action": action, "memory": memory, "request": request, "since": since, "until": until}
        return get("/tenant/audit/", user_id=user_id, limit=limit, **narrowed)

    @endpoint
    def get(self, event_id: str, *, reason: str | None = None) -> Call[AuditEvent]:
        """Read an event with what was written. The reading is recorded, with the reason if the policy asks for one."""
        return get(at("tenant", "audit", event_id), reason=reason)

    @endpoint
    def verify(self, *, user_id: str | None = None) -> Call[Verification]:
        """Verify the chain of the tenant's own affairs now, or that of a member."""
        return post("/tenant/audit/verify/", user_id=user_id)


class Policies(Resource[C]):
    """The tenant's memory policy. Needs `administer`."""

    @endpoint
    def get(self) -> Call[Policy]:
        """Read what the tenant decided."""
        return get("/tenant/policy/")

    @endpoint
    def change(self, changes: PolicyChange) -> Call[Policy]:
        """Change these decisions; the others stay."""
        return Call("PATCH", "/tenant/policy/", body=dict(changes))


class OwnErasure(Resource[C]):
    """The erasure of everything that is kept of the owner. Needs `memory:decide`."""

    @endpoint
    def ask(self, *, reason: str) -> Call[Asked]:
        """Ask for it; it begins after the tenant's delay, once an administrator approved it, where there is one."""
        return post("/me/erase/", reason=reason)

    @endpoint
    def get(self) -> Call[Asked]:
        """Read the latest request."""
        return get("/me/erase/")

    @endpoint
    def withdraw(self) -> Call[Asked]:
        """Withdraw the request, before it begins."""
        return delete("/me/erase/")


class Erasures(Resource[C]):
    """The erasures of members. Needs `audit`; deciding needs an administrator with `administer`."""

    @paged
    def list(self, *, limit: int | None = None) -> Call[MemberErasure]:
        """List the erasures, latest first."""
        return get("/tenant/erasures/", limit=limit)

    @endpoint
    def create(self, user_id: str, *, reason: str) -> Call[MemberErasure]:
        """Ask for the erasure of a member; approved at once unless it needs a second person."""
        return post("/tenant/erasures/", user_id=user_id, reason=reason)

    @endpoint
    def get(self, erasure_id: str) -> Call[MemberErasure]:
        """Read the state of an erasure."""
        return get(at("tenant", "erasures", erasure_id))

    @endpoint
    def approve(self, erasure_id: str) -> Call[MemberErasure]:
        """Approve an erasure, as another administrator than the one who asked."""
        return post(at("tenant", "erasures", erasure_id, "approve"))

    @endpoint
    def withdraw(self, erasure_id: str, *, reason: str | None = None) -> Call[MemberErasure]:
        """Refuse an erasure, or withdraw one that has not begun."""
        return post(at("tenant", "erasures", erasure_id, "withdraw"), reason=reason)

    @endpoint
    def receipt(self, erasure_id: str) -> Call[Receipt]:
        """Read the signed receipt, once the erasure is done."""
        return get(at("tenant", "erasures", erasure_id, "receipt"))

    @endpoint
    def verify(self, erasure_id: str) -> Call[ReceiptCheck]:
        """Check the signature of the receipt, and ask again whether anything of the member is left."""
        return post(at("tenant", "erasures", erasure_id, "verify"))


class Holds(Resource[C]):
    """Legal holds: nothing is erased or expires while one is in force. Needs `audit`; an administrator places them."""

    @paged
    def list(self, *, released: bool | None = None, limit: int | None = None) -> Call[Hold]:
        """List the holds in force, or those that are over, latest first."""
        return get("/tenant/holds/", released=released, limit=limit)

    @endpoint
    def create(self, *, reason: str, user_id: str | None = None, whole_tenant: bool | None = None) -> Call[Hold]:
        """Place a hold on a member or on the whole tenant."""
        return post("/tenant/holds/", reason=reason, user_id=user_id, whole_tenant=whole_tenant)

    @endpoint
    def get(self, hold_id: str) -> Call[Hold]:
        """Read a hold."""
        return get(at("tenant", "holds", hold_id))

    @endpoint
    def release(self, hold_id: str, *, reason: str | None = None) -> Call[Hold]:
        """Release a hold; erasures that it stopped go on."""
        return post(at("tenant", "holds", hold_id, "release"), reason=reason)
