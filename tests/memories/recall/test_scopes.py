"""Scopes: reads inherit downward (a task sees its user's, the tenant's and the global ones), and no other way."""

from __future__ import annotations

import pytest

from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.memories import list_memories
from memories.services.facts.remember import remember_fact
from memories.types import Kind, Scope
from tenants.models import Membership
from tenants.principal import Principal
from tenants.principals import system_principal
from tests.memories.recall.conftest import texts

pytestmark = pytest.mark.django_db

GLOBAL, TENANT, USER = "The valve turns left", "The valve here is stiff", "My valve is old"
KITCHEN, BATHROOM = "The valve of the kitchen drips", "The valve of the bathroom hisses"


@pytest.fixture(params=["indexed", "just written"])
def valves(
    request: pytest.FixtureRequest, principal: Principal, membership: Membership, admin_principal: Principal
) -> Principal:
    """Ada, who knows of a valve in each scope and in two tasks."""
    remember_fact(system_principal(membership), text=GLOBAL, scope=Scope.GLOBAL)
    remember_fact(admin_principal, text=TENANT, scope=Scope.TENANT)
    remember_fact(principal, text=USER)
    remember_fact(principal, text=KITCHEN, scope=Scope.TASK, task="kitchen")
    remember_fact(principal, text=BATHROOM, scope=Scope.TASK, task="bathroom")
    if request.param == "indexed":
        drain()
    return principal


@pytest.mark.parametrize(
    ("task", "seen"),
    [
        pytest.param("kitchen", {GLOBAL, TENANT, USER, KITCHEN}, id="a task sees all above it"),
        pytest.param("bathroom", {GLOBAL, TENANT, USER, BATHROOM}, id="and not the task beside it"),
        pytest.param("", {GLOBAL, TENANT, USER}, id="a user sees no task"),
    ],
)
def test_a_recall_inherits_downward(valves: Principal, task: str, seen: set[str]) -> None:
    assert set(texts(recall(valves, "what about the valve?", task=task))) == seen


def test_others_of_the_tenant_see_what_it_shares_and_others_what_all_share(
    valves: Principal, other_member: Principal, other_tenant_member: Principal
) -> None:
    for who, seen in ((other_member, {GLOBAL, TENANT}), (other_tenant_member, {GLOBAL})):
        assert set(texts(recall(who, "what about the valve?", task="kitchen"))) == seen
        assert {row.text for row in list_memories(who, Kind.SEMANTIC, shared=True)} == seen
