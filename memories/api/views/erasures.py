"""Views of erasures and legal holds: administrators decide, auditors and keys read, members ask for their own."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from memories.api.acting import Acts, require_password
from memories.api.authentication import AUDIT, DECIDE, DECIDE_FOR_TENANT, READ
from memories.api.fields import EmptyRequest, PageQuery
from memories.api.serializers.audit import (
    DecisionRequest,
    ErasurePageResponse,
    HoldPageResponse,
    HoldRequest,
    HoldResponse,
    HoldsQuery,
    MemberErasureResponse,
    ReceiptCheckResponse,
    ReceiptResponse,
)
from memories.api.serializers.members import AskedResponse, ReasonRequest
from memories.api.views.base import ApiView, operation, paged
from memories.errors import InvalidInput, NotFound, existing
from memories.models import ErasureRequest, LegalHold
from memories.selectors.erasure import (
    erasure_in_tenant,
    erasures_in,
    hold_in_tenant,
    holds_in,
    latest_request,
    on_hold,
    owner_of,
)
from memories.selectors.paging import page_of
from memories.services.erasure.receipt import download, verify_receipt
from memories.services.erasure.requests import approve_erasure, ask_erasure, place_hold, refuse_erasure, release_hold
from memoryhub.db.scope import WideRole, acting_as
from tenants.errors import Forbidden
from tenants.locks import wait_for_tenant
from tenants.models import Membership
from tenants.principal import Principal

_REFUSED = (404, 409)


class _TenantView(ApiView):
    """Base: what auditors, administrators and keys of the tenant see."""

    acts = Acts.FOR_TENANT

    def administrator(self, *, fresh: bool = True) -> Principal:
        """The administrator who decides; the services check the role. `fresh`: their password was given lately.

        Raises Forbidden.
        """
        caller = self.caller
        if not isinstance(caller, Principal):
            raise Forbidden("A backend key decides nothing here; an administrator does.")
        if fresh:
            require_password(self.request._request, caller)
        return caller

    def member(self) -> Membership:
        """The member that the request names. Raises InvalidInput, NotFound."""
        member = self.named_member()
        if member is None:
            raise InvalidInput("user_id", "is missing: say which member.")
        return member

    def deciding(self, erasure_id: UUID) -> None:
        """Lock the erasure, and check If-Match again."""
        ErasureRequest.objects.select_for_update(no_key=True).get(pk=erasure_id)
        self.check_match({"erasure_id": erasure_id})


class OwnErasureView(ApiView):
    """The erasure of the member who calls."""

    @operation("me_erase", DECIDE, takes=ReasonRequest, gives=AskedResponse, statuses=(202,), refuses=(409,))
    def post(self, *, reason: str) -> ErasureRequest:
        """Ask for the erasure of everything that is kept of oneself, with one's name.

        It begins after the tenant's delay, once an administrator approved it, where there is one.
        """
        require_password(self.request._request, self.principal)
        with acting_as(WideRole.STAFF), self.once():  # who administers the tenant is not in a member's scope
            return ask_erasure(self.principal, membership_id=self.principal.membership_id, reason=reason)

    @operation("me_erasure", READ, gives=AskedResponse, refuses=(404,))
    def get(self) -> ErasureRequest:
        """Read the latest request for one's own erasure."""
        return self.asked()

    @operation("me_erase_withdraw", DECIDE, gives=AskedResponse, refuses=_REFUSED)
    def delete(self) -> ErasureRequest:
        """Withdraw what one asked for oneself, before it begins."""
        with acting_as(WideRole.STAFF), self.once():
            return refuse_erasure(self.principal, request_id=self.asked().pk)

    def asked(self) -> ErasureRequest:
        """The latest request about the member. Raises NotFound."""
        return existing(latest_request(self.principal.membership_id), "erasure")


class ErasuresView(_TenantView):
    """The erasures of members."""

    @operation("erasures_list", AUDIT, query=PageQuery, gives=ErasurePageResponse)
    def get(self, **wanted: Any) -> dict[str, Any]:
        """List the erasures of the tenant, latest first."""
        page = page_of(erasures_in(self.caller.tenant_id), **wanted)
        return paged(page, [_erasure(each) for each in page.rows])

    @operation(
        "erasures_create",
        DECIDE_FOR_TENANT,
        takes=ReasonRequest,
        gives=MemberErasureResponse,
        statuses=(202,),
        refuses=_REFUSED,
    )
    def post(self, *, reason: str) -> dict[str, Any]:
        """Ask for the erasure of the member that `user_id` names; approved at once unless it needs a second person."""
        by, member = self.administrator(), self.member()
        with self.once():
            return _erasure(ask_erasure(by, membership_id=member.pk, reason=reason))


class ErasureView(_TenantView):
    """One erasure."""

    @operation("erasures_read", AUDIT, gives=MemberErasureResponse, refuses=(404,))
    def get(self, erasure_id: UUID) -> dict[str, Any]:
        """Read the state of an erasure."""
        return _erasure(erasure_in_tenant(self.caller, erasure_id))


class ApproveErasureView(_TenantView):
    """The approval of an erasure."""

    @operation("erasures_approve", DECIDE_FOR_TENANT, takes=EmptyRequest, gives=MemberErasureResponse, refuses=_REFUSED)
    def post(self, erasure_id: UUID) -> dict[str, Any]:
        """Approve an erasure, as another administrator than the one who asked. It begins after the policy's delay."""
        erasure_in_tenant(self.caller, erasure_id)
        by = self.administrator()
        with self.once():
            self.deciding(erasure_id)
            return _erasure(approve_erasure(by, request_id=erasure_id))


class WithdrawErasureView(_TenantView):
    """The refusal of an erasure."""

    @operation(
        "erasures_withdraw", DECIDE_FOR_TENANT, takes=DecisionRequest, gives=MemberErasureResponse, refuses=_REFUSED
    )
    def post(self, erasure_id: UUID, *, reason: str) -> dict[str, Any]:
        """Refuse an erasure, or withdraw one that has not begun."""
        erasure_in_tenant(self.caller, erasure_id)
        by = self.administrator()
        with self.once():
            self.deciding(erasure_id)
            return _erasure(refuse_erasure(by, request_id=erasure_id, reason=reason))


class ReceiptView(_TenantView):
    """The receipt of an erasure."""

    @operation("erasures_receipt", AUDIT, gives=ReceiptResponse, refuses=_REFUSED)
    def get(self, erasure_id: UUID) -> dict[str, Any]:
        """Read the signed receipt. 404: the erasure is not done."""
        return _receipt(erasure_in_tenant(self.caller, erasure_id))


class VerifyReceiptView(_TenantView):
    """The verification of a receipt."""

    @operation("erasures_verify", AUDIT, takes=EmptyRequest, gives=ReceiptCheckResponse, refuses=_REFUSED)
    def post(self, erasure_id: UUID) -> dict[str, Any]:
        """Check the signature of the receipt, and ask again whether anything of the member is left."""
        document = json.loads(json.dumps(_receipt(erasure_in_tenant(self.caller, erasure_id))))
        found = verify_receipt(document)
        return {"ok": found.ok, "asked": len(found.asked), "troubles": found.troubles}


class HoldsView(_TenantView):
    """The legal holds of the tenant."""

    @operation("holds_list", AUDIT, query=HoldsQuery, gives=HoldPageResponse)
    def get(self, *, released: bool, **wanted: Any) -> dict[str, Any]:
        """List the legal holds in force, or those that are over, latest first."""
        page = page_of(holds_in(self.caller.tenant_id, released=released), **wanted)
        return paged(page, [_hold(each) for each in page.rows])

    @operation(
        "holds_create", DECIDE_FOR_TENANT, takes=HoldRequest, gives=HoldResponse, statuses=(201,), refuses=_REFUSED
    )
    def post(self, *, reason: str, whole_tenant: bool) -> dict[str, Any]:
        """Place a legal hold on a member or on the whole tenant: nothing is erased or expires while it is in force."""
        by = self.administrator(fresh=False)
        if whole_tenant and self.user_id is not None:
            raise InvalidInput("whole_tenant", "and a user_id are named: a hold is on one or the other.")
        membership_id = None if whole_tenant else self.member().pk
        with self.once():
            return _hold(place_hold(by, tenant_id=by.tenant_id, reason=reason, membership_id=membership_id))


class HoldView(_TenantView):
    """One legal hold."""

    @operation("holds_read", AUDIT, gives=HoldResponse, refuses=(404,))
    def get(self, hold_id: UUID) -> dict[str, Any]:
        """Read a legal hold."""
        return _hold(hold_in_tenant(self.caller, hold_id))


class ReleaseHoldView(_TenantView):
    """The end of a legal hold."""

    @operation("holds_release", DECIDE_FOR_TENANT, takes=DecisionRequest, gives=HoldResponse, refuses=_REFUSED)
    def post(self, hold_id: UUID, *, reason: str) -> dict[str, Any]:
        """Release a legal hold. Erasures that it stopped go on."""
        hold_in_tenant(self.caller, hold_id)
        by = self.administrator()
        with self.once():
            wait_for_tenant(by.tenant_id)
            self.check_match({"hold_id": hold_id})
            return _hold(release_hold(by, hold_id=hold_id, reason=reason))


def _erasure(erasure: ErasureRequest) -> dict[str, Any]:
    same = (
        "id", "state", "membership_id", "reason", "asked_by_key", "asked_at", "decided_at", "begins_at", "started_at",
        "finished_at", "progress", "trouble",
    )  # fmt: skip
    shown = {name: getattr(erasure, name) for name in same}
    member = erasure.membership
    held = not erasure.receipt_digest and on_hold(owner_of(member))
    return shown | {
        "user_id": member.external_id or None,
        "on_hold": held,
        "has_receipt": bool(erasure.receipt_digest),
    }


def _receipt(erasure: ErasureRequest) -> dict[str, Any]:
    if not erasure.receipt_digest:
        raise NotFound("receipt")
    return download(erasure)


def _hold(hold: LegalHold) -> dict[str, Any]:
    whose = Membership.objects.filter(tenant=hold.tenant_id, user=hold.user_id).values_list("external_id", flat=True)
    same = ("id", "reason", "placed_at", "released_at")
    shown = {name: getattr(hold, name) for name in same} | {"owner_id": hold.user_id}
    return shown | {"user_id": (whose.first() if hold.user_id else None) or None}
