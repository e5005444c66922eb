"""Entity tags save downloads and keep two writers from overwriting each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from memories.api.etags import FINDERS, state_of
from memories.api.problems import problem_of
from memories.errors import NotFound
from memories.models import Fact, LearningOperation, Session
from memories.services.facts.remember import remember_fact
from memories.services.sessions.sessions import start_session
from tests.memories.api.caller import Answer, Caller, Life

ITEMS = ["memories/{life.fact}", "memories/{life.fact}/chain", "sessions/{life.session}", "reviews/{life.review}"]
ITEMS += ["forget-proposals/{life.proposal}", "consolidation/{life.run}", "sessions/{life.session}/working-memory"]
ITEMS += ["operations/{life.operation}"]


def tag_of(answer: Answer) -> str:
    return str(answer.response.headers["ETag"])


@pytest.mark.parametrize("path", ITEMS)
def test_what_the_caller_has_is_not_sent_again(ada: Caller, life: Life, path: str) -> None:
    path = path.format(life=life)
    tag = tag_of(ada.get(path))
    for wanted in (tag, f'"other", {tag}', f"W/{tag}"):
        again = ada.send("GET", path, None, **{"If-None-Match": wanted})
        assert (again.status, again.text, tag_of(again)) == (304, "", tag)
    assert ada.send("GET", path, None, **{"If-None-Match": '"other"'}).status == 200


def test_another_state_has_another_tag(ada: Caller, life: Life) -> None:
    path = f"memories/{life.fact}"
    before = tag_of(ada.get(path))
    ada.post(f"{path}/pin", {"pinned": True})
    assert tag_of(ada.get(path)) != before


def test_a_change_of_what_changed_meanwhile_is_refused(ada: Caller, life: Life) -> None:
    path = f"memories/{life.fact}"
    tag = tag_of(ada.get(path))
    assert ada.post(f"{path}/pin", {"pinned": True}, **{"If-Match": tag}).status == 200
    for change, body in (("pin", {"pinned": False}), ("correct", {"text": "No."}), ("supersede", {"text": "No."})):
        answer = ada.post(f"{path}/{change}", body, **{"If-Match": tag})
        assert (answer.status, answer.problem["type"]) == (412, "urn:memoryhub:problem:precondition-failed")
    assert ada.send("DELETE", path, None, **{"If-Match": tag}).status == 412
    fact = Fact.objects.of(ada.principal).get(pk=life.fact)
    assert (fact.pinned, fact.status) == (True, "active")
    assert ada.post(f"{path}/correct", {"text": "Yes."}, **{"If-Match": tag_of(ada.get(path))}).status == 201


def test_an_operation_that_another_has_changed_is_not_changed(ada: Caller, life: Life) -> None:
    path = f"operations/{life.operation}"
    tag = tag_of(ada.get(path))
    LearningOperation.objects.of(ada.principal).update(cancelled_at=timezone.now())
    assert [ada.post(f"{path}/{change}", {}, **{"If-Match": tag}).status for change in ("retry", "cancel")] == [
        412,
        412,
    ]


def test_a_patch_answers_with_the_tag_for_the_next(ada: Caller, life: Life) -> None:
    path = f"sessions/{life.session}"
    first = tag_of(ada.get(path))
    second = tag_of(ada.send("PATCH", path, {"title": "Two"}, **{"If-Match": first}))
    assert ada.send("PATCH", path, {"title": "Three"}, **{"If-Match": first}).status == 412
    assert ada.send("PATCH", path, {"title": "Three"}, **{"If-Match": second}).status == 200
    assert ada.send("PATCH", path, {"title": "Four"}, **{"If-Match": "*"}).status == 200


def test_an_address_without_a_tag_refuses_the_condition(ada: Caller) -> None:
    assert ada.post("memories/", {"text": "x"}, **{"If-Match": '"1-x"'}).status == 412
    assert not Fact.objects.of(ada.principal).exists()


def test_a_condition_tells_a_stranger_nothing(bob: Caller, life: Life) -> None:
    for wanted in ('"1-x"', "*"):
        answer = bob.post(f"memories/{life.fact}/pin", {"pinned": True}, **{"If-Match": wanted})
        assert answer.status == 404


def test_a_repeated_conditional_change_gets_its_first_answer(ada: Caller, life: Life) -> None:
    path = f"memories/{life.fact}"
    headers = {"If-Match": tag_of(ada.get(path)), "Idempotency-Key": "k"}
    answers = [ada.post(f"{path}/pin", {"pinned": True}, **headers) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200] and answers[0].json == answers[1].json


@pytest.mark.parametrize("name", FINDERS)
def test_an_unknown_id_has_no_state(ada: Caller, name: str) -> None:
    with pytest.raises(NotFound) as error:
        state_of(ada.principal, {name: uuid4()})
    problem = problem_of(error.value, stores=False)
    assert problem is not None and problem.status == 404


@pytest.mark.django_db(transaction=True)
def test_of_two_writers_with_the_same_tag_one_wins(ada: Caller) -> None:
    session = start_session(ada.principal, title="Before")
    fact = remember_fact(ada.principal, text="Plays the cello.").memory_id
    for path, change in ((f"sessions/{session.pk}", "PATCH"), (f"memories/{fact}/pin", "POST")):
        tag = tag_of(ada.get(path.removesuffix("/pin")))
        start = Barrier(2)

        def send(name: str, path: str = path, change: str = change, tag: str = tag, start: Barrier = start) -> int:
            caller = Caller(ada.token, ada.principal, Client(raise_request_exception=False))
            body: dict[str, object] = {"title": name} if change == "PATCH" else {"pinned": True}
            start.wait()
            try:
                return caller.send(change, path, body, **{"If-Match": tag}).status
            finally:
                connections.close_all()

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(send, ("left", "right"))) == [200, 412]
    assert Session.objects.of(ada.principal).get().title in ("left", "right")
