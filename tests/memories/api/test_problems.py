"""Whatever is wrong with a request is said by field and reason, and nothing is stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from memories.models import Episode, Fact, Message, Playbook, Session
from tests.memories.api.caller import Caller, Life

MEGABYTE = "x" * 1_000_000
JSON, STREAM = "application/json", "text/event-stream"
NO_ID = "00000000-0000-4000-8000-000000000000"

# The body, and the field that is wrong with it.
BAD_FACTS = [
    pytest.param({}, "text", id="no text"),
    pytest.param({"text": " \n\t"}, "text", id="only spaces"),
    pytest.param({"text": "a\0b"}, "text", id="NUL"),
    pytest.param({"text": "a\ud800b"}, "text", id="lone surrogate"),
    pytest.param({"text": 7}, "text", id="number for text"),
    pytest.param({"text": "x", "\ud800\n<b>": 1}, r"\ud800\n<b>", id="unknown field that is no text"),
    pytest.param({"text": "x", "4539148803436467": 1}, "[payment card removed]", id="a card for a field"),
    pytest.param({"text": "x", "kind": "rumour"}, "kind", id="unknown kind"),
    pytest.param({"text": "x", "confidence": "0.5"}, "confidence", id="text for confidence"),
    pytest.param({"text": "x", "confidence": 10**400}, "confidence", id="confidence beyond numbers"),
    pytest.param({"text": "x", "valid_from": "2026-03-01"}, "valid_from", id="date for time"),
    pytest.param({"text": "x", "valid_from": "9999-12-31T23:00:00-05:00"}, "valid_from", id="time beyond time"),
    pytest.param({"text": "x", "supersedes_ids": NO_ID}, "supersedes_ids", id="text for list"),
    pytest.param({"text": "x", "supersedes_ids": [NO_ID] * 101}, "supersedes_ids", id="too many ids"),
    pytest.param({"text": "x", "supersedes_ids": [NO_ID]}, "supersedes_ids", id="unknown id"),
    pytest.param({"kind": "procedural", "title": "x"}, "steps", id="playbook without steps"),
    pytest.param({"text": "x", "scope": "task"}, "task", id="task scope without a task"),
    pytest.param({"text": "x", "key": "k" * 101}, "key", id="long key"),
    pytest.param([], "body", id="list for body"),
]
BAD_BODIES = {
    "cut off": b"{",
    "single quotes": b"{'text': 'x'}",
    "not UTF-8": b'{"text": "\xff"}',
    "NaN": b'{"text": NaN}',
    "Infinity": b'{"confidence": Infinity}',
    "nested deeply": b"[" * 100_000,
    "a very long number": b'{"confidence": ' + b"9" * 10_000 + b"}",
}
# An address that takes a body, and a body that is right for it.
POSTS = [
    ("sessions/", {}),
    ("turns/", {"message": "hello"}),
    (f"sessions/{NO_ID}/turns/", {"message": "hello"}),
    ("memories/", {"text": "x"}),
    (f"memories/{NO_ID}/correct/", {"text": "x"}),
    (f"memories/{NO_ID}/supersede/", {"text": "x"}),
    (f"memories/{NO_ID}/retire/", {}),
    (f"memories/{NO_ID}/pin/", {"pinned": True}),
    ("recall/", {"query": "x"}),
]
posts = pytest.mark.parametrize(("path", "body"), POSTS, ids=[path for path, _ in POSTS])


def stored() -> int:
    """How many rows there are that a request could have made."""
    return sum(model._default_manager.count() for model in (Session, Message, Episode, Fact, Playbook))


@pytest.mark.parametrize(("body", "field"), BAD_FACTS)
def test_a_bad_fact_is_refused_by_field(ada: Caller, body: Any, field: str) -> None:
    answer = ada.post("memories/", body)
    assert (answer.status, list(answer.faults), stored()) == (400, [field], 0)
    assert answer.faults[field]


@pytest.mark.parametrize(
    ("path", "accept", "body", "field"),
    [
        pytest.param("turns/", JSON, {"message": ""}, "message", id="no words in a turn"),
        pytest.param("turns/", STREAM, {"message": "a\ud800"}, "message", id="no text in a turn to be streamed"),
        pytest.param("recall/", JSON, {"query": "  "}, "query", id="no question"),
        pytest.param("recall/", JSON, {"query": "x", "types": ["dreams"]}, "types.0", id="unknown type"),
        pytest.param("recall/", JSON, {"query": "x", "limit": "5"}, "limit", id="text for limit"),
    ],
)
def test_a_bad_request_is_refused_by_field(ada: Caller, path: str, accept: str, body: Any, field: str) -> None:
    answer = ada.post(path, body, Accept=accept)
    assert (answer.status, list(answer.faults), stored()) == (400, [field], 0)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=101", "limit"),
        ("cursor=x", "cursor"),
        ("kind=rumour", "kind"),
        ("status=active,gone", "status"),
        ("kind=semantic&session=" + NO_ID, "session"),
        ("kind=episodic&category=x", "category"),
        ("q=" + "x" * 201, "q"),
        ("shared=maybe", "shared"),
        ("user=" + NO_ID, "user"),
        ("%ED%A0%80=1", r"\ufffd\ufffd\ufffd"),
    ],
)
def test_a_bad_query_is_refused_by_field(ada: Caller, query: str, field: str) -> None:
    answer = ada.get(f"memories/?{query}")
    assert (answer.status, list(answer.faults)) == (400, [field])


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("memories/?limit=101", "must be at most 100."),
        ("memories/?limit=many", "must be a whole number."),
        ("memories/?shared=maybe", "must be true or false."),
        ("memories/?q=" + "x" * 201, "is too long: at most 200 characters are allowed."),
        ("items/?namespace=a", "is missing."),
        ("operations/?limit=0", "must be at least 1."),
    ],
)
def test_a_query_is_refused_in_the_words_of_a_body(ada: Caller, query: str, reason: str) -> None:
    assert list(ada.get(query).faults.values()) == [reason]


@posts
def test_what_is_not_json_is_refused(ada: Caller, path: str, body: Any, settings: Settings) -> None:
    settings.MEMORYHUB_LIMITS = {}  # a long body takes many units
    for what, content in BAD_BODIES.items():
        answer = ada.send("POST", path, content)
        assert (answer.status, list(answer.faults)) == (400, ["body"]), what
    assert stored() == 0


@posts
def test_a_body_beyond_all_limits_is_refused_unread(ada: Caller, path: str, body: Any) -> None:
    answer = ada.send("POST", path, json.dumps({**body, "text": MEGABYTE * 2}).encode())
    assert (answer.status, answer.problem["type"]) == (413, "urn:memoryhub:problem:body-too-large")


@posts
def test_another_content_type_is_refused(ada: Caller, path: str, body: Any) -> None:
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = ada.post(path, body, **{"Content-Type": content_type})
        assert (answer.status, list(answer.faults)) == (415, ["Content-Type"]), content_type


@posts
def test_an_unknown_field_is_refused_everywhere(ada: Caller, path: str, body: Any) -> None:
    answer = ada.post(path, body | {"surprise": 1})
    assert (answer.status, list(answer.faults)) == (400, ["surprise"])


def test_no_problem_repeats_what_was_sent(ada: Caller) -> None:
    secret = "sk-live-4242424242424242"
    answers = [
        ada.post("memories/", {"text": secret, "source": secret, "supersedes_ids": [secret], "valid_from": secret}),
        ada.post("memories/", {"text": secret, "kind": secret}),
        ada.get(f"memories/?kind={secret}&session={secret}&limit={secret}&shared={secret}&cursor={secret}"),
        ada.send("POST", "memories/", f'{{"text": {secret}'.encode()),
    ]
    assert {answer.status for answer in answers} == {400}
    assert not [answer.text for answer in answers if secret in answer.text]


@pytest.mark.parametrize("path", ["nothing/", "memories/1/", f"memories/{NO_ID}/x/", "sessions/%00/"])
def test_an_address_that_leads_nowhere_is_a_problem_too(ada: Caller, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        answer = ada.send(method, path)
        assert (answer.status, answer.problem["type"]) == (404, "urn:memoryhub:problem:not-found")


def test_another_method_is_refused_and_the_right_ones_named(ada: Caller) -> None:
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        answer = ada.send(method, "sessions/", {})
        assert (answer.status, answer.problem["title"]) == (405, "Method not allowed")
        assert answer.response.headers["Allow"] == "GET, HEAD, POST"


def test_a_body_of_unannounced_length_is_refused(ada: Caller) -> None:
    answer = ada.post("sessions/", {}, **{"Transfer-Encoding": "chunked", "Content-Length": ""})
    assert (answer.status, list(answer.faults)) == (411, ["Content-Length"])


def test_a_type_that_cannot_be_answered_in_is_refused(ada: Caller) -> None:
    answer = ada.send("GET", "sessions/", None, Accept="text/html")
    assert (answer.status, list(answer.faults)) == (406, ["Accept"])


def test_an_error_that_nobody_foresaw_shows_nothing_of_the_inside(
    ada: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr("memories.api.views.sessions.list_sessions", fail)
    answer = ada.get("sessions/")
    assert answer.status == 500
    assert "swordfish" not in answer.text and "RuntimeError" not in answer.text
    assert answer.json["request_id"] in caplog.text


def test_a_database_that_does_not_answer_is_said_to_be_away(
    ada: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("could not connect to db.internal:5432")

    monkeypatch.setattr("memories.api.views.sessions.list_sessions", fail)
    answer = ada.get("sessions/")
    assert (answer.status, answer.response.headers["Retry-After"]) == (503, "5")
    assert "db.internal" not in answer.text
    assert answer.json["request_id"] in caplog.text and "db.internal" in caplog.text, "the operator is told why"


def test_nothing_of_the_api_is_kept_on_the_way(ada: Caller, life: Life) -> None:
    for answer in (ada.get("memories/"), ada.get("nothing/"), ada.get(f"memories/{NO_ID}/")):
        assert answer.response.headers["Cache-Control"] == "no-store"


def test_a_problem_has_the_members_of_the_standard(client: Client, db: None) -> None:
    problem = client.get("/api/v1/memories/").json()
    assert set(problem) == {"type", "title", "status", "detail", "errors", "request_id"}
    assert problem["status"] == 401


@pytest.mark.parametrize(
    "path", ["sessions", "memories", f"memories/{NO_ID}", "memories?kind=semantic", "consolidation"]
)
def test_an_address_answers_without_its_last_slash_and_without_a_redirect(ada: Caller, path: str) -> None:
    address, _, query = path.partition("?")
    bare, full = ada.get(path), ada.get(f"{address}/?{query}")
    assert bare.status == full.status in (200, 404) and "Location" not in bare.response.headers
    assert bare.status == 404 or bare.json == full.json


def test_a_post_without_the_last_slash_keeps_its_body(ada: Caller) -> None:
    assert ada.post("memories", {"text": "Lives in Bristol."}).status == 201


@pytest.mark.parametrize("path", ["/api/", "/api", "/api/v2/memories/", "/api/v1/memories/x"])
def test_everything_under_the_api_is_a_problem(client: Client, db: None, path: str) -> None:
    for client_ in (client, Client(enforce_csrf_checks=True, raise_request_exception=False)):
        answer = client_.post(path, {}, content_type="application/json", headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")


def test_a_foreign_host_is_a_problem(client: Client, db: None) -> None:
    answer = client.get("/api/v1/memories/", headers={"Host": "elsewhere.example"})
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (400, "urn:memoryhub:problem:unknown-host")
    assert problem["request_id"] == answer.headers["X-Request-ID"] and "elsewhere" not in answer.text
