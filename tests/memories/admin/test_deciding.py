"""The admin of memories: administrators decide for their own tenants, and the trail tells of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories.errors import InvalidInput, MemoriesError, NotFound
from memories.models import ExpiryRule, MemoryPolicy
from memories.selectors.policies import policy_of
from memories.services.policies import drop_expiry_rule
from tenants.models import AuditEvent, Membership, Tenant, User
from tests.factories import make_membership

pytestmark = pytest.mark.django_db


def with_access(membership: Membership) -> Membership:
    User.objects.filter(id=membership.user_id).update(is_staff=True)
    return Membership.objects.select_related("user", "tenant").get(id=membership.id)


@pytest.fixture
def browser(tenant: Tenant, client: Client) -> Client:
    """The browser of Alice, who administers `tenant`."""
    client.force_login(with_access(make_membership(tenant, role="admin", name="Alice")).user)
    return client


def page(model: str, what: str = "changelist", *args: object) -> str:
    return reverse(f"admin:memories_{model}_{what}", args=args)


def test_a_policy_leads_to_its_sections_and_begins_with_erasures(browser: Client) -> None:
    shown = browser.get(page("memorypolicy", "add")).content.decode()
    links = re.findall(r'href="#(part-\d)">([^<]+)<', shown)
    assert links[0][1] == "Erasures, exports and looks" and len(links) == 5
    assert all(f'id="{part}"' in shown for part, _name in links)


def test_a_policy_is_decided_and_changed(browser: Client, tenant: Tenant) -> None:
    browser.post(page("memorypolicy", "add"), {"tenant": str(tenant.id), "session_hours": "8", "recall_mode": ""})
    policy = MemoryPolicy.objects.get()
    assert (policy.tenant, policy.session_hours, policy.recall_items) == (tenant, 8, None)
    decided = {"recall_items": "3", "keep_superseded": "on", "never_words": " salary \r\n\r\nunion square\r\n"}
    decided |= {"apps": '{"planner": {"never_topics": "health: doctor"}}'}
    browser.post(page("memorypolicy", "change", policy.pk), decided)
    policy.refresh_from_db()
    assert (policy.session_hours, policy.recall_items, policy.keep_superseded) == (None, 3, True)
    assert policy_of(tenant.pk).never_words == ("salary", "union square")
    assert policy_of(tenant.pk).in_app("planner").never_topics == ("health: doctor",)
    events = AuditEvent.objects.filter(action="policy.changed", actor_kind="staff")
    assert [event.chain for event in events] == [f"tenant:{tenant.id}"] * 2


def test_what_cannot_be_followed_is_said_beside_the_field(browser: Client, tenant: Tenant) -> None:
    answer = browser.post(page("memorypolicy", "add"), {"tenant": str(tenant.id), "recall_items": "9999"})
    assert "must be a whole number from 0 to 100." in answer.content.decode()
    apps = {"tenant": str(tenant.id), "apps": '{"planner": {"never_words": "--"}}'}
    answer = browser.post(page("memorypolicy", "add"), apps)
    assert "planner.never_words needs a word on each line" in answer.content.decode()
    answer = browser.post(
        page("expiryrule", "add"), {"tenant": str(tenant.id), "category": "food", "soft_days": "9", "hard_days": "2"}
    )
    assert "gone before it is to be confirmed" in answer.content.decode()
    assert not MemoryPolicy.objects.exists() and not ExpiryRule.objects.exists()


@pytest.mark.parametrize(
    ("refusal", "field"),
    [(InvalidInput("category", "is not one."), "category"), (NotFound("tenant"), "__all__")],
)
def test_what_a_service_refuses_comes_back_in_the_form(
    browser: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, refusal: MemoriesError, field: str
) -> None:
    def refuse(*_args: object, **_decided: object) -> None:
        raise refusal

    monkeypatch.setattr("memories.admin.policies.set_expiry_rule", refuse)
    typed = {"tenant": str(tenant.id), "category": "food", "soft_days": "9"}
    form = browser.post(page("expiryrule", "add"), typed).context["adminform"].form
    assert (list(form.errors), form["soft_days"].value()) == ([field], "9")


def test_a_rule_is_set_changed_and_dropped(browser: Client, tenant: Tenant) -> None:
    fields = {"tenant": str(tenant.id), "category": "Food"}
    browser.post(page("expiryrule", "add"), {**fields, "soft_days": "9"})
    rule = ExpiryRule.objects.get()
    assert (rule.category, rule.soft_days) == ("food", 9)
    assert "already exists" in browser.post(page("expiryrule", "add"), fields).content.decode()
    browser.post(page("expiryrule", "change", rule.pk), {"hard_days": "30"})
    rule.refresh_from_db()
    assert (rule.soft_days, rule.hard_days) == (None, 30)
    browser.post(page("expiryrule", "delete", rule.pk), {"post": "yes"})
    assert not ExpiryRule.objects.exists()
    told = AuditEvent.objects.order_by("sequence").values_list("action", flat=True)
    assert list(told) == ["expiry_rule.set", "expiry_rule.set", "expiry_rule.dropped"]


def test_a_rule_that_somebody_dropped_meanwhile_is_gone(
    browser: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = ExpiryRule.objects.create(tenant=tenant, category="food")

    def meanwhile(*args: Any, **named: Any) -> None:
        ExpiryRule.objects.all().delete()
        drop_expiry_rule(*args, **named)

    monkeypatch.setattr("memories.admin.policies.drop_expiry_rule", meanwhile)
    answer = browser.post(page("expiryrule", "delete", rule.pk), {"post": "yes"})
    assert answer["Location"] == page("expiryrule") and not AuditEvent.objects.exists()


def test_several_rules_are_dropped_at_once_and_none_of_another_tenant(browser: Client, tenant: Tenant) -> None:
    foreign = ExpiryRule.objects.create(tenant=make_membership(name="Eve").tenant, category="zeppelins")
    mine = ExpiryRule.objects.create(tenant=tenant, category="food")
    chosen = [str(mine.pk), str(foreign.pk)]
    browser.post(page("expiryrule"), {"action": "delete_selected", "_selected_action": chosen, "post": "yes"})
    assert list(ExpiryRule.objects.all()) == [foreign]


def test_what_becomes_of_sensitive_values_is_chosen_kind_by_kind(browser: Client, tenant: Tenant) -> None:
    chosen = {"handling_phone": "mask", "handling_address": "block", "keep_originals": "on"}
    browser.post(page("memorypolicy", "add"), {"tenant": str(tenant.id), "session_hours": "8", **chosen})
    policy = MemoryPolicy.objects.get()
    assert (policy.handling, policy.keep_originals) == ({"phone": "mask", "address": "block"}, True)
    form = browser.get(page("memorypolicy", "change", policy.pk)).context["adminform"].form
    assert (form["handling_phone"].initial, form["handling_email"].initial) == ("mask", "")
    assert "address: block, phone: mask" in browser.get(page("memorypolicy")).content.decode()
    browser.post(page("memorypolicy", "change", policy.pk), {"handling_email": "mask"})
    policy.refresh_from_db()
    assert (policy.handling, policy.keep_originals) == ({"email": "mask"}, False)


@pytest.mark.parametrize("chosen", [{"handling_phone": "shred"}, {"handling_secret": "allow"}])
def test_no_other_handling_is_taken(browser: Client, tenant: Tenant, chosen: dict[str, str]) -> None:
    browser.post(page("memorypolicy", "add"), {"tenant": str(tenant.id), **chosen})
    assert not MemoryPolicy.objects.exclude(handling={}).exists()


def test_limits_are_filled_in_but_those_of_the_tenant_by_platform_staff_alone(browser: Client, tenant: Tenant) -> None:
    limits = {"limit_member_turns": "5", "limit_tenant_turns": "999999", "limit_open_turns": "3"}
    browser.post(page("memorypolicy", "add"), {"tenant": str(tenant.id), **limits})
    policy = MemoryPolicy.objects.get()
    assert policy.limits == {"member_turns": 5, "open_turns": 3}
    MemoryPolicy.objects.update(limits={"tenant_turns": 900})
    browser.post(page("memorypolicy", "change", policy.pk), {"limit_member_turns": "7", "limit_tenant_turns": "1"})
    policy.refresh_from_db()
    assert policy.limits == {"tenant_turns": 900, "member_turns": 7}
    answer = browser.post(page("memorypolicy", "change", policy.pk), {"limit_member_turns": "0"})
    assert "must be a whole number from 1 to 1,000,000,000." in answer.content.decode()
