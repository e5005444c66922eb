"""Proposed thresholds in the admin: shown with their reasons and decided by the tenant's own administrators alone."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import ThresholdProposal
from memories.selectors.policies import policy_of
from tenants.models import AuditEvent, Tenant
from tests.factories import make_membership
from tests.memories.admin.test_deciding import with_access

pytestmark = pytest.mark.django_db

EVIDENCE = {"recalls": 3, "items": 9, "used": 5, "ignored": 4, "values": [{"value": 0.75, "kept": 5, "cut": 2}]}
LIST = "admin:memories_thresholdproposal_changelist"


@pytest.fixture
def browser(tenant: Tenant, client: Client) -> Client:
    """The browser of Alice, who administers `tenant`."""
    client.force_login(with_access(make_membership(tenant, role="admin", name="Alice")).user)
    return client


@pytest.fixture
def proposal(tenant: Tenant) -> ThresholdProposal:
    return ThresholdProposal.objects.create(tenant=tenant, value=0.75, reason="It keeps all", evidence=EVIDENCE)


def decide(browser: Client, action: str, *proposals: ThresholdProposal) -> str:
    """What the page says."""
    chosen = [str(each.pk) for each in proposals]
    answer = browser.post(reverse(LIST), {"action": action, "_selected_action": chosen}, follow=True)
    return answer.content.decode()


def test_a_proposal_is_shown_with_its_reasons(browser: Client, proposal: ThresholdProposal) -> None:
    assert "It keeps all" in browser.get(reverse(LIST)).content.decode()
    shown = browser.get(reverse("admin:memories_thresholdproposal_change", args=[proposal.pk])).content.decode()
    assert "used kept, of 5" in shown
    assert "<td>0.75</td><td>5</td><td>2</td>" in shown
    assert "to be decided" in shown


def test_values_are_written_as_the_language_has_them(
    browser: Client, tenant: Tenant, proposal: ThresholdProposal
) -> None:
    page = reverse("admin:memories_thresholdproposal_change", args=[proposal.pk])
    german = {"accept-language": "de"}
    assert "<td>0,75</td><td>5</td><td>2</td>" in browser.get(page, headers=german).content.decode()
    said = browser.post(page, {"_decide": "apply"}, follow=True, headers=german).content.decode()
    assert f"0,75 ist die Schwelle von {tenant}." in said


def test_a_proposal_is_applied_once(browser: Client, tenant: Tenant, proposal: ThresholdProposal) -> None:
    said = decide(browser, "apply", proposal)
    assert f"0.75 is the threshold of {tenant}." in said
    assert policy_of(tenant.id).recall_threshold == 0.75
    assert AuditEvent.objects.filter(action="threshold.applied", actor_kind="staff").count() == 1
    assert "already" in decide(browser, "dismiss", proposal)


def test_a_proposal_is_dismissed(browser: Client, tenant: Tenant, proposal: ThresholdProposal) -> None:
    decide(browser, "dismiss", proposal)
    proposal.refresh_from_db()
    assert proposal.dismissed_at
    assert policy_of(tenant.id).recall_threshold is None


def test_the_buttons_of_a_proposal_say_what_they_do(
    browser: Client, tenant: Tenant, proposal: ThresholdProposal
) -> None:
    page = reverse("admin:memories_thresholdproposal_change", args=[proposal.pk])
    shown = browser.get(page).content.decode()
    assert "Apply this threshold" in shown and "Dismiss it" in shown and "_save" not in shown
    said = browser.post(page, {"_decide": "apply"}, follow=True).content.decode()
    assert f"0.75 is the threshold of {tenant}." in said and policy_of(tenant.id).recall_threshold == 0.75
    assert "Apply this threshold" not in browser.get(page).content.decode()


def test_proposals_are_made_by_data_alone(browser: Client, proposal: ThresholdProposal) -> None:
    assert browser.get(reverse("admin:memories_thresholdproposal_add")).status_code == 403
    browser.post(reverse("admin:memories_thresholdproposal_change", args=[proposal.pk]), {"value": "9"})
    proposal.refresh_from_db()
    assert proposal.value == 0.75
