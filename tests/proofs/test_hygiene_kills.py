"""kill -9 at random moments of a hygiene scan: the next one goes on, and ends as one in one piece does."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from rich.progress import track

from tests.proofs.killing import killed_during
from tests.proofs.site import Site

FACTS = 6_000
LONGEST_WORK_SECONDS = 2.0

# What a scan leaves behind, whatever its moment.
LEFT = {
    "facts": "SELECT id, status, staleness, version FROM memories_fact ORDER BY id",
    "proposals": "SELECT first_id, reason, evidence FROM memories_reviewitem WHERE kind = 'eviction' ORDER BY first_id",
    "events": "SELECT action, target_id FROM tenants_auditevent WHERE action = 'fact.stale' ORDER BY 2",
    "outbox": "SELECT memory_id, version FROM memories_outboxentry ORDER BY 1, 2",
    "counts": "SELECT state, counts FROM memories_hygienerun WHERE finished_at IS NOT NULL",
}
SEEN = "SELECT count(*) FROM memories_hygienerun WHERE state = 'running' AND seen_at > ?"
ENDED = "SELECT count(*) FROM memories_hygienerun WHERE finished_at IS NOT NULL"


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
            killed_during(site, ["hygiene", "scan"], SEEN, chance, LONGEST_WORK_SECONDS)
            if site.rows(ENDED)[0][0]:  # if only just before it was killed
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
    assert site.rows("PRAGMA integrity_check") == [("ok",)]
    return {what: site.rows(query) for what, query in LEFT.items()}
