"""Operations by REST: their state, what hinders them, cancelling and retrying, and who sees them."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from pytest_django import Settings

from memories.consolidation.material import FaultKind
from memories.models import ConsolidationRun, EpisodeLedger, Fact, LearningOperation, RunState
from memories.services.consolidation import RunReport, consolidate
from memories.services.consolidation.ledger import take
from memories.services.consolidation.operations import REPEAT_AFTER, learn_due
from memories.services.erasure.forget import forget_session
from memories.services.sessions.turns import begin_turn
from tenants.principal import Principal
from tests.faulty_model import READS_WELL
from tests.memories.api.caller import Caller
from tests.memories.services.consolidation.conftest import ScriptedExtractor, Step, fault, literally
from tests.openai_server import KEY, Stall, openai_server, said_as_json


@pytest.fixture(autouse=True)
def _in_the_background(settings: Settings) -> None:
    settings.MEMORYHUB_CONSOLIDATE = "batch"


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The steps of the extractor that the installation is given; every episode literally unless a test says more."""
    steps: list[Step] = [literally]
    monkeypatch.setattr(
        "memories.services.consolidation.running.consolidation_extractor", lambda: ScriptedExtractor(steps)
    )
    return steps


def say(caller: Caller, *texts: str, **fields: Any) -> dict[str, Any]:
    """Send these words of the user; return the operation."""
    messages = [{"role": "user", "content": text} for text in texts]
    operation: dict[str, Any] = caller.post("messages/", {"messages": messages, **fields}).json["operation"]
    return operation


def read(caller: Caller, operation: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = caller.get(f"operations/{operation['id']}/").json
    return found


def test_operations_are_listed_latest_first_by_a_cursor(ada: Caller, scripted: list[Step]) -> None:
    made = [say(ada, f"Owns map {number}") for number in range(3)]
    learn_due()
    page = ada.get("operations/?limit=2").json
    rest = ada.get(f"operations/?limit=2&cursor={page['next_cursor']}").json
    listed = page["results"] + rest["results"]
    assert [each["id"] for each in listed] == [each["id"] for each in reversed(made)]
    assert [len(each["decisions"]) for each in listed] == [1, 1, 1] and rest["next_cursor"] is None


def test_a_killed_worker_leaves_the_operation_to_the_next(ada: Caller, scripted: list[Step]) -> None:
    operation = say(ada, "Plays the cello")
    lease = take(ada.principal)
    ConsolidationRun.objects.create(
        tenant_id=ada.principal.tenant_id,
        user_id=ada.principal.user_id,
        extractor="killed",
        first_ordinal=1,
        last_ordinal=1,
        input={"episodes": operation["episode_ids"]},
    )
    assert read(ada, operation)["state"] == "running"
    assert ada.post(f"operations/{operation['id']}/cancel/").status == 409
    learn_due()
    assert not Fact.objects.exists()  # it is leased
    EpisodeLedger.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert read(ada, operation)["state"] == "waiting"
    learn_due()
    assert read(ada, operation)["state"] == "done"
    assert Fact.objects.get().text == "Plays the cello"
    lease.release()


def test_learning_now_that_takes_too_long_goes_on_in_the_background(
    ada: Caller, scripted: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.services.consolidation.operations.LEARN_NOW_SECONDS", 0.3)
    lease = take(ada.principal)  # another process is at it
    body = {"messages": [{"role": "user", "content": "Plays the cello"}], "learn": "now"}
    answer = ada.post("messages/", body)
    assert answer.status == 202 and answer.json["operation"]["state"] == "waiting"
    lease.release()
    learn_due()
    assert read(ada, answer.json["operation"])["state"] == "done"


def test_learning_now_waits_behind_a_turn_that_is_being_answered(
    ada: Caller, scripted: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.services.consolidation.operations.LEARN_NOW_SECONDS", 0.5)
    looks: list[Principal] = []

    def looked(principal: Principal, **options: int) -> RunReport:
        looks.append(principal)
        return consolidate(principal, **options)  # type: ignore[arg-type]  # max_batches

    monkeypatch.setattr("memories.services.consolidation.operations.consolidate", looked)
    begin_turn(ada.principal, text="Owns a map")
    assert say(ada, "Plays the cello", learn="now")["state"] == "waiting"
    assert 1 <= len(looks) <= 3


def test_a_slow_model_keeps_the_request_no_longer_than_its_deadline(
    ada: Caller, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.services.consolidation.operations.LEARN_NOW_SECONDS", 0.5)
    with openai_server(Stall(said_as_json({"facts": []}), 1), READS_WELL) as server:
        settings.MEMORYHUB_MODEL, settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "m", server.base_url, KEY
        began = time.monotonic()
        body = {"messages": [{"role": "user", "content": "Plays the cello"}], "learn": "now"}
        answer = ada.post("messages/", body)
        assert answer.status == 202 and time.monotonic() - began < 10
        operation = answer.json["operation"]
        assert operation["error"].startswith("The model stopped answering.") and operation["retry_at"]
        ada.post(f"operations/{operation['id']}/retry/")
        learn_due()
    assert [each["text"] for each in read(ada, operation)["memories"]] == ["Plays the cello"]


def test_a_fault_that_passes_is_told_and_tried_again(ada: Caller, scripted: list[Step]) -> None:
    scripted[:] = [fault(FaultKind.PASSING)]
    operation = say(ada, "Plays the cello", learn="now")
    assert operation["state"] == "waiting" and operation["retry_at"]
    assert operation["error"] == "The model said no. It is tried again by itself; retry/ tries it at once."
    scripted[:] = [literally]
    learn_due()
    assert read(ada, operation)["state"] == "waiting"
    answer = ada.post(f"operations/{operation['id']}/retry/")
    assert (answer.status, answer.json["retry_at"]) == (202, None)
    learn_due()
    assert read(ada, operation)["state"] == "done"


def test_what_was_given_up_is_retried(ada: Caller, scripted: list[Step]) -> None:
    scripted[:] = [fault(FaultKind.REFUSED)]
    operation = say(ada, "Plays the cello", learn="now")
    assert operation["state"] == "failed" and "retry/ reads them again" in operation["error"]
    assert ada.post(f"operations/{operation['id']}/cancel/").status == 409
    assert ada.post(f"operations/{operation['id']}/retry/").json["state"] == "waiting"
    learn_due()
    assert read(ada, operation)["state"] == "failed"
    scripted[:] = [fault(FaultKind.PASSING)]
    ada.post(f"operations/{operation['id']}/retry/")
    learn_due()
    waits = read(ada, operation)
    assert waits["state"] == "waiting" and waits["retry_at"]
    scripted[:] = [literally]
    LearningOperation.objects.update(retry_at=timezone.now() - REPEAT_AFTER)
    learn_due()
    done = read(ada, operation)
    assert done["state"] == "done" and [each["text"] for each in done["memories"]] == ["Plays the cello"]
    assert ada.post(f"operations/{operation['id']}/retry/").status == 409


def test_nothing_is_learned_from_what_was_cancelled_until_it_is_retried(ada: Caller, scripted: list[Step]) -> None:
    operation = say(ada, "Plays the cello")
    cancelled = ada.post(f"operations/{operation['id']}/cancel/")
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled") and cancelled.json["ended_at"]
    assert ada.post(f"operations/{operation['id']}/cancel/").status == 409
    say(ada, "Owns a map", learn="now")
    assert [fact.text for fact in Fact.objects.all()] == ["Owns a map"]
    ada.post(f"operations/{operation['id']}/retry/")
    learn_due()
    assert read(ada, operation)["state"] == "done"
    assert {fact.text for fact in Fact.objects.all()} == {"Owns a map", "Plays the cello"}


def test_a_cancelled_operation_that_no_run_has_passed_is_retried(ada: Caller, scripted: list[Step]) -> None:
    operation = say(ada, "Plays the cello")
    for action in ("cancel", "retry"):
        ada.post(f"operations/{operation['id']}/{action}/")
    learn_due()
    assert read(ada, operation)["state"] == "done" and Fact.objects.get().text == "Plays the cello"


def test_an_operation_says_that_learning_is_off(ada: Caller, settings: Settings) -> None:
    settings.MEMORYHUB_CONSOLIDATE = "off"
    operation = say(ada, "Plays the cello")
    assert operation["state"] == "waiting" and "POST /consolidation/" in operation["error"]
    assert learn_due() == []


def test_an_operation_outlives_its_session(ada: Caller, scripted: list[Step]) -> None:
    operation = say(ada, "Plays the cello")
    forget_session(ada.principal, session_id=UUID(operation["session_id"]))
    learn_due()
    left = read(ada, operation)
    assert (left["state"], left["session_id"], left["episode_ids"]) == ("done", None, [])
    assert not ConsolidationRun.objects.filter(state=RunState.DONE).exists()


def test_operations_isolate_owners(ada: Caller, bob: Caller, eve: Caller, scripted: list[Step]) -> None:
    operation = say(ada, "Plays the cello")
    for stranger in (bob, eve):
        assert stranger.get("operations/").json["results"] == []
        for method, path in (("GET", ""), ("POST", "cancel/"), ("POST", "retry/")):
            assert stranger.send(method, f"operations/{operation['id']}/{path}").status == 404
    assert read(ada, operation)["state"] == "waiting"
