"""Metadata and the app of memories by REST, and apps that are kept apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memories.models import MemoryPolicy
from memories.search.outbox import drain
from memories.selectors.history.chains import verify_chains
from memories.selectors.memories import pinned_facts
from memories.services.apps import in_app
from tenants.models import AuditEvent, AuditPayload
from tests.memories.api.caller import Answer, Caller, Life

TRIP = {"trip": {"to": "Lisbon", "nights": 3}, "tags": ["travel"], "paid": True}


@pytest.fixture
def apart(ada: Caller) -> None:
    """Ada's tenant keeps its apps apart."""
    MemoryPolicy.objects.create(tenant_id=ada.principal.tenant_id, apps_apart=True)


def stored(caller: Caller, text: str, **fields: object) -> dict[str, Any]:
    answer = caller.post("memories/", {"text": text, **fields})
    assert answer.status in (200, 201), answer.text
    memory: dict[str, Any] = answer.json["memory"]
    return memory


def texts(answer: Answer) -> set[str]:
    assert answer.status == 200, answer.text
    return {item["text"] for item in answer.json.get("results", answer.json.get("items"))}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"text": "Goes to Lisbon."}, id="fact"),
        pytest.param({"kind": "procedural", "title": "Pack", "steps": ["Fold."]}, id="playbook"),
        pytest.param({"kind": "episodic", "text": "I booked."}, id="episode"),
    ],
)
def test_a_memory_keeps_its_metadata_and_app(ada: Caller, life: Life, fields: dict[str, Any]) -> None:
    if fields.get("kind") == "episodic":
        fields = fields | {"session_id": str(life.session)}
    memory = ada.post("memories/", {**fields, "metadata": TRIP, "app": "planner"}).json["memory"]
    assert (memory["metadata"], memory["app"]) == (TRIP, "planner")
    assert ada.get(f"memories/{memory['id']}/").json["metadata"] == TRIP
    listed = ada.get(f"memories/?kind={memory['kind']}").json["results"]
    assert TRIP in [each["metadata"] for each in listed]


def test_the_app_may_come_as_a_header(ada: Caller) -> None:
    answer = ada.post("memories/", {"text": "Likes tea."}, **{"X-Memoryhub-App": "planner"})
    assert answer.json["memory"]["app"] == "planner"


def test_words_of_a_turn_carry_the_app(ada: Caller) -> None:
    assert ada.post("turns/", {"message": "I collect stamps.", "app": "planner"}).status == 200
    (episode,) = ada.get("memories/?kind=episodic").json["results"]
    assert episode["app"] == "planner"


@pytest.mark.parametrize("app", ["x" * 65, " planner", "a\nb", "AKIAIOSFODNN7EXAMPLE"])
def test_a_bad_app_is_refused(ada: Caller, app: str) -> None:
    assert set(ada.post("memories/", {"text": "Likes tea.", "app": app}).faults) == {"app"}


def test_a_recall_shows_metadata_and_app(ada: Caller) -> None:
    stored(ada, "Goes to Lisbon.", metadata=TRIP, app="planner")
    (item,) = ada.post("recall/", {"query": "Lisbon"}).json["items"]
    assert (item["metadata"], item["app"]) == (TRIP, "planner")


def test_a_correction_keeps_or_changes_metadata(ada: Caller) -> None:
    old = stored(ada, "Goes to Lisbon.", metadata=TRIP, app="planner")
    kept = ada.post(f"memories/{old['id']}/correct/", {"text": "Goes to Porto."}).json["memory"]
    assert (kept["metadata"], kept["app"]) == (TRIP, "planner")
    body = {"text": "Goes to Faro.", "metadata": {"paid": False}}
    assert ada.post(f"memories/{kept['id']}/supersede/", body).json["memory"]["metadata"] == {"paid": False}


def test_an_equal_statement_unites_the_metadata(ada: Caller) -> None:
    stored(ada, "Goes to Lisbon.", metadata={"a": 1, "b": 1})
    assert stored(ada, "Goes to Lisbon.", metadata={"b": 2})["metadata"] == {"a": 1, "b": 2}


def test_a_change_of_metadata_is_an_event(ada: Caller) -> None:
    memory = stored(ada, "Goes to Lisbon.", metadata={"paid": False})
    assert ada.patch(f"memories/{memory['id']}/", {"metadata": {"paid": True}}).json["metadata"] == {"paid": True}
    event = AuditEvent.objects.get(target_id=memory["id"], action="fact.described")
    assert [event.payload.data[side]["metadata"] for side in ("before", "after")] == [{"paid": False}, {"paid": True}]
    assert not verify_chains().faults


def test_erasing_a_memory_erases_all_its_metadata(ada: Caller, index_dir: Path) -> None:
    def held(bird: str) -> bool:
        documents = AuditPayload.objects.values_list("document", flat=True)
        files = [path.read_bytes() for path in index_dir.rglob("*") if path.is_file()]
        return any(bird in each for each in documents) or any(bird.encode() in content for content in files)

    memory = stored(ada, "Watches birds.", metadata={"bird": "quetzal"})
    drain()
    assert ada.patch(f"memories/{memory['id']}/", {"metadata": {"bird": "hoatzin"}}).status == 200
    drain()
    assert held("quetzal") and held("hoatzin")
    assert ada.delete(f"memories/{memory['id']}/").status == 200
    drain()
    assert not held("quetzal") and not held("hoatzin")


def test_the_metadata_of_an_episode_stays(ada: Caller, life: Life) -> None:
    assert ada.patch(f"memories/{life.episode}/", {"metadata": {}}).status == 409


def test_metadata_of_another_member_is_unknown(ada: Caller, bob: Caller, eve: Caller) -> None:
    memory = stored(ada, "Goes to Lisbon.", metadata=TRIP)
    for other in (bob, eve):
        assert other.patch(f"memories/{memory['id']}/", {"metadata": {}}).status == 404
    assert ada.get(f"memories/{memory['id']}/").json["metadata"] == TRIP


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        pytest.param([], "must be an object.", id="a list"),
        pytest.param({"a.b": 1}, "has a key that is not allowed", id="dot"),
        pytest.param({"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}, "a.b.c.d.e.f lies too deep", id="deep"),
        pytest.param({"a": "x" * 17_000}, "is too long", id="long"),
        pytest.param({"a": list(range(300))}, "has 302 values", id="many"),
        pytest.param({"n": 2**60}, "n is no number", id="large number"),
        pytest.param({"a": "\x00"}, "a holds a NUL", id="NUL"),
    ],
)
def test_metadata_against_the_rules_is_refused(ada: Caller, metadata: object, reason: str) -> None:
    assert reason in ada.post("memories/", {"text": "Likes tea.", "metadata": metadata}).faults["metadata"]


def test_a_secret_in_metadata_is_refused_like_one_in_the_text(ada: Caller) -> None:
    answer = ada.post("memories/", {"text": "Likes tea.", "metadata": {"wifi": {"password": "hunter2horse!"}}})
    assert (answer.status, answer.problem["spots"][0]["field"]) == (422, "metadata.wifi.password")
    card = ada.post("memories/", {"text": "Likes tea.", "metadata": {"card": 4111111111111111}})
    assert card.status == 422
    assert not ada.get("memories/").json["results"]


def test_a_secret_in_the_metadata_of_an_episode_is_masked(ada: Caller, life: Life) -> None:
    body = {
        "kind": "episodic",
        "session_id": str(life.session),
        "text": "Paid.",
        "metadata": {"card": "4111111111111111"},
    }
    assert "4111111" not in ada.post("memories/", body).text


@pytest.mark.parametrize("app", ["planner", "", None])
def test_shared_apps_see_everything(ada: Caller, app: str | None) -> None:
    stored(ada, "Goes to Lisbon.", app="planner")
    stored(ada, "Owns a red car.", app="garage")
    query = f"?app={app}" if app else ""
    assert texts(ada.get(f"memories/{query}")) == {"Goes to Lisbon.", "Owns a red car."}


@pytest.mark.usefixtures("apart")
class TestApart:
    """Apps that are kept apart."""

    def test_a_call_of_an_app_sees_its_own_and_those_of_none(self, ada: Caller) -> None:
        stored(ada, "Goes to Lisbon.", app="planner")
        stored(ada, "Owns a red car.", app="garage")
        stored(ada, "Is called Ada.")
        seen = {"Goes to Lisbon.", "Is called Ada."}
        assert texts(ada.get("memories/?app=planner")) == seen
        assert texts(ada.get("memories/?app=planner&as_of=2100-01-01T00:00:00Z")) == seen
        assert texts(ada.post("recall/", {"query": "Lisbon car Ada", "app": "planner"})) == seen
        assert texts(ada.post("recall/", {"query": "Lisbon car Ada"}, **{"X-Memoryhub-App": "planner"})) == seen
        assert texts(ada.get("memories/")) == {*seen, "Owns a red car."}

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("GET", "", None),
            ("GET", "chain/", None),
            ("PATCH", "", {"metadata": {}}),
            ("DELETE", "", None),
            ("POST", "correct/", {"text": "Owns a blue car."}),
            ("POST", "supersede/", {"text": "Owns a blue car."}),
            ("POST", "retire/", {}),
            ("POST", "pin/", {"pinned": True}),
        ],
    )
    def test_a_memory_of_another_app_is_unknown(self, ada: Caller, method: str, path: str, body: object) -> None:
        memory = stored(ada, "Owns a red car.", app="garage")
        headers = {"X-Memoryhub-App": "planner"}
        assert ada.send(method, f"memories/{memory['id']}/{path}", body, **headers).status == 404
        assert ada.get(f"memories/{memory['id']}/").json["text"] == "Owns a red car."

    def test_each_app_has_its_own_fact_of_a_key(self, ada: Caller) -> None:
        stored(ada, "Lives in Bristol.", key="home_city", app="planner")
        new = stored(ada, "Lives in Leeds.", key="home_city", app="garage")
        assert texts(ada.get("memories/?app=planner")) == {"Lives in Bristol."}
        assert stored(ada, "Lives in Leeds.", app="planner")["id"] != new["id"]
        assert not verify_chains().faults

    def test_what_is_said_to_no_app_holds_for_all(self, ada: Caller) -> None:
        stored(ada, "Lives in Bristol.", key="home_city", app="planner")
        stored(ada, "Lives in Leeds.", key="home_city")
        assert texts(ada.get("memories/?app=planner")) == texts(ada.get("memories/?app=garage")) == {"Lives in Leeds."}

    def test_an_equal_statement_to_no_app_is_of_no_app(self, ada: Caller) -> None:
        stored(ada, "Lives in Bristol.", key="home_city", app="planner")
        assert stored(ada, "Lives in Bristol.", key="home_city")["app"] == ""
        assert stored(ada, "Lives in Bristol.")["app"] == ""
        assert texts(ada.get("memories/?app=garage")) == {"Lives in Bristol."}
        assert not verify_chains().faults

    def test_a_correction_by_an_app_keeps_what_holds_for_all(self, ada: Caller) -> None:
        stored(ada, "Owns a red car.", key="car", app="garage")
        shared = stored(ada, "Lives in Bristol.", key="home_city")
        taken = stored(ada, "Lives in Leeds.")
        body = {"text": "Lives in Leeds!", "app": "planner"}
        new = ada.post(f"memories/{shared['id']}/correct/", body).json["memory"]
        assert new["app"] == "" and taken["app"] == ""
        assert "Owns a red car." in texts(ada.get("memories/?app=garage"))
        assert not verify_chains().faults

    def test_an_undo_by_an_app_brings_its_own_back(self, ada: Caller) -> None:
        old = stored(ada, "Lives in Bristol.", key="home_city", app="planner")
        stored(ada, "Lives in Leeds.", key="home_city", app="planner")
        stored(ada, "Lives in York.", key="home_city", app="garage")
        back = ada.send("POST", f"memories/{old['id']}/undo/", {}, **{"X-Memoryhub-App": "planner"}).json["memory"]
        assert (back["text"], back["app"]) == ("Lives in Bristol.", "planner")
        assert texts(ada.get("memories/?app=garage")) == {"Lives in York."}

    def test_a_pinned_fact_of_another_app_is_in_no_prompt(self, ada: Caller) -> None:
        stored(ada, "Owns a red car.", app="garage", pinned=True)
        assert not pinned_facts(in_app(ada.principal, "planner"))
        assert pinned_facts(in_app(ada.principal, "garage")) and pinned_facts(ada.principal)
