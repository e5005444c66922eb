"""Tuning the recall threshold: from the tenant's own recorded use, decided once by those who may, audited."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from memories.errors import Conflict, NotFound
from memories.models import Mention, Message, MessageRole, RecallTrace, Relation, ThresholdProposal
from memories.selectors.policies import policy_of
from memories.services.policies import apply_proposal, dismiss_proposal, propose_threshold, set_policy
from memories.services.sessions.sessions import start_session
from memories.types import Kind
from tenants.audit.verification import verify_all
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import SYSTEM, Actor, ActorKind, Principal
from tests.factories import make_membership, own_principal

pytestmark = pytest.mark.django_db


def record(principal: Principal, scored: list[tuple[float, bool | None]]) -> None:
    """One recall that brought up a memory for each of `scored`: its score, and whether the answer used it."""
    owner = {"tenant_id": principal.tenant_id, "user_id": principal.user_id}
    ids = [uuid4() for _ in scored]
    lines: list[dict[str, Any]] = [
        {"kind": "semantic", "id": str(id_), "rank": rank, "score": score, "signals": {}, "selected": True, "cut": ""}
        for rank, (id_, (score, _)) in enumerate(zip(ids, scored, strict=True), start=1)
    ]
    beside = {"kind": "semantic", "id": str(uuid4()), "score": 9.0, "selected": False, "cut": "rank"}
    trace = RecallTrace.objects.create(**owner, candidates=[*lines, beside])
    session = start_session(principal)
    message = Message.objects.create(
        **owner, session=session, turn=1, step=1, role=MessageRole.TOOL, tool_call_id="1", recall=trace
    )
    for id_, (_, used) in zip(ids, scored, strict=True):
        kind = {"relation": Relation.RECALLED, "kind": Kind.SEMANTIC}
        Mention.objects.create(**owner, **kind, message=message, memory_id=id_, used=used)


TELLING: list[tuple[float, bool | None]] = [(2.0, True), (1.8, True), (0.6, False), (0.5, False)]


def record_enough(principal: Principal) -> None:
    for _ in range(25):
        record(principal, TELLING)


def test_a_proposal_tells_a_value_and_why(admin_principal: Principal, principal: Principal) -> None:
    record_enough(principal)
    record(principal, [(0.1, None)])
    proposal = propose_threshold(admin_principal, tenant_id=principal.tenant_id)
    assert proposal.value == 1.8
    assert (proposal.previous, proposal.applied_at, proposal.dismissed_at) == (None, None, None)
    assert "kept 50 of 50 used memories" in proposal.reason
    evidence: dict[str, Any] = proposal.evidence
    assert (evidence["recalls"], evidence["items"], evidence["hit_rate"]) == (25, 100, 0.5)
    assert {"value": 1.8, "kept": 50, "cut": 50} in evidence["values"]
    assert policy_of(principal.tenant_id).recall_threshold is None


def test_no_other_tenants_use_enters_a_proposal(
    admin_principal: Principal, principal: Principal, other_tenant_member: Principal
) -> None:
    record_enough(other_tenant_member)
    record(principal, TELLING)
    RecallTrace.objects.update(tenant_id=other_tenant_member.tenant_id)
    proposal = propose_threshold(admin_principal, tenant_id=principal.tenant_id)
    assert (proposal.value, proposal.evidence["items"], proposal.evidence["values"]) == (None, 0, [])
    assert "Too little" in proposal.reason


def test_an_applied_proposal_is_the_policy_and_in_the_trail(admin_principal: Principal, principal: Principal) -> None:
    tenant_id = principal.tenant_id
    record_enough(principal)
    proposal = propose_threshold(admin_principal, tenant_id=tenant_id)
    applied = apply_proposal(admin_principal, tenant_id=tenant_id, proposal_id=proposal.pk)
    assert applied.applied_at and applied.applied_by == admin_principal.user_id
    assert policy_of(tenant_id).recall_threshold == 1.8
    events = AuditEvent.objects.filter(chain=f"tenant:{tenant_id}").order_by("sequence")
    assert list(events.values_list("action", flat=True)) == [
        "threshold.proposed",
        "policy.changed",
        "threshold.applied",
    ]
    assert all(chain.ok for chain in verify_all())


def test_a_dismissed_proposal_changes_nothing(admin_principal: Principal, principal: Principal) -> None:
    record_enough(principal)
    set_policy(admin_principal, tenant_id=principal.tenant_id, recall_threshold=0.3)
    proposal = propose_threshold(admin_principal, tenant_id=principal.tenant_id)
    assert proposal.previous == 0.3
    dismiss_proposal(admin_principal, tenant_id=principal.tenant_id, proposal_id=proposal.pk)
    assert policy_of(principal.tenant_id).recall_threshold == 0.3
    assert AuditEvent.objects.filter(action="threshold.dismissed").count() == 1


@pytest.mark.parametrize("first", [apply_proposal, dismiss_proposal])
@pytest.mark.parametrize("second", [apply_proposal, dismiss_proposal])
def test_a_proposal_is_decided_once(admin_principal: Principal, principal: Principal, first: Any, second: Any) -> None:
    record_enough(principal)
    tenant_id = principal.tenant_id
    proposal_id = propose_threshold(admin_principal, tenant_id=tenant_id).pk
    first(admin_principal, tenant_id=tenant_id, proposal_id=proposal_id)
    with pytest.raises(Conflict, match="already"):
        second(admin_principal, tenant_id=tenant_id, proposal_id=proposal_id)


def test_a_proposal_of_nothing_cannot_be_applied_and_gives_way_to_a_new_one(admin_principal: Principal) -> None:
    tenant_id = admin_principal.tenant_id
    first = propose_threshold(admin_principal, tenant_id=tenant_id)
    with pytest.raises(Conflict, match="no threshold"):
        apply_proposal(admin_principal, tenant_id=tenant_id, proposal_id=first.pk)
    second = propose_threshold(admin_principal, tenant_id=tenant_id)
    first.refresh_from_db()
    assert first.dismissed_at and not first.applied_at
    assert second.dismissed_at is None


def test_only_administrators_of_the_tenant_propose_and_decide(
    principal: Principal, admin_principal: Principal, other_tenant_member: Principal
) -> None:
    tenant_id = principal.tenant_id
    proposal_id = propose_threshold(SYSTEM, tenant_id=tenant_id).pk
    eve = own_principal(make_membership(role="admin", name="Eva"))
    strangers: list[Principal | Actor] = [
        *(principal, other_tenant_member, eve, admin_principal.as_agent()),
        Actor(ActorKind.STAFF, principal.user_id),
        Actor(ActorKind.STAFF, eve.user_id),
    ]
    for stranger in strangers:
        with pytest.raises(Forbidden):
            propose_threshold(stranger, tenant_id=tenant_id)
        for decide in (apply_proposal, dismiss_proposal):
            with pytest.raises(Forbidden):
                decide(stranger, tenant_id=tenant_id, proposal_id=proposal_id)
    assert ThresholdProposal.objects.get().dismissed_at is None


def test_another_tenants_proposal_is_an_unknown_one(admin_principal: Principal, other_tenant_member: Principal) -> None:
    foreign = propose_threshold(SYSTEM, tenant_id=other_tenant_member.tenant_id).pk
    told = []
    for proposal_id in (foreign, foreign + 1_000):
        for decide in (apply_proposal, dismiss_proposal):
            with pytest.raises(NotFound) as raised:
                decide(admin_principal, tenant_id=admin_principal.tenant_id, proposal_id=proposal_id)
            told.append(str(raised.value))
    assert len(set(told)) == 1
