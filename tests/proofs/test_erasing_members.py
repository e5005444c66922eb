"""Erasing a member while they chat and are consolidated, and erasing one with a worker that is killed all the time."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from rich.progress import track

from tests.collector import Collector, collecting
from tests.faulty_model import faithful, record_of
from tests.openai_server import KEY, Made, Reply, Say, openai_server, said_as_json
from tests.parts import eventually
from tests.proofs.erasing import word_of
from tests.proofs.site import Person, Site

MEMORIES = 40
PATIENCE_SECONDS = 120.0
# Erased while it says so many words, each after a while.
WORDS, PAUSE_SECONDS = 30, 0.05


@dataclass(frozen=True)
class Slow(Say):
    """An answer that takes a while, so that it is cut off by whatever happens meanwhile."""

    def chunks(self) -> Iterator[bytes]:
        """The stream, word by word."""
        for chunk in super().chunks():
            time.sleep(PAUSE_SECONDS)
            yield chunk


def reply(request: dict[str, Any]) -> Reply:
    """To a chat its own words, slowly; to a consolidation what it reads."""
    if request.get("tools"):
        asked = str(request["messages"][-1].get("content"))
        said = (re.findall(r"\b[g-v]{16}\b", json.dumps(request)) or ["nothing"])[-1]
        return Slow([f"{said} {number} " for number in range(WORDS)] + [asked[:20]])
    if "episodes" not in record_of(request):
        return said_as_json({})  # whether two facts contradict each other: the rules have to do
    return said_as_json(faithful(request))


class Chatter(threading.Thread):
    """A member who says something with their word again and again, until they are refused."""

    def __init__(self, site: Site, person: Person) -> None:
        super().__init__(daemon=True)
        self._site, self._person = site, person
        self.said, self.refused, self.stopping = 0, 0, threading.Event()

    def run(self) -> None:
        """Chat by the API; a refusal or a broken stream ends nothing."""
        while not self.stopping.is_set():
            connection = HTTPConnection("127.0.0.1", self._site.port, timeout=30)
            message = f"Box {self.said} of {word_of(self._person.username)} stands on the shelf"
            headers = {"Authorization": f"Bearer {self._person.token}", "Content-Type": "application/json"}
            try:
                connection.request("POST", "/api/v1/turns/", json.dumps({"message": message}), headers)
                status = connection.getresponse().status
            except (OSError, HTTPException):
                status = 0
            finally:
                connection.close()
            self.said += status == 200
            self.refused += status in (401, 403)
            if status != 200:
                time.sleep(0.05)


def test_nothing_stays_of_a_member_who_chats_and_is_consolidated_meanwhile(tmp_path: Path) -> None:
    with openai_server(Made(reply)) as model, collecting() as collector:
        site = Site(tmp_path, chatting(model.base_url, collector))
        with site:
            ada, bob, eve, *_ = site.people(4)
            for person in (ada, bob, eve):
                site.run("-m", "tests.proofs.erasing", "fill", person.username, str(MEMORIES))
            filled = others(site, ada)
            site.start()
            before = settled(site, ada, filled)
            chatters = [Chatter(site, ada) for _ in range(2)]
            for chatter in chatters:
                chatter.start()
            wait_until(lambda: sum(chatter.said for chatter in chatters) >= 3, site)
            assert holding(tmp_path, word_of(ada.username)), "or the proof proves nothing"
            erasure = site.run("-m", "tests.proofs.erasing", "ask", ada.username).stdout
            wait_until(lambda: state(site, erasure) == "done", site)
            wait_until(lambda: all(chatter.refused > 2 for chatter in chatters), site)
            for chatter in chatters:
                chatter.stopping.set()
            for chatter in chatters:
                chatter.join()
            time.sleep(2)  # whatever a thread still holds
            assert site.stop() == 0
            assert not holding(tmp_path, word_of(ada.username))
            assert not any(word_of(ada.username).encode() in body for body in collector.bodies)
            assert json.loads(site.manage("erasure", "verify", erasure, "--json"))["ok"]
            site.manage("verify_audit")
            site.manage("verify_chains")
            assert set(before) <= set(others_after(site, erasure))
            assert all(holding(tmp_path, word_of(person.username)) for person in (bob, eve))


def test_a_worker_that_is_killed_anywhere_is_followed_by_another(tmp_path: Path, kills: int) -> None:
    with Site(tmp_path) as site:
        ada, bob = site.people(2)
        for person in (ada, bob):
            site.run("-m", "tests.proofs.erasing", "fill", person.username, str(MEMORIES))
        before = others(site, ada)
        erasure = site.run("-m", "tests.proofs.erasing", "ask", ada.username).stdout
        chance = random.Random(kills)
        for number in track(range(kills), description="kills"):
            if state(site, erasure) == "done":
                break
            carry_and_die(site, erasure, seconds=chance.uniform(0.0, 0.15 + 0.01 * number))
            assert site.rows("PRAGMA integrity_check") == [("ok",)]
            site.manage("verify_audit")
        else:
            carry_and_die(site, erasure, seconds=None)
        assert state(site, erasure) == "done"
        assert not holding(tmp_path, word_of(ada.username))
        assert set(before) <= set(others_after(site, erasure))
        assert json.loads(site.manage("erasure", "verify", erasure, "--json"))["ok"]


def chatting(model: str, collector: Collector) -> dict[str, str]:
    """What the site needs to chat with the model, to consolidate at once, and to send its spans."""
    return {
        "MEMORYHUB_MODEL": "scripted",
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": KEY,
        "MEMORYHUB_CONSOLIDATE": "turn",
        "MEMORYHUB_TRACES_URL": collector.url,
    }


def carry_and_die(site: Site, erasure: str, *, seconds: float | None) -> None:
    """Carry the erasure out, and die at once after so long; None: to the end."""
    with (site.folder / "erasing.log").open("ab") as log:
        process = site.spawn("-m", "tests.proofs.erasing", "carry", erasure, stdout=subprocess.PIPE, stderr=log)
    assert process.stdout is not None
    assert process.stdout.readline() == b"erasing\n"
    if seconds is None:
        process.wait()
    else:
        time.sleep(seconds)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def state(site: Site, erasure: str) -> str:
    query = "SELECT state FROM memories_erasurerequest WHERE id = ?"
    return str(site.rows(query, erasure.replace("-", ""))[0][0])


def others(site: Site, person: Person) -> list[str]:
    """A digest for each row of everybody else's."""
    digests: list[str] = json.loads(site.run("-m", "tests.proofs.erasing", "others", person.username).stdout)
    return digests


def settled(site: Site, person: Person, filled: list[str]) -> list[str]:
    """The same once the server has done to everybody what it does when it starts: consolidate, scan, collect."""
    seen = [filled]

    def changed_and_twice_the_same() -> bool:
        time.sleep(2)
        seen.append(others(site, person))
        return filled != seen[-1] == seen[-2]

    wait_until(changed_and_twice_the_same, site)
    return seen[-1]


def others_after(site: Site, erasure: str) -> list[str]:
    """The same once the member's name is erased: they are found by what is left of it."""
    query = (
        "SELECT u.username FROM memories_erasurerequest e JOIN tenants_membership m ON m.id = e.membership_id"
        " JOIN tenants_user u ON u.id = m.user_id WHERE e.id = ?"
    )
    username: str = site.rows(query, erasure.replace("-", ""))[0][0]
    digests: list[str] = json.loads(site.run("-m", "tests.proofs.erasing", "others", username).stdout)
    return digests


def holding(folder: Path, word: str) -> list[str]:
    """The files in which the word stands: database, log of writes, index, logs. Stems lose its end; none is asked."""
    inside = word[:14].encode()
    return [path.name for path in folder.rglob("*") if path.is_file() and inside in path.read_bytes().lower()]


def wait_until(true: Callable[[], bool], site: Site) -> None:
    assert eventually(true, seconds=PATIENCE_SECONDS), site.log()[-4000:]
