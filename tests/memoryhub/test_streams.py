"""Streams of turns on a real socket: they hold no thread, and a client that hangs up frees all that they held."""

from __future__ import annotations

import json
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from memoryhub.limits import PLACE_SECONDS, PLACES
from tests.migrated import Migrated
from tests.parts import eventually
from tests.proofs.site import Person, Site
from tests.slow_clients import seconds_of
from tests.talking_model import TalkingModel

pytestmark = pytest.mark.long

THREADS = 8
STREAMS = 40
OPEN_TURNS = 2


@pytest.fixture(scope="module")
def model() -> Iterator[TalkingModel]:
    with TalkingModel(words=100).running() as model:
        yield model


@pytest.fixture(scope="module")
def new_site(
    tmp_path_factory: pytest.TempPathFactory, model: TalkingModel, django_db_setup: None, _migrated: Migrated | None
) -> Callable[[], Site]:
    """Makes sites with few threads, limits, and a model that talks."""

    def make() -> Site:
        talks = {"MEMORYHUB_MODEL": "m", "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "k"}
        site = Site(tmp_path_factory.mktemp("site"), {**talks, "MEMORYHUB_LIMITS": ""})
        site.serve_options = ("--threads", str(THREADS))
        if _migrated is not None:
            _migrated.give(site.database)
        return site

    return make


@pytest.fixture(scope="module")
def site(new_site: Callable[[], Site]) -> Iterator[Site]:
    """A server that runs."""
    with new_site() as site:
        site.start()
        yield site
        assert site.stop() == 0


@pytest.fixture(scope="module")
def people(site: Site) -> list[Person]:
    return site.people(STREAMS)


@contextmanager
def turn(site: Site, person: Person, message: str, accept: str = "text/event-stream") -> Iterator[HTTPResponse]:
    """The answer to a message, as it arrives."""
    with closing(HTTPConnection("127.0.0.1", site.port, timeout=60)) as client:
        headers = {"Authorization": f"Bearer {person.token}", "Content-Type": "application/json", "Accept": accept}
        client.request("POST", "/api/v1/turns/", json.dumps({"message": message}), headers)
        yield client.getresponse()


def events(answer: HTTPResponse) -> Iterator[dict[str, Any]]:
    """The events of a stream."""
    for line in answer:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


@pytest.fixture(autouse=True)
def _nobody_speaks(site: Site, model: TalkingModel) -> None:
    """Whatever an earlier test left running has ended, and its place is free."""
    assert eventually(lambda: model.speaking == 0 and open_turns(site) == 0, seconds=90)


def open_turns(site: Site) -> int:
    """The places that turns hold at the moment."""
    held = "SELECT count(*) FROM memoryhub_quota WHERE key LIKE ? AND used_to > ?"
    with closing(sqlite3.connect(site.folder / "limits.sqlite3")) as limits:
        if not limits.execute("SELECT 1 FROM sqlite_master").fetchone():
            return 0  # No turn was taken yet.
        return int(limits.execute(held, (f"{PLACES}:%", time.time() - PLACE_SECONDS)).fetchone()[0])


def until_text(answer: HTTPResponse) -> dict[str, Any]:
    """Read to the first text, and return the first event."""
    seen: list[dict[str, Any]] = []
    for event in events(answer):
        seen.append(event)
        if event["type"] == "text_delta":
            return seen[0]
    raise AssertionError(f"The answer has no text: {answer.status}, {seen}")


def state_of(site: Site, started: dict[str, Any]) -> str | None:
    """The state of the stored answer to a turn."""
    question = "SELECT state FROM memories_message WHERE session_id = ? AND role = 'assistant' AND tool_calls = '[]'"
    rows = site.rows(question, started["session_id"].replace("-", ""))
    return rows[0][0] if rows else None


def test_more_streams_than_threads_go_on_together(site: Site, people: list[Person], model: TalkingModel) -> None:
    with ExitStack() as stack:
        answers = [stack.enter_context(turn(site, person, "Tell me a lot. +500")) for person in people]
        for answer in answers:
            until_text(answer)
        assert model.speaking == STREAMS
        assert seconds_of(site.port, "/livez") < 1.0
        assert seconds_of(site.port, "/login/") < 2.0
        for answer in answers:
            *_, last = events(answer)
            assert (last["type"], last["state"]) == ("turn_finished", "complete")


def test_a_stream_has_its_documented_frames(site: Site, people: list[Person]) -> None:
    with turn(site, people[0], "Tell me. +20") as answer:
        assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["X-Accel-Buffering"] == "no"
        frames = answer.read().decode().split("\n\n")
    told = [dict(line.split(": ", 1) for line in frame.split("\n")) for frame in frames if frame]
    data = [json.loads(each["data"]) for each in told]
    assert [each["event"] for each in told] == [each["type"] for each in data]
    assert data[0]["type"] == "turn_started" and data[-1]["type"] == "turn_finished"
    text = "".join(each["text"] for each in data if each["type"] == "text_delta")
    assert text == "".join(f" word{number}" for number in range(20))


def test_clients_that_hang_up_free_all_within_seconds(site: Site, people: list[Person], model: TalkingModel) -> None:
    with ExitStack() as stack:
        answers = [stack.enter_context(turn(site, person, "Tell me all. +3000")) for person in people]
        turns = [until_text(answer) for answer in answers]
        assert model.speaking == STREAMS
    began = time.monotonic()
    assert eventually(lambda: model.speaking == 0, seconds=10)
    assert eventually(lambda: all(state_of(site, each) == "cut_off" for each in turns), seconds=20)
    assert time.monotonic() - began < 20.0
    for _ in range(OPEN_TURNS):
        with turn(site, people[0], "And again. +5") as answer:
            assert answer.status == 200 and answer.read()


def test_a_client_that_leaves_a_silent_model_frees_it(site: Site, people: list[Person], model: TalkingModel) -> None:
    rate, model.rate = model.rate, 0.05
    try:
        with turn(site, people[1], "Are you there?") as answer:
            started = next(events(answer))
            assert eventually(lambda: model.speaking == 1, seconds=10)
            answer.close()
        assert eventually(lambda: state_of(site, started) == "cut_off", seconds=10)
    finally:
        model.rate = rate


def test_a_member_has_two_open_turns_until_they_end(site: Site, people: list[Person]) -> None:
    with turn(site, people[2], "First. +3000") as first, turn(site, people[2], "Second. +1") as second:
        until_text(first)
        assert second.status == 429, "a token leaves the member's last place"
        assert json.loads(second.read())["violated-policies"] == ["open-turns"]

    def is_free() -> bool:
        with turn(site, people[2], "Third. +1") as third:
            return third.status == 200 and bool(third.read())

    assert eventually(is_free, seconds=10)


def test_who_does_not_wait_after_a_refusal_is_answered_later(site: Site, people: list[Person]) -> None:
    def seconds(person: Person) -> float:
        begun = time.monotonic()
        with turn(site, person, "Now. +1") as answer:
            assert answer.read()
        return time.monotonic() - begun

    with turn(site, people[-1], "First. +3000") as first:
        until_text(first)
        begun = time.monotonic()
        refused = [seconds(people[-1]) for _ in range(20) if time.monotonic() < begun + 2.0]
        assert 2 <= len(refused) < 20 and refused[-1] > 0.5
        assert seconds(people[-2]) < refused[-1]


def test_a_fault_in_the_middle_ends_the_stream_with_its_frame(
    site: Site, people: list[Person], model: TalkingModel
) -> None:
    model.breaks_after = 10
    try:
        with turn(site, people[3], "Tell me.") as answer:
            *_, last = events(answer)
    finally:
        model.breaks_after = None
    assert (last["type"], last["retryable"]) == ("turn_failed", True)
    assert "broke off" in last["message"]


def test_a_reader_that_stops_reading_holds_no_thread(site: Site, people: list[Person]) -> None:
    with ExitStack() as stack:
        for person in people[4 : 4 + 2 * THREADS]:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=5))
            body = json.dumps({"message": "Tell me. +400"})
            head = f"POST /api/v1/turns/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {person.token}\r\n"
            kind = "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
            client.sendall(f"{head}{kind}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        for _ in range(3):
            assert seconds_of(site.port, "/login/") < 3.0


def test_a_server_that_stops_lets_answers_end_and_keeps_what_was_said(new_site: Callable[[], Site]) -> None:
    with new_site() as site:
        site.start()
        ends, goes_on = site.people(2)
        with turn(site, ends, "Soon over. +150") as short, turn(site, goes_on, "Never over. +9999") as long:
            until_text(short)
            started = until_text(long)
            assert site.stop() == 0
            *_, last = events(short)
            assert last["type"] == "turn_finished"
        assert state_of(site, started) == "cut_off"
