"""Consolidation by REST: a batch on demand, the runs with their reasons, and one again."""

from __future__ import annotations

import pytest

from memories.consolidation.material import FaultKind
from memories.services.consolidation.ledger import take
from tenants.models import Membership
from tenants.principal import Right
from tests.memories.api.caller import Caller, Life, caller_of
from tests.memories.services.consolidation.conftest import ScriptedExtractor, Step, fault, literally, tell


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The steps of the extractor that the installation is given; every episode literally unless a test says more."""
    steps: list[Step] = [literally]
    extractor = ScriptedExtractor(steps)
    monkeypatch.setattr("memories.services.consolidation.running.consolidation_extractor", lambda: extractor)
    return steps


def test_a_batch_is_consolidated_on_demand(ada: Caller, scripted: list[Step]) -> None:
    tell(ada.principal, *(f"Owns map {number}" for number in range(21)))
    answer = ada.post("consolidation/").json
    assert (answer["episodes"], answer["decisions"], answer["waiting"]) == (20, {"created": 20}, 1)
    assert ada.post("consolidation/").json["waiting"] == 0
    assert ada.post("consolidation/").json["runs"] == []


def test_a_run_tells_its_decisions_and_reasons(ada: Caller, scripted: list[Step]) -> None:
    (said,) = tell(ada.principal, "Plays the cello")
    (run_id,) = ada.post("consolidation/").json["runs"]
    run = ada.get(f"consolidation/{run_id}/").json
    assert (run["state"], run["trigger"], run["extractor"]) == ("done", "demand", "scripted")
    assert run["episodes"] == [str(said)]
    (decision,) = run["decisions"]
    assert (decision["what"], decision["verdict"], decision["reason"]) == ("fact", "created", "said by the user")
    assert ada.get(f"memories/{decision['memory_id']}/").json["text"] == "Plays the cello"
    assert [each["id"] for each in ada.get("consolidation/").json["results"]] == [run_id]


def test_a_fault_is_told_and_a_run_that_was_given_up_is_read_again(ada: Caller, scripted: list[Step]) -> None:
    tell(ada.principal, "Plays the cello")
    scripted[:] = [fault(FaultKind.REFUSED)]
    answer = ada.post("consolidation/").json
    assert (answer["given_up"], answer["waiting"], answer["error"]) == (1, 0, "The model said no.")
    scripted[:] = [literally]
    (run_id,) = answer["runs"]
    assert ada.get(f"consolidation/{run_id}/").json["given_up"]
    assert ada.post(f"consolidation/{run_id}/rerun/").json["decisions"] == {"created": 1}


def test_what_waits_and_the_next_try_are_told(ada: Caller, scripted: list[Step]) -> None:
    tell(ada.principal, "Plays the cello")
    scripted[:] = [fault(FaultKind.PASSING)]
    (run_id,) = ada.post("consolidation/").json["runs"]
    listed = ada.get("consolidation/").json
    assert listed["waiting"] == 1
    assert listed["retry_at"] and listed["waiting_since"]
    assert ada.post(f"consolidation/{run_id}/rerun/").status == 409


def test_two_at_once_are_a_conflict(ada: Caller, life: Life) -> None:
    lease = take(ada.principal)
    assert ada.post("consolidation/").status == 409
    assert ada.post(f"consolidation/{life.run}/rerun/").status == 409
    lease.release()


def test_a_token_that_may_only_read_sees_the_runs_and_starts_none(membership: Membership, life: Life) -> None:
    reader = caller_of(membership, [Right.READ])
    assert reader.get(f"consolidation/{life.run}/").status == 200
    assert reader.post("consolidation/").status == 403
