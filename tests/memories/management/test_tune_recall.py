"""`manage.py tune_recall`: what the data speak for, why, and nothing changed unless asked."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from memories.selectors.policies import policy_of
from memories.services.facts.remember import remember_fact
from tenants.models import Tenant
from tenants.principal import Principal
from tests.memories.management.conftest import Answered
from tests.memories.services.test_tuning import record_enough

pytestmark = pytest.mark.django_db


def test_it_proposes_and_applies_only_if_asked(principal: Principal, tenant: Tenant, answered: Answered) -> None:
    record_enough(principal)
    told = answered("tune_recall", f"--tenant={tenant.slug}")
    assert (told["value"], told["previous"], told["applied"]) == (1.8, None, False)
    assert told["evidence"]["hit_rate"] == 0.5 and policy_of(tenant.id).recall_threshold is None
    assert answered("tune_recall", f"--tenant={tenant.slug}", "--apply")["applied"]
    assert policy_of(tenant.id).recall_threshold == 1.8


def test_people_read_a_table_of_numbers_and_the_reason(
    principal: Principal, tenant: Tenant, capsys: pytest.CaptureFixture[str]
) -> None:
    remember_fact(principal, text="Lives in Edinburgh")
    record_enough(principal)
    call_command("tune_recall", "--tenant", tenant.slug)
    said = capsys.readouterr().out
    assert "What each value had done" in said
    assert "100 memories of 25 recalls: hit rate 50.0%, ignored rate 50.0%." in said
    assert "Proposed: 1.8, instead of none." in said
    assert "Edinburgh" not in said and "Ada" not in said


def test_a_tenant_is_told_nothing_of_another(
    other_tenant_member: Principal, tenant: Tenant, answered: Answered
) -> None:
    record_enough(other_tenant_member)
    assert answered("tune_recall", f"--tenant={tenant.slug}")["evidence"]["items"] == 0
