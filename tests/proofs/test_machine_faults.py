"""The database server is killed, workers die in each job, clocks jump and the disk fills up while people talk.

What was acknowledged is there afterwards, nothing is half done, and every queue is empty within a minute.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis
from celery import Celery
from rich.progress import track

from memoryhub.jobs import JobQueue
from tests.celery_process import CeleryProcess
from tests.parts import eventually, missing_part
from tests.proofs.real_site import Cluster, Parts, RealSite, real_parts
from tests.proofs.site import Site
from tests.proofs.test_kills import broken, check_everything
from tests.proofs.test_outages import CALM_SECONDS, RETURN_SECONDS, talking
from tests.proofs.writers import Promises, Regulars
from tests.real_parts import PostgreSQL
from tests.real_parts.server import Server

PEOPLE = 3
SEEN_SECONDS = 20.0
MOST_BUSY = 5
LONGEST_IN_HAND_SECONDS = 0.2
# Seconds by which the wall clock is wrong, one after another.
STEPS = (3_600, -3_600, 86_400, -600, 0)
# Shifts the wall clock of a process by the seconds in a file; timers and monotonic clocks go on as they are.
# (libfaketime 0.9.10 breaks Python's time.sleep.)
SHIFT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) {
    long seconds = 0;
    const char *path = getenv("CLOCK_SHIFT");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file) {
        if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
        fclose(file);
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += shift();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *stored) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (stored) *stored = precise.tv_sec;
    return precise.tv_sec;
}
"""
DISK_MEGABYTES = 48
# Every job of the table and its queue, as Celery's workers know them.
QUEUES = (
    "import json; from memoryhub.celery import table; print(json.dumps({j.name: j.queue for j in table() if j.when()}))"
)


@pytest.fixture(scope="module")
def parts() -> Iterator[Parts]:
    """PostgreSQL that keeps what it acknowledged, Redis and Elasticsearch."""
    with real_parts(postgresql=PostgreSQL(durable=True)) as made:
        yield made


def test_postgresql_is_killed_and_started_again(site: RealSite, kills: int) -> None:
    chance = random.Random(kills)
    with talking(site) as life:
        for _ in track(range(max(2, kills // 10)), description="kills of PostgreSQL"):
            with life.people.forgiven():
                site.parts.postgresql.kill()
                time.sleep(chance.uniform(0.0, 3.0))
                site.parts.postgresql.start()
                assert eventually(life.is_healthy, seconds=RETURN_SECONDS), site.words()
        life.is_whole_within(RETURN_SECONDS)


def test_one_part_or_another_goes_away(site: RealSite, outages: int, outage: int) -> None:
    chance = random.Random(outages)
    parts: Sequence[Server | Cluster] = (site.parts.postgresql, site.parts.redis, site.parts.cluster)
    with talking(site) as life:
        for _ in track(range(outages), description="outages"):
            part = chance.choice(parts)
            with life.people.forgiven():
                part.stop()
                time.sleep(chance.uniform(0.0, outage))
                part.start()
                assert eventually(life.is_healthy, seconds=RETURN_SECONDS), site.words()
            site.start_what_ended()
        life.is_whole_within(RETURN_SECONDS)


def test_a_celery_worker_is_killed_in_each_job(site: RealSite, kills: int) -> None:
    chance = random.Random(kills)
    queues: dict[str, str] = json.loads(site.run("-c", QUEUES).stdout)
    with talking(site) as life:
        for number in track(range(max(len(queues), kills // 5)), description="kills in jobs"):
            job, queue = list(queues.items())[number % len(queues)]
            worker = site.upkeep if queue == JobQueue.UPKEEP else site.worker
            assert any(taken(site, worker, job, queue) for _ in range(MOST_BUSY)), worker.words()[-3000:]
            time.sleep(chance.uniform(0.0, LONGEST_IN_HAND_SECONDS))
            worker.kill()
            worker.start()
        life.is_whole_within(RETURN_SECONDS)


def taken(site: RealSite, worker: CeleryProcess, job: str, queue: str) -> bool:
    """Send a message of this job to its paused worker and let it go on; whether it was seen with the message in hand.

    All other messages are lost meanwhile, as any may be, so that it comes first. A worker that has a longer job in hand
    is killed in that one.
    """
    url = site.parts.redis.url
    with redis.Redis.from_url(url) as broker, Celery(broker=url) as sender:
        worker.pause()
        broker.delete(*JobQueue)
        message = sender.send_task(job, queue=queue).id.encode()
        worker.resume()
        deadline = time.monotonic() + SEEN_SECONDS
        while time.monotonic() < deadline:
            if message in b" ".join(broker.hvals("unacked")):
                return True
    worker.kill()
    worker.start()
    return False


def test_the_clock_steps(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    environ = {"LD_PRELOAD": os.fspath(shifting(tmp_path)), "CLOCK_SHIFT": os.fspath(clock)}
    with Site(tmp_path, environ) as site, living(site) as people:
        for step in STEPS:
            replaced = tmp_path / "next"
            replaced.write_text(str(step))
            replaced.replace(clock)
            time.sleep(CALM_SECONDS)
        assert not people.errors, (people.errors[:3], site.log()[-3000:])


def shifting(folder: Path) -> Path:
    """The library that shifts the clock of whoever loads it."""
    source, library = folder / "shift.c", folder / "shift.so"
    source.write_text(SHIFT)
    compiler = shutil.which("cc")
    if compiler is None:
        missing_part("no C compiler is installed: apt-get install gcc libc6-dev.")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)  # noqa: S603
    return library


def test_the_disk_of_database_index_and_log_is_full() -> None:
    with small_disk() as disk, Site(disk) as site, living(site) as people, people.forgiven():
        filler = disk / "filler"
        fill(filler)
        time.sleep(CALM_SECONDS)
        assert site.answers()
        filler.unlink()
        time.sleep(CALM_SECONDS)


def fill(filler: Path) -> None:
    """Write until there is no room."""
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


@contextmanager
def living(site: Site) -> Iterator[Regulars]:
    """People who talk to an embedded site; afterwards nothing is lost and the outbox is empty within a minute."""
    promises = Promises()
    people = Regulars(site, site.people(PEOPLE), promises)
    site.start()
    people.begin()
    try:
        time.sleep(CALM_SECONDS)
        yield people
    finally:
        people.end()
    assert not people.errors, (people.errors[:3], site.log()[-3000:])
    made = promises.take()
    assert len(made) > 10 * PEOPLE, "hardly anything was acknowledged: the proof proves nothing"
    waiting = "SELECT count(*) FROM memories_outboxentry"
    assert eventually(lambda: site.rows(waiting)[0][0] == 0, seconds=RETURN_SECONDS), site.log()[-3000:]
    site.stop()
    assert not broken(site, made)
    check_everything(site)


@contextmanager
def small_disk() -> Iterator[Path]:
    """A folder on a disk of its own with little room."""
    disk = Path(tempfile.mkdtemp(prefix="memoryhub-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", os.fspath(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: S603
        missing_part("this process may not mount a small disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", os.fspath(disk)], check=True)  # noqa: S603, S607
        disk.rmdir()
