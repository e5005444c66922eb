"""When the Python client sends a request again, against a server on this machine that refuses."""

from __future__ import annotations

import asyncio
import http.server
import json
import time
from collections.abc import Iterator
from typing import ClassVar

import pytest

from memoryhub_client import (
    AsyncClient,
    Blocked,
    Client,
    Conflict,
    ConnectionFailed,
    QuotaExceeded,
    Retries,
    ServerError,
    TimedOut,
    Unavailable,
    UnexpectedAnswer,
)
from tests.parts import serving
from tests.ports import free_port

QUICK = Retries(first=0.001)
ANSWER = {"runs": [], "episodes": 0, "decisions": {}, "given_up": 0, "waiting": 0, "error": ""}
Refusal = tuple[int, str, str]


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives the next of `answers`: (status, problem, Retry-After); 0 hangs up, and 1 first waits. Then ANSWER."""

    answers: ClassVar[list[Refusal]] = []
    seen: ClassVar[list[tuple[str, str | None, str | None]]] = []
    body: ClassVar[bytes] = json.dumps(ANSWER).encode()

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.seen.append((self.path, self.headers["Idempotency-Key"], self.headers["X-Memoryhub-User"]))
        status, problem, wait = self.answers.pop(0) if self.answers else (200, "", "")
        if status < 2:
            time.sleep(0.3 * status)
            self.close_connection = True
            return
        body = json.dumps({"type": f"urn:memoryhub:problem:{problem}"}).encode() if problem else self.body
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if wait:
            self.send_header("Retry-After", wait)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer  # noqa: N815 - the library's names

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Handler, "answers", [])
    monkeypatch.setattr(Handler, "seen", [])
    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"


BUSY: Refusal = (429, "quota-exceeded", "0")


@pytest.mark.parametrize(
    "refusals",
    [
        [BUSY, BUSY],
        [(503, "unavailable", "")],
        [(409, "request-in-flight", "0")],
        [(0, "", "")],
    ],
    ids=["a limit", "a part that is away", "the same request under way", "a connection that broke"],
)
def test_a_change_is_sent_again_under_the_same_key(url: str, refusals: list[Refusal]) -> None:
    Handler.answers[:] = refusals
    with Client(url, token="t", retries=QUICK) as memory:
        assert memory.consolidation.run().error == ""
    keys = {key for _, key, _ in Handler.seen}
    assert len(Handler.seen) == len(refusals) + 1 and len(keys) == 1 and None not in keys


def test_the_asynchronous_client_sends_again_as_well(url: str) -> None:
    Handler.answers[:] = [BUSY, (0, "", "")]

    async def use() -> None:
        async with AsyncClient(url, token="t", retries=QUICK) as memory:
            await memory.consolidation.run()

    asyncio.run(use())
    assert len(Handler.seen) == 3 and len({key for _, key, _ in Handler.seen}) == 1


def test_a_call_that_changes_nothing_has_no_key_and_two_changes_have_two(url: str) -> None:
    with Client(url, token="t", retries=QUICK) as memory:
        memory.consolidation.run()
        memory.consolidation.run()
        with pytest.raises(UnexpectedAnswer, match="Recall lacks trace_id"):
            memory.recall("anything")
    first, second, recall = (key for _, key, _ in Handler.seen)
    assert first and second and first != second and recall is None


@pytest.mark.parametrize(
    ("refusal", "error", "sent"),
    [
        (BUSY, QuotaExceeded, 4),
        ((429, "quota-exceeded", "86400"), QuotaExceeded, 1),
        ((503, "search-closed", "0"), Unavailable, 4),
        ((500, "server-error", ""), ServerError, 1),
        ((409, "conflict", ""), Conflict, 1),
        ((422, "blocked", ""), Blocked, 1),
        ((0, "", ""), ConnectionFailed, 4),
        ((1, "", ""), TimedOut, 4),
    ],
)
def test_what_stays_refused_is_an_error_of_its_own(
    url: str, refusal: Refusal, error: type[Exception], sent: int
) -> None:
    Handler.answers[:] = [refusal] * 4
    with Client(url, token="t", retries=QUICK, timeout=0.1) as memory, pytest.raises(error) as raised:
        memory.consolidation.run()
    assert type(raised.value) is error and len(Handler.seen) == sent


def test_the_server_says_how_long_to_wait(url: str) -> None:
    Handler.answers[:] = [(429, "quota-exceeded", "1")]
    begun = time.monotonic()
    with Client(url, token="t", retries=QUICK) as memory:
        memory.consolidation.run()
    assert time.monotonic() - begun >= 1


def test_without_retries_the_first_refusal_is_the_answer(url: str) -> None:
    Handler.answers[:] = [BUSY]
    with Client(url, token="t", retries=Retries(most=0)) as memory, pytest.raises(QuotaExceeded) as refused:
        memory.consolidation.run()
    assert refused.value.retry_after == 0


def test_nobody_there_is_said_so() -> None:
    address = f"127.0.0.1:{free_port()}"
    client = Client(f"http://u:s3cret@{address}", token="t", retries=QUICK)
    with client as memory, pytest.raises(ConnectionFailed, match=f"No answer from http://{address}: ") as raised:
        memory.consolidation.run()
    assert "Does the server run there?" in str(raised.value) and "s3cret" not in str(raised.value)


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("address", "token", "told"),
    [
        ("127.0.0.1:8000", "mh_t", "http://"),
        ("mhb_swapped", "http://h", "^The address(?!.*mhb_)"),
        ("http://h", "", "empty"),
        ("http://h", "mh_t\n", "no token"),
    ],
)
def test_an_address_or_token_that_cannot_be_one_is_refused_at_once(
    client: type[Client | AsyncClient], address: str, token: str, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        client(address, token=token)


def test_a_page_of_something_else_is_no_answer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handler, "body", b"<html>")
    with Client(url, token="t") as memory, pytest.raises(UnexpectedAnswer, match="is it a memoryhub"):
        memory.consolidation.run()


def test_a_client_for_a_user_names_them_and_leaves_the_others_alone(url: str) -> None:
    with Client(f"{url}/api/v1/", token="t") as memory:
        with memory.for_user("alice") as alice:
            alice.consolidation.run()
        memory.for_user("Žofie, 3").consolidation.run()
        memory.consolidation.run()
    assert [(path.partition("/consolidation/")[2], user) for path, _, user in Handler.seen] == [
        ("", "alice"),
        ("?user_id=%C5%BDofie%2C+3", None),
        ("", None),
    ]


def test_an_operation_that_does_not_end_is_not_waited_for_longer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operation = dict.fromkeys("id session_id error retry_at created_at ended_at".split())
    lists = dict.fromkeys("episode_ids decisions run_ids memories".split(), ())
    monkeypatch.setattr(Handler, "body", json.dumps({**operation, **lists, "state": "running"}).encode())
    with Client(url, token="mh_test") as client, pytest.raises(TimedOut, match=r"0\.2 s"):
        client.operations.wait("1", within=0.2)
