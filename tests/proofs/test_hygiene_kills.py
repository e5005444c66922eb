"""kill -9 at random moments of a hygiene scan: the next one goes on, and ends as one in one piece does."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from rich.progress import track

from tests.proofs.site import ROOT, Site

FACTS = 6_000
LONGEST_WORK_SECONDS = 2.0
PATIENCE_SECONDS = 60.0

# What a scan leaves behind, whatever its moment.
LEFT = {
    "facts": "SELECT id, status, staleness, version FROM memories_fact ORDER BY id",
    "proposals": "SELECT first_id, reason, evidence FROM memories_reviewitem WHERE kind = 'eviction' ORDER BY first_id",
    "events": "SELECT action, target_id FROM tenants_auditevent WHERE action = 'fact.stale' ORDER BY 2",
    "outbox": "SELECT memory_id, version FROM memories_outboxentry ORDER BY 1, 2",
    "counts": "SELECT state, counts FROM memories_hygienerun WHERE finished_at IS NOT NULL",
}
SEEN = "SELECT count(*) FROM memories_hygienerun WHERE state = 'running' AND seen_at > ?"


def test_a_scan_survives_kill_9(tmp_path: Path, kills: int) -> None:
    chance = random.Random(kills)
    clean = tmp_path / "before.sqlite3"
    killed = 0
    with Site(tmp_path / "site") as site:
        site.run("-m", "tests.proofs.unclean", str(FACTS))
        bring(site, clean)
        site.manage("hygiene", "scan")
        whole = left_in(site)
        take(site, clean)
        for _ in track(range(kills), description="kills"):
            if not scan_and_die(site, chance):
                assert left_in(site) == whole
                site.manage("verify_audit")
                take(site, clean)
            else:
                killed += 1
        site.manage("hygiene", "scan")
        assert left_in(site) == whole
        site.manage("verify_audit")
        again = json.loads(site.manage("hygiene", "scan", "--json"))["counts"]
        assert (again["facts"], again["stale"], again["fresh"], again["proposed"]) == (FACTS, 0, 0, 0)
    assert killed, "every scan had ended before it was killed: the proof proves nothing"


def bring(site: Site, to: Path) -> None:
    """Keep the database of the site as it is now."""
    with closing(sqlite3.connect(site.database)) as database, closing(sqlite3.connect(to)) as copy:
        database.backup(copy)


def take(site: Site, clean: Path) -> None:
    """Give the site that database back."""
    for leftover in site.folder.glob("memoryhub.sqlite3-*"):
        leftover.unlink()
    shutil.copy(clean, site.database)


def left_in(site: Site) -> dict[str, list[tuple[object, ...]]]:
    """What a scan left."""
    with closing(sqlite3.connect(site.database)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {what: database.execute(query).fetchall() for what, query in LEFT.items()}


def scan_and_die(site: Site, chance: random.Random) -> bool:
    """Scan, and be killed a moment after the next page; whether that came before the end."""
    with closing(sqlite3.connect(site.database, timeout=30)) as database:
        began_at = database.execute("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')").fetchone()[0]
        scanning = subprocess.Popen(
            [sys.executable, "manage.py", "hygiene", "scan"],
            cwd=ROOT,
            env=site.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while scanning.poll() is None and not database.execute(SEEN, (began_at,)).fetchone()[0]:
            assert time.monotonic() < deadline, "the scan does not begin"
            time.sleep(0.005)
    time.sleep(chance.uniform(0.0, LONGEST_WORK_SECONDS))
    alive = scanning.poll() is None
    if alive:
        os.killpg(scanning.pid, signal.SIGKILL)
    scanning.wait()
    return alive
