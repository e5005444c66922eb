"""The server with hostile clients: they hold no thread, and what is too large or too slow is refused unread."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace

import pytest
from gunicorn.config import Config

from memoryhub.web_worker import MAX_LARGE_BODIES, WebWorker
from tenants.tokens import new_plaintext
from tests.migrated import Migrated
from tests.parts import eventually
from tests.ports import free_port
from tests.proofs.site import Person, Site
from tests.slow_clients import KINDS, connect, seconds_of, slow_clients, trickle

pytestmark = pytest.mark.long

# More than the server has threads.
MANY = 40
SECONDS = 3.0
PER_ADDRESS = 60
# Less than the parent waits before it kills what does not end.
STOP_SECONDS = 8.0
LIMITS = {
    "MEMORYHUB_HEADER_SECONDS": str(SECONDS),
    "MEMORYHUB_BODY_SECONDS": str(SECONDS),
    "MEMORYHUB_SEND_SECONDS": str(SECONDS),
    "MEMORYHUB_CONNECTIONS_PER_ADDRESS": str(PER_ADDRESS),
}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, _migrated: Migrated | None) -> Iterator[Site]:
    """A server with short deadlines and a listener for probes; its temporary files are in `tmp`."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "tmp").mkdir()
    probes = f"127.0.0.1:{free_port()}"
    site = Site(folder, {**LIMITS, "MEMORYHUB_PROBES": probes, "TMPDIR": str(folder / "tmp")})
    if _migrated is not None:
        _migrated.give(site.database)
    with site:
        site.start()
        seconds_of(site.port, "/login/")  # the first page loads the application
        yield site
        begun = time.monotonic()
        assert site.stop() == 0
        assert time.monotonic() - begun < STOP_SECONDS


@pytest.fixture(scope="module")
def people(site: Site) -> list[Person]:
    """Two members of the site."""
    return site.people(2)


@pytest.fixture(scope="module")
def person(people: list[Person]) -> Person:
    """A member of the site."""
    return people[0]


def post(site: Site, headers: dict[str, str], body: bytes = b"", path: str = "/login/") -> tuple[int, str]:
    """The status and text of the answer to a POST that may send less than it announces."""
    with closing(HTTPConnection("127.0.0.1", site.port, timeout=10)) as client:
        client.putrequest("POST", path)
        for name, value in headers.items():
            client.putheader(name, value)
        client.endheaders(body)
        answer = client.getresponse()
        return answer.status, answer.read().decode()


def probe(site: Site, path: str) -> tuple[int, str]:
    with closing(HTTPConnection(site.environ["MEMORYHUB_PROBES"], timeout=5)) as client:
        client.request("GET", path)
        answer = client.getresponse()
        return answer.status, answer.read().decode()


def web_process(site: Site) -> int:
    """The process that serves: it ends with the test's server, so it is found by its parent."""
    assert site._server is not None
    children = Path(f"/proc/{site._server.pid}/task/{site._server.pid}/children").read_text().split()
    (web,) = (int(child) for child in children if int(child) not in site.workers())
    return web


@pytest.mark.parametrize("kind", KINDS)
def test_slow_clients_hold_no_thread_and_are_dropped(site: Site, kind: str) -> None:
    with slow_clients(site.port, kind, MANY) as clients:
        assert all(trickle(client) for client in clients)
        for _ in range(3):
            assert seconds_of(site.port, "/login/") < 1.0
        assert eventually(lambda: not any(trickle(client) for client in clients), seconds=4 * SECONDS)


def test_of_too_many_connections_the_one_that_waited_longest_goes(site: Site) -> None:
    first = connect(site.port, "half a header")
    with closing(first), slow_clients(site.port, "half a header", PER_ADDRESS):
        assert eventually(lambda: not trickle(first), seconds=SECONDS / 2)
        assert seconds_of(site.port, "/login/") < 1.0


@pytest.mark.parametrize(
    ("headers", "status", "said"),
    [
        pytest.param({**FORM, "Content-Length": "70000"}, 413, "larger than 65,536 bytes", id="an anonymous body"),
        pytest.param(
            {**FORM, "Content-Length": "2000000", "Cookie": "memoryhub_session=x"}, 413, "1,126,400", id="any body"
        ),
        pytest.param(
            {"Content-Type": "multipart/form-data; boundary=B", "Content-Length": "50"}, 415, "takes no file", id="file"
        ),
    ],
)
def test_a_body_that_nobody_may_send_is_refused_unread(
    site: Site, headers: dict[str, str], status: int, said: str
) -> None:
    answer = post(site, headers)
    assert answer[0] == status and said in answer[1]
    assert not list((site.folder / "tmp").glob("*.upload*"))


def test_a_large_body_with_a_session_that_is_none_is_refused(site: Site) -> None:
    headers = {**FORM, "Content-Length": "70000", "Cookie": "memoryhub_session=x"}
    assert post(site, headers, b"x" * 70_000)[0] == 413


@contextmanager
def large_body(site: Site, source: str, credential: str) -> Iterator[HTTPConnection]:
    """A connection that announced a body of 1 MB to the API, and sent a part of it."""
    client = HTTPConnection("127.0.0.1", site.port, timeout=10, source_address=(source, 0))
    with closing(client):
        client.putrequest("POST", "/api/v1/recall/")
        name, value = credential.split(": ")
        for header, content in ((name, value), ("Content-Type", "application/json"), ("Content-Length", "1000000")):
            client.putheader(header, content)
        client.endheaders(b'{"query": "x"')
        yield client


@pytest.mark.parametrize(
    ("credential", "status"),
    [
        pytest.param("Authorization: Bearer x", 401, id="no token"),
        pytest.param(f"Authorization: Bearer {new_plaintext()}", 401, id="an unknown token"),
        pytest.param("Cookie: memoryhub_session=abcdefghijklmnopqrstuvwxyz012345", 401, id="an unknown session"),
    ],
)
def test_large_bodies_of_unknown_senders_are_answered_unread_and_displace_nobodys(
    site: Site, person: Person, credential: str, status: int
) -> None:
    member = f"Authorization: Bearer {person.token}"
    with large_body(site, "127.0.2.1", member) as honest, ExitStack() as stack:
        sources = (f"127.0.2.{number % 8 + 2}" for number in range(MAX_LARGE_BODIES + 6))
        for stranger in [stack.enter_context(large_body(site, source, credential)) for source in sources]:
            assert stranger.getresponse().status == status
        honest.send(b" " * (1_000_000 - len('{"query": "x"}')) + b"}")
        assert honest.getresponse().status == 200


def test_large_bodies_of_a_member_displace_their_own(site: Site, people: list[Person]) -> None:
    honest, hostile = (f"Authorization: Bearer {each.token}" for each in people)
    with large_body(site, "127.0.3.1", honest) as first, ExitStack() as stack:
        for number in range(MAX_LARGE_BODIES + 6):
            stack.enter_context(large_body(site, f"127.0.3.{number % 8 + 2}", hostile))
        first.send(b" " * (1_000_000 - len('{"query": "x"}')) + b"}")
        assert first.getresponse().status == 200


def test_the_api_explains_refusals_in_its_own_form(site: Site) -> None:
    status, text = post(site, {"Content-Type": "application/json", "Content-Length": "70000"}, path="/api/v1/turns/")
    assert (status, "urn:memoryhub:problem:body-too-large" in text) == (413, True)


def test_a_late_body_and_a_long_header_are_named(site: Site) -> None:
    assert post(site, {**FORM, "Content-Length": "10"}, b"x")[0] == 408
    assert post(site, {f"X-{number}": "x" * 5_000 for number in range(9)})[0] == 431


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        pytest.param(f"/api/v1/memories/?q={'x' * 9_000}", {}, 414, id="a long address"),
        pytest.param("/api/v1/memories/", {f"X-{number}": "x" * 5_000 for number in range(9)}, 431, id="long headers"),
        pytest.param("/api/v1/memories/", {"X-Long": "x" * 9_000}, 431, id="a long header"),
        pytest.param("/api/v1/memories/", {"Bad Name": "x"}, 400, id="no header"),
        pytest.param("/api/v1/turns/", {"Content-Length": "10"}, 408, id="a late body"),
    ],
)
def test_below_django_the_api_answers_with_problems(
    site: Site, path: str, headers: dict[str, str], status: int
) -> None:
    answered, text = post(site, headers, b"x" if "Content-Length" in headers else b"", path)
    problem = json.loads(text)
    assert (answered, problem["status"]) == (status, status)
    assert problem["type"].startswith("urn:memoryhub:problem:") and problem["detail"] and problem["request_id"]


def test_a_query_may_be_as_long_as_the_parser_takes(site: Site) -> None:
    assert post(site, {}, path=f"/api/v1/memories/?q={'x' * 8_000}")[0] == 401


def test_a_client_that_waits_for_permission_gets_it(site: Site) -> None:
    head = "POST /login/ HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    with socket.create_connection(("127.0.0.1", site.port), timeout=5) as client:
        client.sendall(head.encode())
        assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"a=b")
        assert client.recv(1000).startswith(b"HTTP/1.1 403 ")


def test_requests_of_one_connection_are_answered_in_turn(site: Site) -> None:
    head = b"GET /login/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", site.port), timeout=5) as client:
        client.sendall(head * 3)
        answers = b""
        while answers.count(b"</html>") < 3:
            piece = client.recv(65_536)
            assert piece
            answers += piece
        assert answers.count(b"HTTP/1.1 200 OK") == 3


def test_probes_have_a_listener_of_their_own(site: Site) -> None:
    assert probe(site, "/livez") == (200, "ok\n")
    status, parts = probe(site, "/readyz")
    assert status == 200 and '"database": "ok"' in parts
    assert probe(site, "/login/")[0] == 404
    with pytest.raises(AssertionError):
        seconds_of(site.port, "/livez")


def test_liveness_is_that_of_the_processes_that_answer(site: Site) -> None:
    web = web_process(site)
    os.kill(web, signal.SIGSTOP)
    try:
        assert eventually(lambda: probe(site, "/livez") == (503, "0 of 1 processes answer\n"), seconds=10)
        assert eventually(lambda: probe(site, "/readyz")[0] == 503, seconds=10)
    finally:
        os.kill(web, signal.SIGCONT)
    assert eventually(lambda: probe(site, "/livez")[0] == 200, seconds=10)


def test_a_signal_that_comes_again_at_the_end_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)
    worker = WebWorker(0, os.getppid(), [], SimpleNamespace(probes=None), 30, Config(), None)
    worker.handle_exit(signal.SIGTERM, None)
    worker.run()
    worker.handle_exit(signal.SIGTERM, None)
    worker.tmp.close()
    assert not worker.alive
