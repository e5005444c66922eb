"""Clients that write over HTTP until the server dies under them, and remember what was acknowledged.

Invariant: a promise is noted only after the server's answer to it was read.
"""

from __future__ import annotations

import json
import random
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Any

import httpx

from tests.proofs.site import Person, Site


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of `table` whose `column` is `value` is there (or, after an erasure, is not there)."""

    table: str
    column: str
    value: str
    there: bool = True


class Promises:
    """What was acknowledged, from all threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made: list[Promise] = []
        self.first = Event()

    def make(self, *promises: Promise) -> None:
        """The server answered."""
        with self._lock:
            self._made.extend(promises)
        self.first.set()

    def take(self) -> list[Promise]:
        """All that were made since the last call; nothing is expected of the next ones yet."""
        with self._lock:
            made, self._made = self._made, []
        self.first.clear()
        return made


def _ignore(asked_at: float, degraded: bool) -> None:
    """Nobody wants to know."""


class Client:
    """One member's connection: a token for the API, a session for the pages.

    `recalled` is told of each recall: when it was asked for, and whether its answer said that it is degraded.
    """

    def __init__(
        self, site: Site, person: Person, promises: Promises, recalled: Callable[[float, bool], None] = _ignore
    ) -> None:
        self._person, self._promises, self._recalled = person, promises, recalled
        address: Any = {"base_url": f"http://127.0.0.1:{site.port}", "timeout": 60}
        once = {"Connection": "close"}
        self._program = httpx.Client(**address, headers=once | {"Authorization": f"Bearer {person.token}"})
        self._browser = httpx.Client(**address, headers=once)
        self._facts: list[tuple[str, str]] = []
        self._number = 0

    def write_fact(self) -> None:
        """POST a fact, every third one of the same key: it replaces the one before."""
        self._number += 1
        text = f"Keeps box {uuid.uuid4().hex} on shelf {self._number}"
        key = "shelf" if self._number % 3 == 0 else ""
        written = self._api("POST", "memories/", {"kind": "semantic", "text": text, "key": key}, 201)
        self._promises.make(Promise("memories_fact", "id", hexadecimal(written["memory_id"])))
        if not key:
            self._facts.append((written["memory_id"], text))

    def recall_fact(self) -> None:
        """Ask for a fact that was acknowledged: it is found, or the answer says that something may be missing."""
        if not self._facts:
            return
        id_, text = random.choice(self._facts)
        asked_at = time.monotonic()
        answer = self._api("POST", "recall/", {"query": text}, 200)
        self._recalled(asked_at, answer["degraded"])
        found = [item["id"] for item in answer["items"]]
        assert id_ in found or answer["degraded"], f"{text!r} was forgotten, and nothing said so"

    def forget_fact(self) -> None:
        """POST a fact and DELETE it: once that is answered it is gone."""
        text = f"Is called {uuid.uuid4().hex} by nobody"
        written = self._api("POST", "memories/", {"kind": "semantic", "text": text}, 201)
        self._api("DELETE", f"memories/{written['memory_id']}/", None, 200)
        self._promises.make(
            Promise("memories_fact", "id", hexadecimal(written["memory_id"]), there=False),
            Promise("memories_fact", "text", text, there=False),
        )

    def converse(self) -> None:
        """POST a turn and read its stream: the words are promised by its first frame, the answer by its last."""
        text = f"I moved box {uuid.uuid4().hex} to the attic."
        asked_at = time.monotonic()
        turn: Any = {"json": {"message": text}, "headers": {"Accept": "text/event-stream"}}
        with self._program.stream("POST", "/api/v1/turns/", **turn) as response:
            assert response.status_code == 200, response.read()
            for line in response.iter_lines():
                if line.startswith("data: "):
                    self._hear(json.loads(line.removeprefix("data: ")), asked_at)

    def _hear(self, event: dict[str, Any], asked_at: float) -> None:
        if event["type"] == "turn_started":
            self._promise_turn(event["message_id"], event["episode_id"])
        elif event["type"] == "memories_recalled":
            self._recalled(asked_at, event["degraded"])
        elif event["type"] == "turn_finished":
            self._promises.make(Promise("memories_message", "id", hexadecimal(event["message_id"])))
        elif event["type"] == "memory_written":
            self._promises.make(Promise("memories_fact", "id", hexadecimal(event["id"])))

    def send_form(self) -> None:
        """Say something on the chat page without scripts: the redirect promises the words."""
        if not self._browser.cookies:
            self._submit("/login/", "/login/", username=self._person.username, password=self._person.password)
        text = f"Box {uuid.uuid4().hex} holds the lamp."
        self._submit("/", "/chat/send/", message=text, turn_id=str(uuid.uuid4()))
        self._promises.make(Promise("memories_message", "text", text), Promise("memories_episode", "text", text))

    def _promise_turn(self, message_id: str, episode_id: str) -> None:
        self._promises.make(
            Promise("memories_message", "id", hexadecimal(message_id)),
            Promise("memories_episode", "id", hexadecimal(episode_id)),
        )

    def _submit(self, page: str, address: str, **form: str) -> None:
        """Send the form of a page; the answer is a redirect."""
        token = form_token(self._browser.get(page).text)
        response = self._browser.post(address, data=form | {"csrfmiddlewaretoken": token})
        assert response.status_code == 302, (address, response.status_code, response.headers, response.text[:300])

    def _api(self, method: str, path: str, body: dict[str, str] | None, status: int) -> dict[str, Any]:
        response = self._program.request(method, f"/api/v1/{path}", json=body)
        assert response.status_code == status, (response.status_code, response.content)
        answer: dict[str, Any] = response.json()
        return answer


class Crowd:
    """Each of `people` writes in every way at once, each way on a thread of its own, until the server is gone."""

    def __init__(self, site: Site, people: list[Person], promises: Promises) -> None:
        self._ways = [way for person in people for way in self.ways(Client(site, person, promises, self.recalled))]
        self._threads: list[Thread] = []
        self.errors: list[BaseException] = []

    def ways(self, client: Client) -> list[Callable[[], None]]:
        """What one member does."""
        return [client.write_fact, client.forget_fact, client.converse, client.send_form]

    def recalled(self, asked_at: float, degraded: bool) -> None:
        """A recall was answered."""

    def begin(self) -> None:
        """Start writing."""
        self._threads = [Thread(target=self._live, args=(way,)) for way in self._ways]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Wait until everybody has noticed that the server is gone."""
        for thread in self._threads:
            thread.join()

    def repeat(self, way: Callable[[], None]) -> None:
        """Do it over and over."""
        try:
            while True:
                way()
        except httpx.TransportError:
            return  # the server is gone: nothing more was promised

    def _live(self, way: Callable[[], None]) -> None:
        try:
            self.repeat(way)
        except BaseException as error:  # noqa: BLE001 - reported by the proof, which fails
            self.errors.append(error)


class Regulars(Crowd):
    """Writes and asks at a steady pace until it is told to end; a server that does not answer is an error."""

    # Five things at once for each member: three members are some twelve requests a second. Thirty leave two cores no
    # room to start a cluster beside them: it then took 40 s, and as long again until its first writes were done.
    PAUSE_SECONDS = 1.0

    def __init__(self, site: Site, people: list[Person], promises: Promises) -> None:
        self._ending, self._forgiving = Event(), Event()
        self._recalls: list[tuple[float, bool]] = []
        super().__init__(site, people, promises)

    def ways(self, client: Client) -> list[Callable[[], None]]:
        """They also ask for what they wrote."""
        return [*super().ways(client), client.recall_fact]

    def recalled(self, asked_at: float, degraded: bool) -> None:
        """See Crowd."""
        self._recalls.append((asked_at, degraded))

    def degraded(self, since: float, until: float = float("inf")) -> list[bool]:
        """Of each answered recall that was asked for between two moments, whether it said that it is degraded."""
        return [degraded for asked_at, degraded in self._recalls if since <= asked_at < until]

    def repeat(self, way: Callable[[], None]) -> None:
        """See Crowd."""
        while not self._ending.wait(self.PAUSE_SECONDS):
            forgiving = self._forgiving.is_set()
            try:
                way()
            except (AssertionError, httpx.HTTPError):
                if not (forgiving or self._forgiving.is_set()):
                    raise

    @contextmanager
    def forgiven(self) -> Iterator[None]:
        """Requests may fail inside; what was acknowledged counts all the same."""
        self._forgiving.set()
        try:
            yield
        finally:
            self._forgiving.clear()

    def end(self) -> None:
        """Finish what was begun, and stop."""
        self._ending.set()
        super().end()


def form_token(page: str) -> str:
    """The token against forged requests in the forms of a page."""
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found, page[:500]
    return found[1]


def hexadecimal(id_: str) -> str:
    """An id as SQLite holds it."""
    return uuid.UUID(id_).hex
