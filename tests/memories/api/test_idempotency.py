"""A request with an Idempotency-Key is carried out once, however often it is sent, by whichever process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from memories.models import Episode, Fact, IdempotencyKey, Session
from memories.services.erasure.stores import STORES
from memories.services.idempotency import KEPT_FOR, forget_old_keys
from tenants.end_users import provision_end_user
from tenants.models import ApiToken, Membership, Tenant
from tenants.principal import Right
from tests.factories import make_tenant
from tests.memories.api.caller import Answer, Caller, Life, caller_of, key_of

FACT = {"text": "Plays the cello.", "key": "instrument"}


def keyed(caller: Caller, path: str, body: object, key: str = "k-1", **headers: str) -> Answer:
    return caller.post(path, body, **{"Idempotency-Key": key, **headers})


def is_replay(answer: Answer) -> bool:
    return answer.response.headers.get("Idempotency-Replayed") == "true"


def keys() -> list[IdempotencyKey]:
    return list(IdempotencyKey.objects.unscoped("a test looks"))


def test_a_repeated_request_gets_the_first_answer(ada: Caller) -> None:
    first, second = keyed(ada, "sessions/", {"title": "One"}), keyed(ada, "sessions", {"title": "One"})
    assert (first.status, first.json) == (second.status, second.json) == (201, second.json)
    assert (is_replay(first), is_replay(second), Session.objects.of(ada.principal).count()) == (False, True, 1)


def test_another_body_is_refused(ada: Caller) -> None:
    keyed(ada, "memories/", FACT)
    answer = keyed(ada, "memories/", {"text": "Plays the drums."})
    assert (answer.status, answer.problem["type"]) == (422, "urn:memoryhub:problem:key-reused")
    assert Fact.objects.of(ada.principal).count() == 1


def test_the_order_of_members_is_no_other_body(ada: Caller) -> None:
    keyed(ada, "memories/", FACT)
    assert is_replay(keyed(ada, "memories/", dict(reversed(FACT.items()))))


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
def test_a_key_that_is_none_is_refused(ada: Caller, key: str) -> None:
    answer = keyed(ada, "memories/", FACT, key)
    assert (answer.status, list(answer.faults)) == (400, ["Idempotency-Key"])


def test_a_refused_request_stores_nothing_and_frees_its_key(ada: Caller) -> None:
    assert keyed(ada, "memories/", {"text": ""}).status == 400
    assert keyed(ada, "memories/", {"text": "x", "supersedes_ids": [str(ada.principal.user_id)]}).status == 400
    assert keys() == []
    assert keyed(ada, "memories/", FACT).status == 201


def test_while_the_first_is_carried_out_others_wait(ada: Caller) -> None:
    keyed(ada, "memories/", FACT)
    later = timezone.now() + timedelta(seconds=30)
    IdempotencyKey.objects.unscoped("a test winds back").update(status=None, answer="", leased_until=later)
    answer = keyed(ada, "memories/", FACT)
    assert (answer.status, answer.problem["type"]) == (409, "urn:memoryhub:problem:request-in-flight")
    assert int(answer.response.headers["Retry-After"]) > 0


def test_after_a_killed_process_the_key_is_tried_again(ada: Caller) -> None:
    keyed(ada, "memories/", FACT)
    gone = timezone.now() - timedelta(seconds=1)
    lost = IdempotencyKey.objects.unscoped("a test kills")
    lost.update(status=None, answer="", leased_until=gone, committed=False)
    assert keyed(ada, "memories/", FACT).json["result"] == "merged"
    lost.update(status=None, answer="", leased_until=gone, committed=True)
    answer = keyed(ada, "memories/", FACT)
    assert (answer.status, answer.problem["type"]) == (410, "urn:memoryhub:problem:answer-gone")


def test_what_is_stored_marks_the_key_in_its_own_transaction(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memories.api.views.base.rendered", die)
    with pytest.raises(KeyboardInterrupt):
        keyed(ada, "memories/", FACT)
    (key,) = keys()
    assert (key.committed, key.status, Fact.objects.of(ada.principal).count()) == (True, None, 1)


def test_a_fault_after_something_was_stored_does_not_store_it_twice(
    ada: Caller, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"kind": "episodic", "session_id": str(life.session), "text": "Once."}
    with monkeypatch.context() as faulty:
        faulty.setattr("memories.api.views.base.rendered", lambda *_: 1 / 0)
        assert keyed(ada, "memories/", body).status == 500
    assert keyed(ada, "memories/", body).status == 410
    assert Episode.objects.of(ada.principal).filter(text="Once.").count() == 1


def test_a_key_is_its_callers_own(ada: Caller, bob: Caller, eve: Caller) -> None:
    answers = [keyed(caller, "memories/", FACT) for caller in (ada, bob, eve)]
    assert [(answer.status, is_replay(answer)) for answer in answers] == [(201, False)] * 3
    assert len({answer.json["memory_id"] for answer in answers}) == 3


def test_a_key_belongs_to_a_token_and_a_path(ada: Caller, membership: Membership) -> None:
    keyed(ada, "memories/", FACT)
    other = caller_of(membership)
    assert not is_replay(keyed(other, "memories/", FACT))
    assert keyed(ada, "sessions/", {}).status == 201


def users(tenant: Tenant, *ids: str) -> list[Membership]:
    return [provision_end_user(tenant.pk, each)[0] for each in ids]


def for_user(backend: Caller, user_id: str, key: str = "k-1") -> Answer:
    return keyed(backend, "memories/", FACT, key, **{"X-Memoryhub-User": user_id})


def test_a_backend_repeats_a_request_for_each_of_its_users(tenant: Tenant) -> None:
    users(tenant, "ann", "ben")
    backend = key_of(tenant)
    first, again, other = (for_user(backend, user) for user in ("ann", "ann", "ben"))
    assert [is_replay(each) for each in (first, again, other)] == [False, True, False]
    assert first.json == again.json and first.json["memory_id"] != other.json["memory_id"]
    in_body = keyed(backend, "memories/", {**FACT, "user_id": "ann"})
    assert is_replay(in_body) and in_body.json == first.json  # however the user is named
    assert Fact.objects.unscoped("a test looks").count() == 2


def test_no_other_backend_nor_the_members_own_token_gets_the_answer(tenant: Tenant) -> None:
    (ann,), elsewhere = users(tenant, "ann"), make_tenant()
    users(elsewhere, "ann")
    first = for_user(key_of(tenant), "ann").json["memory_id"]
    strangers = [for_user(key_of(tenant), "ann"), keyed(caller_of(ann), "memories/", FACT)]
    assert [(each.status, is_replay(each), each.json["memory_id"]) for each in strangers] == [(200, False, first)] * 2
    foreign = for_user(key_of(elsewhere), "ann")
    assert (foreign.status, is_replay(foreign), foreign.json["memory_id"] != first) == (201, False, True)


def test_messages_that_are_sent_again_are_stored_once(tenant: Tenant) -> None:
    users(tenant, "ann")
    backend = replace(key_of(tenant), user_id="ann")
    body = {"messages": [{"role": "user", "content": "I live in Leeds."}]}
    first, again = keyed(backend, "messages/", body), keyed(backend, "messages/", body)
    assert (first.status, again.status, is_replay(again), again.json) == (202, 202, True, first.json)
    assert Episode.objects.unscoped("a test looks").count() == 1


def test_a_backend_that_acts_for_nobody_repeats_its_requests(tenant: Tenant) -> None:
    backend, body = key_of(tenant, Right), {"user_id": "ann", "name": "Ann"}
    first, again = keyed(backend, "members/", body), keyed(backend, "members", body)
    assert (first.status, first.json, is_replay(first)) == (again.status, again.json, False)
    assert (again.status, is_replay(again)) == (201, True)
    assert keyed(backend, "members/", {"user_id": "ben"}).problem["type"].endswith("key-reused")
    strangers = [keyed(key_of(tenant, Right), "members/", body), keyed(key_of(make_tenant(), Right), "members/", body)]
    assert [(each.status, is_replay(each)) for each in strangers] == [(200, False), (201, False)]
    assert {(key.tenant_id == tenant.pk, key.user_id) for key in keys()} == {(True, None), (False, None)}


@pytest.mark.parametrize("user_id", ["", "ann"])
def test_a_repeated_request_for_a_secret_makes_no_other_and_shows_none(tenant: Tenant, user_id: str) -> None:
    users(tenant, "ann")
    backend = replace(key_of(tenant, Right), user_id=user_id)
    made = keyed(backend, "tokens/", {"name": "made", "scopes": ["memory:read"]})
    path = f"tokens/{made.json['id']}/rotate/"
    rotated = keyed(backend, path, {})
    again = [keyed(backend, "tokens/", {"name": "made", "scopes": ["memory:read"]}), keyed(backend, path, {})]
    assert [each.status for each in (made, rotated, *again)] == [201, 200, 410, 410]
    secrets = [made.json["token"], rotated.json["token"]]
    assert ApiToken.objects.filter(name="made").count() == 1
    shown = "".join(answer.text for answer in again) + "".join(key.answer for key in keys())
    assert len(keys()) == 2 and not [each for each in secrets if each in shown]


def test_a_token_that_was_made_before_a_fault_is_not_made_again(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, body = key_of(tenant, Right), {"name": "made", "scopes": ["memory:read"]}
    with monkeypatch.context() as faulty:
        faulty.setattr("memories.api.views.tokens._shown", lambda *_: 1 / 0)
        assert keyed(backend, "tokens/", body).status == 500
    assert keyed(backend, "tokens/", body).status == 410
    assert ApiToken.objects.filter(name="made").count() == 1
    assert keyed(backend, "tokens/", {**body, "networks": ["x"]}, "k-2").status == 400
    assert keyed(backend, "tokens/", body, "k-2").status == 201  # a refusal frees the key


def test_forgetting_empties_the_answers(ada: Caller) -> None:
    written = keyed(ada, "memories/", FACT).json
    assert "cello" in keys()[0].answer
    forgotten = ada.send("DELETE", f"memories/{written['memory_id']}", None, **{"Idempotency-Key": "k-2"})
    assert "cello" not in str([key.answer for key in keys()])
    answer = keyed(ada, "memories/", FACT)
    assert (answer.status, Fact.objects.of(ada.principal).count()) == (410, 0)
    again = ada.send("DELETE", f"memories/{written['memory_id']}", None, **{"Idempotency-Key": "k-2"})
    assert (again.status, again.json, is_replay(again)) == (200, forgotten.json, True)


def test_what_is_hidden_until_it_is_erased_is_in_no_answer(ada: Caller) -> None:
    written = keyed(ada, "memories/", FACT).json
    proposal = ada.post("forget-proposals/", {"memory_ids": [written["memory_id"]]}).json
    ada.post(f"forget-proposals/{proposal['id']}/confirm/", {})
    assert keyed(ada, "memories/", FACT).status == 410


def test_an_erased_member_leaves_no_answer(ada: Caller, bob: Caller, membership: Membership) -> None:
    keyed(ada, "memories/", FACT)
    keyed(bob, "memories/", FACT)
    (store,) = (store for store in STORES if store.name == "idempotency_keys")
    assert (store.erase_some(membership), store.count(membership)) == (1, 0)
    assert [key.user_id for key in keys()] == [bob.principal.user_id]


def test_forgetting_empties_the_answers_to_callers_who_act_for_nobody(ada: Caller, bob: Caller) -> None:
    keyed(bob, "memories/", FACT)
    owner = {"tenant_id": ada.principal.tenant_id, "user_id": None}
    IdempotencyKey.objects.create(**owner, digest="0" * 64, fingerprint="0" * 64, status=201, answer="Ada's cello")
    written = ada.post("memories/", FACT).json["memory_id"]
    assert ada.delete(f"memories/{written}").status == 200
    assert {key.user_id: bool(key.answer) for key in keys()} == {None: False, bob.principal.user_id: True}


def test_keys_are_forgotten_after_a_day(ada: Caller) -> None:
    keyed(ada, "sessions/", {})
    forget_old_keys()
    assert len(keys()) == 1
    IdempotencyKey.objects.unscoped("a test winds the clock").update(created_at=timezone.now() - KEPT_FOR)
    assert not is_replay(keyed(ada, "sessions/", {}))
    IdempotencyKey.objects.unscoped("a test winds the clock").update(created_at=timezone.now() - KEPT_FOR)
    forget_old_keys()
    assert keys() == []


def test_a_recall_ignores_the_key(ada: Caller, life: Life) -> None:
    assert [is_replay(keyed(ada, "recall/", {"query": "x"})) for _ in range(2)] == [False, False]
    assert keys() == []


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_repeated_turn_is_the_finished_turn(ada: Caller, accept: str) -> None:
    answers, texts = [], []
    for _ in range(2):
        answers.append(keyed(ada, "turns/", {"message": "I live in Leeds."}, Accept=accept))
        texts.append(answers[-1].text)
    assert [(answer.status, is_replay(answer)) for answer in answers] == [(200, False), (200, True)]
    assert "turn_finished" in texts[1] or answers[0].json["answer_id"] == answers[1].json["answer_id"]
    assert (Session.objects.of(ada.principal).count(), Episode.objects.of(ada.principal).count()) == (1, 1)
    assert [key.answer for key in keys()] == [""]
    assert keyed(ada, "turns/", {"message": "I live in York."}).status == 422


def test_a_stream_that_its_client_left_is_answered_again(ada: Caller) -> None:
    left = keyed(ada, "turns/", {"message": "I live in Leeds."}, Accept="text/event-stream")
    next(iter(left.response))
    left.response._iterator.close()  # type: ignore[attr-defined]  # as the server does when the caller hangs up
    again = keyed(ada, "turns/", {"message": "I live in Leeds."})
    assert (again.status, again.json["state"], is_replay(again)) == (200, "complete", False)
    assert Episode.objects.of(ada.principal).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_is_carried_out(ada: Caller) -> None:
    start = Barrier(6)

    def send(_: int) -> tuple[int, bool]:
        caller = Caller(ada.token, ada.principal, Client(raise_request_exception=False))
        start.wait()
        try:
            answer = keyed(caller, "sessions/", {"title": "One"})
            return answer.status, is_replay(answer)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(6)))
    assert answers.count((201, False)) == 1
    assert {status for status, _ in answers} <= {201, 409}
    assert Session.objects.of(ada.principal).count() == 1
