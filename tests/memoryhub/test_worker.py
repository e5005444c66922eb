"""The worker process: it runs jobs when they are due or woken, whatever they raise, and ends with its server."""

from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path

import pytest
from pytest_django import Settings

from memoryhub import jobs, worker
from memoryhub.jobs import Job, JobQueue, JobResult, Unavailable
from memoryhub.worker import JobThread, WorkerProcess, run_worker
from tests.parts import eventually
from tests.proofs.site import Site

PATIENCE_SECONDS = 20.0


class Part:
    """Work that counts its runs, fails while `away` is set, and returns `result`."""

    def __init__(self) -> None:
        self.away: Exception | None = None
        self.result = JobResult.DONE
        self.runs = 0

    def __call__(self) -> JobResult:
        self.runs += 1
        if self.away is not None:
            raise self.away
        return self.result


part = Part()


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MAX_BACKOFF_SECONDS", 0.02)
    monkeypatch.setattr("memoryhub.worker.connections.close_all", lambda: None)
    monkeypatch.setattr("tests.memoryhub.test_worker.part", Part())


@pytest.fixture
def run() -> Iterator[Callable[..., JobThread]]:
    """Start a thread for `part`; it is stopped afterwards."""
    threads = []

    def start(pause: float | None = None, rest: float = 0.0) -> JobThread:
        threads.append(JobThread("worker", part, pause=pause, rest=rest))
        threads[-1].start()
        return threads[-1]

    yield start
    for thread in threads:
        thread.stop()
        thread.join()
        assert not thread.running


def test_work_is_done_at_once_and_when_woken(run: Callable[..., JobThread]) -> None:
    thread = run()
    assert eventually(lambda: part.runs == 1)
    thread.wake()
    assert eventually(lambda: part.runs == 2)


def test_a_job_that_stopped_early_runs_again_at_once(run: Callable[..., JobThread]) -> None:
    part.result = JobResult.MORE
    run()
    assert eventually(lambda: part.runs > 3)


def test_many_wakes_are_one_run(run: Callable[..., JobThread]) -> None:
    thread = run(rest=0.2)
    assert eventually(lambda: part.runs == 1)
    for _ in range(100):
        thread.wake()
    assert eventually(lambda: part.runs == 2)
    time.sleep(0.3)
    assert part.runs == 2


def test_begin_and_end_of_an_outage_are_logged(run: Callable[..., JobThread], caplog: pytest.LogCaptureFixture) -> None:
    part.away = Unavailable("The broker is away.")
    run(pause=0.01)
    assert eventually(lambda: part.runs > 5)
    part.away = None
    assert eventually(lambda: len(caplog.records) == 2)
    assert [(record.levelno, record.getMessage(), record.exc_info) for record in caplog.records] == [
        (logging.WARNING, "worker: The broker is away. It is tried again.", False),
        (logging.WARNING, "worker: it works again.", None),
    ]


def test_a_fault_is_logged_with_its_traceback(run: Callable[..., JobThread], caplog: pytest.LogCaptureFixture) -> None:
    part.away = KeyError("id")
    run(pause=0.01)
    assert eventually(lambda: part.runs > 3)
    (record,) = caplog.records
    assert record.exc_info and isinstance(record.exc_info[1], KeyError)


def test_another_process_can_wake_a_job(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEMORYHUB_DATA_DIR, settings.MEMORYHUB_JOBS = tmp_path, "worker"
    job = Job("tests.count", f"{__name__}.part", timedelta(days=1), JobQueue.CHANGES)
    monkeypatch.setitem(jobs._table, job.name, job)
    stopping = threading.Event()
    runner = threading.Thread(target=run_worker, args=([job], stopping))
    runner.start()
    assert eventually(lambda: part.runs == 1)
    jobs.wake(job.name)
    assert eventually(lambda: part.runs == 2)
    stopping.set()
    runner.join(PATIENCE_SECONDS)
    assert not runner.is_alive()


@pytest.mark.parametrize(("runner", "started"), [("worker", 1), ("celery", 0), ("off", 0)])
def test_a_server_starts_a_worker_unless_others_run_the_jobs(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, runner: str, started: int
) -> None:
    commands: list[list[str]] = []

    class Sleeping:
        def __init__(self, command: list[str], **_options: object) -> None:
            commands.append(command)

        def poll(self) -> None:
            """It runs."""

    monkeypatch.setattr("memoryhub.worker.subprocess.Popen", Sleeping)
    settings.MEMORYHUB_JOBS = runner
    process = WorkerProcess()
    process.keep()
    process.keep()
    assert len(commands) == started


def test_a_worker_ends_with_the_process_that_started_it() -> None:
    run_worker([], threading.Event(), parent=os.getppid() + 1)


@pytest.mark.long
def test_a_server_has_one_worker_which_delivers_what_it_commits(site: Site) -> None:
    (person,) = site.people(1)
    assert eventually(lambda: len(site.workers()) == 1)
    (first,) = site.workers()
    os.kill(first, signal.SIGKILL)
    assert eventually(lambda: len(site.workers()) == 1 and site.workers() != [first])
    with closing(HTTPConnection("127.0.0.1", site.port, timeout=10)) as connection:
        headers = {"Authorization": f"Bearer {person.token}", "Content-Type": "application/json"}
        connection.request(
            "POST", "/api/v1/memories/", json.dumps({"kind": "semantic", "text": "Lives in Bristol"}), headers
        )
        assert connection.getresponse().status == 201
    with closing(sqlite3.connect(site.database)) as database:
        assert database.execute("SELECT count(*) FROM memories_fact").fetchone() == (1,)
        waiting = "SELECT count(*) FROM memories_outboxentry"
        assert eventually(lambda: database.execute(waiting).fetchone() == (0,)), site.log()
    assert site.stop() == 0
    assert site.workers() == []


@pytest.mark.long
def test_a_worker_notices_that_its_server_was_killed(site: Site) -> None:
    assert eventually(lambda: len(site.workers()) == 1)
    site.kill(with_workers=False)
    assert eventually(lambda: site.workers() == [])
