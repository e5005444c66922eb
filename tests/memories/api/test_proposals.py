"""Proposals by REST: a program proposes, and only a token that may decide confirms, keeps, undoes or accepts."""

from __future__ import annotations

import pytest

from memories.models import Fact, Playbook
from memories.services.facts.remember import remember_fact
from memories.services.playbooks import remember_playbook
from tenants.models import Membership
from tenants.principal import AGENT_RIGHTS
from tenants.services import issue_token
from tests.memories.api.caller import Caller, caller_of

pytestmark = pytest.mark.django_db


def test_a_proposal_is_confirmed_and_undone(ada: Caller) -> None:
    fact = remember_fact(ada.principal, text="Plays the cello").memory_id
    proposal = ada.post("forget-proposals/", {"memory_ids": [str(fact)]}).json
    assert [each["text"] for each in proposal["goes"]] == ["Plays the cello"]
    confirmed = ada.post(f"forget-proposals/{proposal['id']}/confirm/").json
    assert confirmed["state"] == "confirmed" and confirmed["erase_at"]
    assert ada.get("memories/").json["results"] == []
    assert ada.post(f"forget-proposals/{proposal['id']}/undo/").json["state"] == "kept"
    assert [each["text"] for each in ada.get("memories/").json["results"]] == ["Plays the cello"]


@pytest.mark.parametrize("decision", ["confirm", "keep", "undo"])
def test_a_token_without_the_scope_proposes_and_decides_nothing(membership: Membership, decision: str) -> None:
    agent = caller_of(membership, AGENT_RIGHTS)
    fact = remember_fact(agent.principal, text="Plays the cello").memory_id
    proposal = agent.post("forget-proposals/", {"memory_ids": [str(fact)]}).json
    refused = agent.post(f"forget-proposals/{proposal['id']}/{decision}/")
    assert (refused.status, "memory:decide" in refused.text) == (403, True)
    assert Fact.objects.current().exists()


def test_a_playbook_is_accepted_by_a_person(ada: Caller, membership: Membership) -> None:
    book = remember_playbook(ada.principal, title="Brew tea", steps=["Boil", "Wait"], proposed=True).memory_id
    assert caller_of(membership, AGENT_RIGHTS).post(f"memories/{book}/accept/").status == 403
    assert Playbook.objects.get().proposed
    assert ada.post(f"memories/{book}/accept/").json["proposed"] is False


def test_a_token_may_not_decide_unless_that_is_asked_for(membership: Membership) -> None:
    token, _ = issue_token(membership, name="agent")
    assert token.rights == AGENT_RIGHTS
