"""A tenant's administrators decide how its memory is kept: nobody else, nothing that cannot be followed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memories.errors import InvalidInput, NotFound
from memories.models import ExpiryRule, MemoryPolicy
from memories.selectors.policies import Policy, expiry_rules_of, policy_of
from memories.services.policies import drop_expiry_rule, set_expiry_rule, set_policy
from memories.types import RecallMode
from tenants.audit.verification import verify_all
from tenants.errors import Forbidden
from tenants.models import AuditEvent, User
from tenants.principal import SYSTEM, Actor, ActorKind, Principal, Right

pytestmark = pytest.mark.django_db


def test_what_is_decided_is_in_force_and_the_rest_as_by_default(admin_principal: Principal) -> None:
    tenant_id = admin_principal.tenant_id
    set_policy(admin_principal, tenant_id=tenant_id, session_hours=8, recall_mode="pull", keep_superseded=True)
    set_policy(admin_principal, tenant_id=tenant_id, recall_threshold=0.25)
    assert policy_of(tenant_id) == Policy(
        session_lifetime=timedelta(hours=8),
        recall_mode=RecallMode.PULL,
        recall_threshold=0.25,
        keep_superseded=True,
    )
    set_policy(admin_principal, tenant_id=tenant_id, session_hours=None, recall_mode="")
    assert policy_of(tenant_id) == Policy(recall_threshold=0.25, keep_superseded=True)


def test_the_trail_tells_what_changed(admin_principal: Principal) -> None:
    tenant_id = admin_principal.tenant_id
    for _ in range(2):
        set_policy(admin_principal, tenant_id=tenant_id, session_hours=8)
        set_expiry_rule(admin_principal, tenant_id=tenant_id, category=" Food ", soft_days=10)
    drop_expiry_rule(admin_principal, tenant_id=tenant_id, category="food")
    events = AuditEvent.objects.filter(chain=f"tenant:{tenant_id}").order_by("sequence")
    assert [event.action for event in events] == ["policy.changed", "expiry_rule.set", "expiry_rule.dropped"]
    assert events[0].actor_id == admin_principal.user_id
    assert events[0].payload.data == {"reason": "", "before": {"session_hours": None}, "after": {"session_hours": 8}}
    assert events[1].payload.data["reason"] == "food"
    assert all(chain.ok for chain in verify_all())


@pytest.mark.parametrize(
    "wrong",
    [
        {"session_hours": 0},
        {"consolidate_every": True},
        {"recall_items": 101},
        {"recall_mode": "shout"},
        {"recall_threshold": float("nan")},
        {"keep_superseded": None},
        {"limits": 5},
        {"limits": {"member_naps": 5}},
        {"max_token_days": 0},
        {"instructions": "x" * 4_001},
        {"instructions": None},
        {"never_words": "salary\n--"},
        {"never_words": "\n".join(map(str, range(101)))},
        {"categories": "c" * 101},
        {"never_topics": "the card 4111 1111 1111 1111"},
        {"apps": {"planner": "health"}},
        {"apps": {"planner": {"recall_items": 3}}},
        {"apps": {"planner": {"never_words": "--"}}},
        {"apps": {"": {}}},
        {"apps": {str(number): {} for number in range(51)}},
        {"apps": {str(number): {"instructions": "x" * 4_000} for number in range(17)}},
        {"tenant_name": "mine"},
    ],
    ids=str,
)
def test_what_cannot_be_followed_is_refused(admin_principal: Principal, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        set_policy(admin_principal, tenant_id=admin_principal.tenant_id, consolidate_hours=4, **wrong)
    assert caught.value.field.partition(".")[0] == next(iter(wrong))
    assert not MemoryPolicy.objects.exists()


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"category": " "}, "category"),
        ({"category": "4111" + "1111" * 3}, "category"),
        ({"category": "food", "soft_days": 0}, "soft_days"),
        ({"category": "food", "hard_days": 40_000}, "hard_days"),
        ({"category": "food", "soft_days": 10, "hard_days": 9}, "hard_days"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(admin_principal: Principal, rule: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        set_expiry_rule(admin_principal, tenant_id=admin_principal.tenant_id, **rule)
    assert caught.value.field == field
    assert not ExpiryRule.objects.exists()


def test_a_rule_is_found_by_its_folded_name(admin_principal: Principal) -> None:
    tenant_id = admin_principal.tenant_id
    set_expiry_rule(admin_principal, tenant_id=tenant_id, category="Food", hard_days=5)
    set_expiry_rule(admin_principal, tenant_id=tenant_id, category="FOOD", hard_days=6)
    assert [rule.hard_days for rule in expiry_rules_of(tenant_id).values()] == [6]
    drop_expiry_rule(SYSTEM, tenant_id=tenant_id, category="Food")
    with pytest.raises(NotFound):
        drop_expiry_rule(SYSTEM, tenant_id=tenant_id, category="Food")


def test_nobody_but_its_administrators_decides(
    principal: Principal, admin_principal: Principal, other_tenant_member: Principal
) -> None:
    tenant_id = admin_principal.tenant_id
    strangers: list[Principal | Actor] = [
        principal,
        admin_principal.as_agent(),
        replace(admin_principal, actor_kind=ActorKind.TOKEN, rights=frozenset({Right.READ, Right.CHAT})),
        replace(other_tenant_member, role=admin_principal.role),
        replace(other_tenant_member, actor_kind=ActorKind.SYSTEM),
        Actor(ActorKind.STAFF, principal.user_id),
        Actor(ActorKind.STAFF, None),
        Actor(ActorKind.MEMBER, admin_principal.user_id),
    ]
    for stranger in strangers:
        with pytest.raises(Forbidden):
            set_policy(stranger, tenant_id=tenant_id, session_hours=8)
        with pytest.raises(Forbidden):
            set_expiry_rule(stranger, tenant_id=tenant_id, category="food")
        with pytest.raises(Forbidden):
            drop_expiry_rule(stranger, tenant_id=tenant_id, category="food")
    assert not MemoryPolicy.objects.exists() and not AuditEvent.objects.exists()
    administrator = Actor(ActorKind.STAFF, admin_principal.user_id)
    assert set_policy(administrator, tenant_id=tenant_id, recall_items=3).recall_items == 3


@pytest.mark.parametrize(("limit", "number"), [("member_turns", 0), ("open_turns", 101), ("member_reads", "5")])
def test_a_limit_that_cannot_be_followed_is_refused_by_name(
    admin_principal: Principal, limit: str, number: object
) -> None:
    with pytest.raises(InvalidInput, match="must be a whole number from 1 to") as caught:
        set_policy(admin_principal, tenant_id=admin_principal.tenant_id, limits={limit: number})
    assert caught.value.field == f"limit_{limit}"


def test_only_platform_staff_change_the_limits_of_a_whole_tenant(admin_principal: Principal) -> None:
    tenant_id = admin_principal.tenant_id
    set_policy(admin_principal, tenant_id=tenant_id, limits={"member_turns": 5})
    for administrator in (admin_principal, Actor(ActorKind.STAFF, admin_principal.user_id)):
        with pytest.raises(Forbidden, match="Only platform staff"):
            set_policy(administrator, tenant_id=tenant_id, limits={"tenant_turns": 1_000_000})
    operator = Actor(ActorKind.STAFF, User.objects.create_superuser("operator").pk)
    set_policy(operator, tenant_id=tenant_id, limits={"tenant_turns": 900})
    set_policy(admin_principal, tenant_id=tenant_id, limits={"tenant_turns": 900, "member_turns": 7})
    assert MemoryPolicy.objects.get().limits == {"tenant_turns": 900, "member_turns": 7}
