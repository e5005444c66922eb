"""Views for what an agent proposes and the member decides: proposals to forget, and proposed playbooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from memories.agent.events import listed
from memories.api.authentication import DECIDE, READ, READ_WRITE
from memories.api.fields import EmptyRequest
from memories.api.serializers.memories import ANY_MEMORY
from memories.api.serializers.reviews import ForgetProposalRequest, ForgetProposalResponse
from memories.api.views.base import ApiView, operation, own_memory, rendered
from memories.errors import Conflict
from memories.models import ForgetProposal
from memories.selectors.memories import get_memory
from memories.services.erasure.proposals import ForgetPlan, confirm, find_proposal, keep, plan_of, propose, undo
from memories.services.playbooks import accept_playbook
from memories.types import Kind
from tenants.principal import Principal

_REFUSED = (404, 409)


class ForgetProposalsView(ApiView):
    """Proposals to forget."""

    @operation(
        "forget_proposals_create",
        READ_WRITE,
        takes=ForgetProposalRequest,
        gives=ForgetProposalResponse,
        statuses=(201,),
        refuses=_REFUSED,
    )
    def post(self, memory_ids: Sequence[UUID]) -> dict[str, Any]:
        """Propose to erase memories. Nothing is erased before the member confirms it."""
        targets = [(own_memory(self.principal, memory_id).kind, memory_id) for memory_id in memory_ids]
        return _shown(*propose(self.principal, targets=targets))


class ForgetProposalView(ApiView):
    """One proposal to forget."""

    @operation("forget_proposals_read", READ, gives=ForgetProposalResponse, refuses=(404,))
    def get(self, proposal_id: UUID) -> dict[str, Any]:
        """Read what would go, what stays, and the state of the proposal."""
        return _of(self.principal, find_proposal(self.principal, proposal_id))


class ConfirmForgetView(ApiView):
    """Confirming a proposal."""

    @operation("forget_proposals_confirm", DECIDE, takes=EmptyRequest, gives=ForgetProposalResponse, refuses=_REFUSED)
    def post(self, proposal_id: UUID) -> dict[str, Any]:
        """Confirm a proposal. The memories are hidden at once and erased for good 30 seconds later."""
        return _of(self.principal, confirm(self.principal, proposal_id))


class KeepView(ApiView):
    """Declining a proposal."""

    @operation("forget_proposals_keep", DECIDE, takes=EmptyRequest, gives=ForgetProposalResponse, refuses=_REFUSED)
    def post(self, proposal_id: UUID) -> dict[str, Any]:
        """Keep everything; the proposal is closed."""
        return _of(self.principal, keep(self.principal, proposal_id))


class UndoForgetView(ApiView):
    """Undoing a confirmation."""

    @operation("forget_proposals_undo", DECIDE, takes=EmptyRequest, gives=ForgetProposalResponse, refuses=_REFUSED)
    def post(self, proposal_id: UUID) -> dict[str, Any]:
        """Bring back what was forgotten, until `erase_at`."""
        return _of(self.principal, undo(self.principal, proposal_id))


class AcceptView(ApiView):
    """Accepting an agent's playbook."""

    @operation("memories_accept", DECIDE, takes=EmptyRequest, gives=ANY_MEMORY, refuses=_REFUSED)
    def post(self, memory_id: UUID) -> dict[str, Any]:
        """Accept a proposed playbook, so that it is recalled like others. Needs `memory:decide`."""
        if own_memory(self.principal, memory_id).kind is not Kind.PROCEDURAL:
            raise Conflict("This memory is no playbook; only playbooks are accepted.")
        accept_playbook(self.principal, playbook_id=memory_id)
        return rendered(self.principal, get_memory(self.principal, Kind.PROCEDURAL, memory_id))


def _of(principal: Principal, proposal: ForgetProposal) -> dict[str, Any]:
    return _shown(proposal, plan_of(principal, proposal))


def _shown(proposal: ForgetProposal, plan: ForgetPlan) -> dict[str, Any]:
    same = ("id", "session_id", "turn", "state", "created_at", "decided_at", "erase_at")
    shown = {name: getattr(proposal, name) for name in same}
    return shown | {"goes": listed(plan.rows), "stays": listed(plan.stays), "also": plan.also}
