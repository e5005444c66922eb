"""The daily look at recorded use: nothing unless a setting asks for it, nothing twice, and never on another's data."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from memories.models import ThresholdProposal
from memories.selectors.policies import policy_of
from memories.services import policies
from memories.services.policies import apply_proposal, dismiss_proposal, propose_threshold, set_policy
from tenants.models import Tenant
from tenants.principal import SYSTEM, Principal
from tests.memories.services.test_tuning import record_enough

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("mode", "threshold"), [("propose", None), ("apply", 1.8)])
def test_it_proposes_to_whom_the_data_speak_and_applies_if_the_setting_says_so(
    principal: Principal, other_tenant_member: Principal, settings: Settings, mode: str, threshold: float | None
) -> None:
    settings.MEMORYHUB_TUNE_RECALL = mode
    record_enough(principal)
    for _ in range(2):
        policies.tune_daily()
    proposal = ThresholdProposal.objects.get()
    assert (proposal.tenant_id, proposal.value) == (principal.tenant_id, 1.8)
    assert policy_of(principal.tenant_id).recall_threshold == threshold
    assert policy_of(other_tenant_member.tenant_id).recall_threshold is None


@pytest.mark.parametrize("because", ["by default", "it holds already", "the tenant is inactive"])
def test_nothing_is_proposed(principal: Principal, settings: Settings, because: str) -> None:
    record_enough(principal)
    if because != "by default":
        settings.MEMORYHUB_TUNE_RECALL = "propose"
    if because == "it holds already":
        set_policy(SYSTEM, tenant_id=principal.tenant_id, recall_threshold=1.8)
    Tenant.objects.update(is_active=because != "the tenant is inactive")
    policies.tune_daily()
    assert not ThresholdProposal.objects.exists()


def test_what_was_dismissed_does_not_come_back_every_day(principal: Principal, settings: Settings) -> None:
    settings.MEMORYHUB_TUNE_RECALL = "apply"
    record_enough(principal)
    proposal = propose_threshold(SYSTEM, tenant_id=principal.tenant_id)
    dismiss_proposal(SYSTEM, tenant_id=principal.tenant_id, proposal_id=proposal.pk)
    policies.tune_daily()
    assert policy_of(principal.tenant_id).recall_threshold is None


def test_one_tenants_trouble_is_not_the_others(
    principal: Principal, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An administrator decides a proposal just before it is applied."""
    settings.MEMORYHUB_TUNE_RECALL = "apply"
    record_enough(principal)

    def faster(by: object, *, tenant_id: object, proposal_id: int) -> None:
        dismiss_proposal(SYSTEM, tenant_id=principal.tenant_id, proposal_id=proposal_id)
        apply_proposal(SYSTEM, tenant_id=principal.tenant_id, proposal_id=proposal_id)

    with monkeypatch.context() as patch:
        patch.setattr(policies, "apply_proposal", faster)
        policies.tune_daily()
    assert policy_of(principal.tenant_id).recall_threshold is None
    policies.tune_daily()
    assert policy_of(principal.tenant_id).recall_threshold == 1.8
