"""The index folder goes bad while the site runs: writes and recalls go on, and afterwards the index is whole again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.parts import eventually
from tests.proofs.site import Person, Site

FACTS = ["Keeps bees on the roof", "Is allergic to peanuts", "Works as a surveyor in Lucca"]
LATER = ["Moved the beehives to the garden", "Learns the cello on Tuesdays"]
PATIENCE_SECONDS = 90.0
# Nothing can be made in it, not even by root.
READ_ONLY = Path("/sys/kernel")

Fault = Callable[[Path], AbstractContextManager[None]]


@contextmanager
def deleted(index: Path) -> Iterator[None]:
    """Somebody deletes the folder under the running server."""
    shutil.rmtree(index)
    yield


@contextmanager
def file_in_its_place(index: Path) -> Iterator[None]:
    """The path is no folder any more."""
    shutil.rmtree(index)
    index.touch()
    yield
    index.unlink()


@contextmanager
def read_only(index: Path) -> Iterator[None]:
    """The folder refuses new files."""
    shutil.rmtree(index)
    index.symlink_to(READ_ONLY)
    yield
    index.unlink()


@contextmanager
def full(index: Path) -> Iterator[None]:
    """The folder lies on a disk without any room, where this process may mount one."""
    # Outside of pytest's folders: a run that is killed here leaves a mount that no later run could clear away.
    disk = Path(tempfile.mkdtemp(prefix="memoryhub-full-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", os.fspath(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: S603
        pytest.skip("this process may not mount a small disk")
    shutil.rmtree(index)
    index.symlink_to(disk)
    try:
        (disk / "filler").write_bytes(bytes(12 * 1024))
        yield
    finally:
        index.unlink()
        subprocess.run(["umount", "--lazy", os.fspath(disk)], check=True)  # noqa: S603, S607
        disk.rmdir()


@contextmanager
def damaged(index: Path) -> Iterator[None]:
    """The files hold noise."""
    for path in index.rglob("*"):
        if path.is_file():
            path.write_bytes(os.urandom(path.stat().st_size))
    yield


@pytest.mark.parametrize("fault", [deleted, file_in_its_place, read_only, full, damaged])
def test_writes_and_recalls_go_on_without_the_index(tmp_path: Path, fault: Fault) -> None:
    with Site(tmp_path) as site:
        (person, *_) = site.people(1)
        site.start()
        for fact in FACTS:
            assert call(site, person, "memories/", {"kind": "semantic", "text": fact})["result"] == "created"
        wait_until(lambda: waiting(site) == 0)
        with fault(site.index):
            for fact in LATER:
                assert call(site, person, "memories/", {"kind": "semantic", "text": fact})["result"] == "created"
            texts = {item["text"] for item in call(site, person, "recall/", {"query": "bees and the cello"})["items"]}
            assert texts == {*FACTS, *LATER}
            assert site.answers()
        wait_until(lambda: waiting(site) == 0)
        wait_until(lambda: not call(site, person, "recall/", {"query": "bees"})["degraded"])
        site.check_index()


def call(site: Site, person: Person, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """POST to the API as `person`; the answer, which must be a success."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{site.port}/api/v1/{path}",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {person.token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
            answer: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        pytest.fail(f"{path} answered {error.code}: {error.read().decode()}\n{site.log()[-3000:]}")
    return answer


def waiting(site: Site) -> int:
    """How many changes the search plane does not have yet."""
    return int(site.rows("SELECT count(*) FROM memories_outboxentry")[0][0])


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what happens in the background, not for ever."""
    assert eventually(condition, seconds=PATIENCE_SECONDS), "it did not happen in time"
