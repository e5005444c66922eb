"""What must not be stored is refused by kind and place, or masked where it was said; no answer repeats it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from memories.hygiene.sensitivity.findings import label
from memories.models import Fact, MemoryPolicy, Playbook
from memories.types import SensitiveKind
from tenants.models import AuditEvent
from tests.memories.api.caller import Caller, Life

pytestmark = pytest.mark.django_db

CARD = "4111 1111 1111 " + "1111"
REMOVED = label(SensitiveKind.PAYMENT_CARD)
WORDS = f"Pays with {CARD}"
PHONE = "+44 20 7946 " + "0958"

WRITES: list[tuple[str, str, dict[str, Any], str]] = [
    ("a fact", "memories/", {"text": WORDS}, "text"),
    ("a key", "memories/", {"text": "x", "key": CARD}, "key"),
    ("a title", "memories/", {"kind": "procedural", "title": WORDS, "steps": ["Go"]}, "title"),
    ("a step", "memories/", {"kind": "procedural", "title": "x", "steps": ["Go", WORDS]}, "steps.1"),
    ("a correction", "memories/{fact}/correct/", {"text": WORDS}, "text"),
    ("a successor", "memories/{fact}/supersede/", {"text": WORDS}, "text"),
    ("an end", "memories/{fact}/retire/", {"reason": WORDS}, "reason"),
    ("an undo", "memories/{old_fact}/undo/", {"reason": WORDS}, "reason"),
    ("a promotion", "memories/{task_fact}/promote/", {"to": "user", "reason": WORDS}, "reason"),
    ("an outcome", "memories/{playbook}/outcome/", {"success": False, "reason": WORDS}, "reason"),
]


@pytest.mark.parametrize(("path", "body", "field"), [pytest.param(*rest, id=name) for name, *rest in WRITES])
def test_a_refused_write_stores_nothing(ada: Caller, life: Life, path: str, body: dict[str, Any], field: str) -> None:
    before = [*Fact.objects.order_by("pk").values_list("pk", "version"), *Playbook.objects.values_list("pk", "version")]
    answer = ada.post(path.format(**vars_of(life)), body)
    assert (answer.status, answer.problem["type"]) == (422, "urn:memoryhub:problem:blocked")
    assert [(spot["field"], spot["kind"]) for spot in answer.problem["spots"]] == [(field, "payment_card")]
    assert "4111 1111" not in answer.text
    after = [*Fact.objects.order_by("pk").values_list("pk", "version"), *Playbook.objects.values_list("pk", "version")]
    assert before == after
    assert AuditEvent.objects.filter(owner_id=ada.principal.user_id, action="memory.blocked").count() == 1


def vars_of(life: Life) -> dict[str, Any]:
    return {name: getattr(life, name) for name in ("fact", "old_fact", "task_fact", "playbook", "session")}


def test_the_answer_names_kind_and_characters(ada: Caller) -> None:
    problem = ada.post("memories/", {"text": WORDS}).problem
    assert problem["spots"] == [{"field": "text", "kind": "payment_card", "start": 10, "end": 29}]
    (error,) = problem["errors"]
    assert error["field"] == "text" and "a payment card number at characters 11 to 29" in error["reason"]


def test_what_was_said_is_stored_masked_and_says_so(ada: Caller, life: Life) -> None:
    said = ada.post("memories/", {"kind": "episodic", "session_id": str(life.session), "text": WORDS}).json["memory"]
    assert (said["text"], said["sensitivity"]) == (f"Pays with {REMOVED}", {"payment_card": "mask"})


def test_a_turn_goes_on_and_tells_what_was_taken_out(ada: Caller) -> None:
    answer = ada.post("turns/", {"message": WORDS, "turn_id": str(uuid4())})
    assert (answer.json["masked"], answer.json["message"]) == (["payment_card"], f"Pays with {REMOVED}")
    assert "masked" in [notice["kind"] for notice in answer.json["notices"]]
    (turn,) = ada.get(f"sessions/{answer.json['session_id']}/").json["turns"]
    assert (turn["message"], turn["sensitivity"]) == (f"Pays with {REMOVED}", {"payment_card": "mask"})
    assert "4111 1111" not in answer.text


def test_titles_questions_and_working_memory_are_masked(ada: Caller, life: Life) -> None:
    answers = [
        ada.post("sessions/", {"title": WORDS}),
        ada.patch(f"sessions/{life.session}/", {"title": WORDS}),
        ada.post("recall/", {"query": WORDS, "task": CARD}),
        ada.patch(f"sessions/{life.session}/working-memory/", {"goal": WORDS, "scratchpad": [CARD]}),
        ada.post(f"sessions/{life.session}/end/", {"outcome": WORDS, "learned": [WORDS]}),
        ada.get(f"sessions/{life.session}/entries/"),
    ]
    assert [answer.status for answer in answers] == [201, 200, 200, 200, 200, 200]
    assert not [answer.text for answer in answers if "4111 1111" in answer.text]


def test_one_tenant_s_decision_isolates_other_tenants(ada: Caller, eve: Caller) -> None:
    MemoryPolicy.objects.create(tenant_id=eve.principal.tenant_id, handling={"phone": "block"})
    words = {"text": f"Mother answers at {PHONE}"}
    assert (ada.post("memories/", words).status, eve.post("memories/", words).status) == (201, 422)


@pytest.mark.parametrize(
    ("path", "body"), [pytest.param(path, body, id=name) for name, path, body, _ in WRITES if "{" in path]
)
def test_a_refusal_isolates_other_members_and_tenants(
    ada: Caller, bob: Caller, eve: Caller, life: Life, path: str, body: dict[str, Any]
) -> None:
    for stranger in (bob, eve):
        there = stranger.post(path.format(**vars_of(life)), body)
        nowhere = stranger.post(path.format(**dict.fromkeys(vars_of(life), uuid4())), body)
        assert there.status == nowhere.status == 404 and there.problem == nowhere.problem
    assert not AuditEvent.objects.filter(owner_id=ada.principal.user_id, action="memory.blocked").exists()
