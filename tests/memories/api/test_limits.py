"""Limits at the API's edge: refused before any work, told in headers, and nobody else's use shows or counts."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, cast

import pytest
from django.db import connections
from pytest_django import Settings

from memories.api import urls
from memories.errors import LimitExceeded
from memories.llm.base import Finished, Output, StopReason, TextPiece, Usage
from memories.models import Message, Session
from memories.services import admission
from memories.services.admission import admit
from memories.services.policies import set_policy
from memoryhub import limits
from memoryhub.env.limits import DEFAULT_LIMITS, Bucket
from memoryhub.limit_store import StoreUnavailable
from memoryhub.limits import Quota
from tenants.models import Membership
from tenants.principal import SYSTEM
from tests.factories import make_membership
from tests.memories.api.caller import Answer, Caller, caller_of
from tests.memories.api.mcp_caller import McpCaller

STREAM = {"Accept": "text/event-stream"}
HELLO = {"message": "Hello"}


@pytest.fixture
def limited(settings: Settings) -> dict[str, int]:
    """The limits of the installation, to be changed by the test."""
    own = settings.MEMORYHUB_LIMITS = dict(DEFAULT_LIMITS)
    return own


class SlowModel:
    """Says a word, and the end once it is `released`."""

    name = "slow"
    offline = False
    released = threading.Event()

    def stream(self, *_: object, **__: object) -> Iterator[Output]:
        yield TextPiece("Well, ")
        self.released.wait(10)
        yield Finished(StopReason.DONE, Usage(1_000, 500))


@pytest.fixture
def slow_model(monkeypatch: pytest.MonkeyPatch) -> type[SlowModel]:
    monkeypatch.setattr(SlowModel, "released", threading.Event())
    monkeypatch.setattr("memories.agent.loop.chat_model_of", lambda *_: SlowModel())
    return SlowModel


def limits_in(answer: Answer) -> dict[str, dict[str, int]]:
    """The parameters of both fields by policy: q, w, r, t."""
    found: dict[str, dict[str, int]] = {}
    for name in ("RateLimit-Policy", "RateLimit"):
        for item in answer.response.headers.get(name, "").split(", "):
            policy, *parameters = item.split(";")
            found.setdefault(policy.strip('"'), {}).update({each[0]: int(each[2:]) for each in parameters})
    return found


def test_an_answer_says_what_is_left(ada: Caller, limited: dict[str, int]) -> None:
    told = limits_in(ada.get("sessions/"))
    assert told == {
        "token-reads": {"q": 600, "w": 60, "r": 599, "t": 1},
        "member-reads": {"q": 1_200, "w": 60, "r": 1_199, "t": 1},
    }
    assert set(limits_in(ada.post("sessions/"))) == {
        *("token-writes", "member-writes", "token-sessions", "member-sessions"),
    }


@pytest.mark.parametrize("level", ["token", "member", "tenant"])
def test_beyond_a_limit_a_call_is_refused_with_the_time_to_wait(
    ada: Caller, limited: dict[str, int], level: str
) -> None:
    limited[f"{level}_reads"] = 3
    assert [ada.get("sessions/").status for _ in range(4)] == [200, 200, 200, 429]
    answer = ada.get("sessions/")
    assert answer.problem["type"] == "urn:memoryhub:problem:quota-exceeded"
    assert answer.problem["violated-policies"] == [f"{level}-reads"]
    assert 1 <= int(answer.response.headers["Retry-After"]) <= 20
    assert limits_in(answer)[f"{level}-reads"]["r"] == 0
    assert re.fullmatch(r"Too many requests in a short time.*\. Try again in \d+ seconds\.", answer.problem["detail"])
    assert ada.post("sessions/").status == 201, "other limits are not touched"


def test_a_refused_body_is_not_even_read(ada: Caller, limited: dict[str, int]) -> None:
    limited["token_writes"] = 1
    ada.post("sessions/")
    assert ada.send("POST", "memories/", b"{").status == 429


LONG = "sure, " * 1_100


@pytest.mark.parametrize(
    ("send", "bucket"),
    [
        pytest.param(lambda ada: ada.post("turns/", {"message": LONG}), Bucket.TURNS, id="a turn"),
        pytest.param(lambda ada: ada.post("recall/", {"query": LONG}), Bucket.READS, id="a recall"),
        pytest.param(lambda ada: McpCaller(ada).error("tools/list", cursor=LONG), Bucket.READS, id="a tool of MCP"),
        pytest.param(
            lambda ada: ada.post("memories/batch/", {"memories": [{"text": LONG}]}), Bucket.ENTRIES, id="batch"
        ),
    ],
)
def test_a_long_text_takes_more_units(
    ada: Caller,
    limited: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    send: Callable[[Caller], object],
    bucket: Bucket,
) -> None:
    now = time.time()
    monkeypatch.setattr("memoryhub.limits.time.time", lambda: now)
    send(ada)
    quota = Quota(f"member_{bucket}", str(ada.principal.membership_id), limited[f"member_{bucket}"], bucket.window, 0)
    assert limits.take([quota])[0].remaining == quota.limit - 4


def test_a_text_longer_than_a_limit_takes_all_of_it(ada: Caller, limited: dict[str, int]) -> None:
    limited["token_turns"] = 3
    long = {"message": "sure, " * 5_000}
    assert [ada.post("turns/", each).status for each in (long, long, HELLO)] == [200, 429, 429]


@pytest.mark.parametrize("limit", ["token_writes", "member_sessions"])
def test_868_sessions_in_ten_seconds_are_not_made(ada: Caller, limited: dict[str, int], limit: str) -> None:
    limited[limit] = 10
    answers = [ada.post("sessions/").status for _ in range(30)]
    assert set(answers[-10:]) == {429}
    assert 10 <= Session.objects.count() == answers.count(201) < 20
    assert ada.post("turns/", HELLO).status == (429 if "sessions" in limit else 200)


def test_the_use_of_others_neither_counts_nor_shows(ada: Caller, bob: Caller, eve: Caller, limited: Any) -> None:
    limited |= {"member_reads": 5, "token_reads": 6}
    first = limits_in(bob.get("sessions/")), limits_in(eve.get("sessions/"))
    assert {ada.get("sessions/").status for _ in range(9)} == {200, 429}
    for caller, before in zip((bob, eve), first, strict=True):
        after = limits_in(caller.get("sessions/"))
        assert {name: told["r"] for name, told in before.items()} == {
            name: told["r"] + 1 for name, told in after.items()
        }
        assert not [name for name in after if name.startswith("tenant")]


def test_a_tenant_decides_on_limits_of_its_own(ada: Caller, eve: Caller, limited: dict[str, int]) -> None:
    set_policy(SYSTEM, tenant_id=ada.principal.tenant_id, limits={"member_reads": 2, "token_reads": 2})
    assert [ada.get("sessions/").status for _ in range(3)] == [200, 200, 429]
    assert {eve.get("sessions/").status for _ in range(3)} == {200}


def test_tokens_hold_all_open_turns_but_one_which_is_the_members_own(
    ada: Caller, eve: Caller, limited: dict[str, int], slow_model: type[SlowModel]
) -> None:
    limited["open_turns"] = 3
    open_turns = [cast("Any", ada.post("turns/", HELLO, **STREAM).response) for _ in range(2)]
    assert all(b"turn_started" in next(iter(each)) for each in open_turns)
    refused = ada.post("turns/", HELLO, **STREAM)
    assert (refused.status, refused.problem["violated-policies"]) == (429, ["open-turns"])
    assert refused.response.headers["RateLimit-Policy"] == '"open-turns";q=2;qu="concurrent-requests"'
    other_token = caller_of(Membership.objects.get(pk=ada.principal.membership_id))
    assert other_token.post("turns/", HELLO, **STREAM).status == 429
    assert Message.objects.of(ada.principal).filter(step=0).count() == 2, "nothing of the third is stored"
    with ExitStack() as held:
        admit(ada.principal, [Bucket.TURNS], held)
        with pytest.raises(LimitExceeded):
            admit(ada.principal, [Bucket.TURNS], held)
    slow_model.released.set()
    assert eve.post("turns/", HELLO).status == 200
    open_turns[0]._iterator.close()  # as the server does when the caller hangs up
    assert ada.post("turns/", HELLO).status == 200
    open_turns[1]._iterator.close()


def test_the_end_of_a_turn_frees_its_place_before_its_reader_sees_it(ada: Caller, limited: dict[str, int]) -> None:
    with ExitStack() as held:
        for _ in range(3):
            assert list(admit(ada.principal, [Bucket.TURNS], held).kept(iter(["an answer"]))) == ["an answer"]


@pytest.mark.django_db(transaction=True)
def test_36_turns_of_one_token_hold_one_thread(
    ada: Caller, eve: Caller, limited: dict[str, int], slow_model: type[SlowModel]
) -> None:
    limited |= {"token_turns": 100, "member_turns": 100}

    def turn(_: int) -> int:
        try:
            return Caller(ada.token, ada.principal).post("turns/", HELLO).status
        finally:
            connections.close_all()

    with ThreadPoolExecutor(36) as pool:
        answers = [pool.submit(turn, number) for number in range(36)]
        while sum(each.done() for each in answers) < 35:
            time.sleep(0.01)
        assert eve.get("sessions/").status == 200
        slow_model.released.set()
    assert sorted(each.result() for each in answers) == [200] + [429] * 35


def test_a_token_that_runs_wild_leaves_its_member_half_of_each_limit(
    ada: Caller, limited: dict[str, int], slow_model: type[SlowModel]
) -> None:
    slow_model.released.set()
    set_policy(SYSTEM, tenant_id=ada.principal.tenant_id, limits={"member_sessions": 8, "member_model_tokens": 5_000})
    assert [ada.post("sessions/").status for _ in range(5)] == [201] * 4 + [429]
    assert [ada.post("turns/", HELLO).status for _ in range(3)] == [429] * 3
    session = ada.get("sessions/").json["results"][0]["id"]
    turns = [ada.post(f"sessions/{session}/turns/", HELLO) for _ in range(3)]
    assert [turn.status for turn in turns] == [200, 200, 429]
    assert turns[-1].problem["violated-policies"] == ["token-model-tokens"]
    with ExitStack() as held:
        admit(ada.principal, [Bucket.TURNS, Bucket.SESSIONS], held)


def test_a_turn_beyond_the_budget_of_model_tokens_is_refused(
    ada: Caller, limited: dict[str, int], slow_model: type[SlowModel]
) -> None:
    slow_model.released.set()
    limited["member_model_tokens"] = 2_000
    assert [ada.post("turns/", HELLO).status for _ in range(3)] == [200, 200, 429]
    answer = ada.post("turns/", HELLO)
    assert answer.problem["violated-policies"] == ["member-model-tokens"]
    assert "The language model has been used as much as is allowed in a day" in answer.problem["detail"]
    assert ada.post("consolidation/").status == 429 and ada.post("recall/", {"query": "x"}).status == 200


def test_a_tenant_uses_half_of_the_threads_if_there_are_others(ada: Caller, limited: dict[str, int]) -> None:
    limits.fair_share.places = 2
    held = limits.fair_share.enter(ada.principal.tenant_id)
    assert held and ada.get("sessions/").status == 200, "alone on the installation"
    make_membership()
    admission._limits_of.clear()  # or ten seconds later
    refused = ada.get("sessions/")
    assert (refused.status, refused.response.headers["Retry-After"]) == (429, "1")
    limits.fair_share.leave(ada.principal.tenant_id)
    assert {ada.get("sessions/").status for _ in range(3)} == {200}, "each call gives its thread back"


def test_without_the_store_calls_are_served_and_threads_still_shared(
    ada: Caller, eve: Caller, limited: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> Any:
        raise StoreUnavailable

    monkeypatch.setattr(limits, "limit_store", away)
    limited["token_reads"] = 1
    answers = [ada.get("sessions/") for _ in range(3)]
    assert [answer.status for answer in answers] == [200] * 3
    assert "RateLimit" not in answers[0].response.headers
    limits.fair_share.places = 1
    limits.fair_share.enter(ada.principal.tenant_id)
    assert ada.get("sessions/").status == 429


def test_every_operation_counts_as_something() -> None:
    views = [getattr(each.callback, "view_class", None) for each in urls.urlpatterns]
    open_to_all = [view for view in views if getattr(view, "rights", None) == {"GET": ()}]  # the description
    limited = [view for view in views if view not in open_to_all]
    methods = [getattr(view, verb.lower()) for view in limited for verb in getattr(view, "rights", ())]
    assert len(methods) > 30 and all(method.buckets for method in methods)
