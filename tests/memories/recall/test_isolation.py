"""Nobody recalls what is not theirs: not by question, not by task, not by score, not through a plane that lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memories.models import Fact
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.services.catalog import remember_catalog_entry
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import ALL_KINDS, Candidate, Candidates, Kind, Scope
from tenants.principal import Principal
from tests.memories.recall.conftest import texts

pytestmark = pytest.mark.django_db

SECRET = "The vault code is 4711"
EVERYTHING: dict[str, Any] = {"include_superseded": True, "task": "heist", "limit": 100}


def confide(principal: Principal) -> None:
    """One memory of each kind of their own, and one for a task."""
    remember_episode(principal, session_id=start_session(principal).pk, text=SECRET)
    remember_fact(principal, text=SECRET, key="vault")
    remember_fact(principal, text=f"{SECRET} tonight", scope=Scope.TASK, task="heist")
    remember_playbook(principal, title="Open the vault", steps=[SECRET])


@pytest.fixture(params=["indexed", "just written"])
def confided(request: pytest.FixtureRequest, principal: Principal) -> Principal:
    """Ada, who has a secret."""
    confide(principal)
    if request.param == "indexed":
        drain()
    return principal


def test_recall_isolates_other_members(confided: Principal, other_member: Principal) -> None:
    assert len(recall(confided, SECRET, **EVERYTHING).items) == 4
    assert texts(recall(other_member, SECRET, **EVERYTHING)) == []


def test_recall_isolates_other_tenants(confided: Principal, other_tenant_member: Principal) -> None:
    assert texts(recall(other_tenant_member, SECRET, **EVERYTHING)) == []


def test_an_administrator_recalls_their_own_memory_alone(confided: Principal, admin_principal: Principal) -> None:
    assert texts(recall(admin_principal, SECRET, **EVERYTHING)) == []


def test_the_catalog_of_a_tenant_stays_in_it(
    principal: Principal, admin_principal: Principal, other_tenant_member: Principal
) -> None:
    remember_catalog_entry(admin_principal, title="Vault", text=SECRET)
    drain()
    assert texts(recall(principal, SECRET)) == [SECRET]
    assert texts(recall(other_tenant_member, SECRET)) == []


@pytest.fixture
def lying_plane(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A plane that answers everybody with everything there is."""

    def lie(*_: Any) -> Candidates:
        facts = Fact.objects.values_list("pk", flat=True)
        return Candidates(tuple(Candidate(pk, Kind.SEMANTIC, 9.9, 0.99) for pk in facts))

    def install() -> None:
        monkeypatch.setattr("memories.search.embedded.plane.EmbeddedPlane.candidates", lie)

    return install


def test_the_database_refuses_what_a_lying_plane_offers(
    principal: Principal, other_member: Principal, other_tenant_member: Principal, lying_plane: Callable[[], None]
) -> None:
    confide(principal)
    drain()
    lying_plane()
    assert texts(recall(principal, SECRET, types=["semantic"])) == [SECRET]
    for stranger in (other_member, other_tenant_member):
        assert texts(recall(stranger, SECRET, **EVERYTHING)) == []


@pytest.mark.parametrize("stranger", ["other_member", "other_tenant_member"])
def test_nothing_that_others_store_moves_a_score(
    principal: Principal, stranger: str, request: pytest.FixtureRequest
) -> None:
    remember_fact(principal, text="The vault is in the cellar")
    remember_episode(principal, session_id=start_session(principal).pk, text="I forgot where the vault is")
    drain()
    before = recall(principal, "where is the vault?", record=False).items
    for number in range(30):
        remember_fact(request.getfixturevalue(stranger), text=f"The vault number {number} is in the cellar")
    drain()
    assert recall(principal, "where is the vault?", record=False).items == before


def test_others_are_left_out_when_the_database_answers_alone(
    confided: Principal, other_member: Principal, other_tenant_member: Principal, plane_is_down: None
) -> None:
    drain()
    assert recall(confided, SECRET, types=ALL_KINDS).items
    for stranger in (other_member, other_tenant_member):
        assert texts(recall(stranger, SECRET, **EVERYTHING)) == []


def test_uses_by_one_member_do_not_move_what_another_is_given(
    principal: Principal, other_member: Principal, admin_principal: Principal
) -> None:
    remember_fact(admin_principal, text="The office closes at six", scope=Scope.TENANT)
    drain()
    for _ in range(3):
        recall(principal, "when does the office close?")
    assert Fact.objects.get().use_count == 0
    assert recall(other_member, "when does the office close?").items[0].signals["adjustment"] == 1.0
