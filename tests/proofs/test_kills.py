"""kill -9 at random moments under concurrent writes: every acknowledged write is there, and nothing is half written."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from pathlib import Path

from rich.progress import track

from tests.proofs.site import Site
from tests.proofs.writers import Crowd, Promise, Promises

PEOPLE = 2
LONGEST_LIFE_SECONDS = 1.5
KILLS_BETWEEN_FULL_CHECKS = 10

# Rows that one transaction writes together: half of a pair is a torn write.
TORN = {
    "a user's message without its episode": "SELECT count(*) FROM memories_message m WHERE m.role = 'user'"
    " AND NOT EXISTS (SELECT 1 FROM memories_episode e WHERE e.message_id = m.id)",
    "an episode without its audit event": "SELECT count(*) FROM memories_episode e"
    " WHERE NOT EXISTS (SELECT 1 FROM tenants_auditevent a WHERE a.target_id = e.id)",
    "a fact without its audit event": "SELECT count(*) FROM memories_fact f"
    " WHERE NOT EXISTS (SELECT 1 FROM tenants_auditevent a WHERE a.target_id = f.id)",
    "two current facts of one key": "SELECT count(*) FROM (SELECT 1 FROM memories_fact"
    " WHERE key != '' AND status IN ('active', 'stale') GROUP BY tenant_id, user_id, key HAVING count(*) > 1) AS two",
}


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, kills: int) -> None:
    chance = random.Random(kills)
    kept = 0
    with Site(tmp_path) as site:
        people = site.people(PEOPLE)
        for number in track(range(1, kills + 1), description="kills"):
            promises = live_and_die(site, Crowd(site, people, made := Promises()), made, chance)
            kept += len(promises)
            assert not broken(site, promises), f"kill {number}"
            if number % KILLS_BETWEEN_FULL_CHECKS == 0 or number == kills:
                check_everything(site)
    assert kept >= kills, "hardly anything was acknowledged: the proof proves nothing"


def live_and_die(site: Site, crowd: Crowd, promises: Promises, chance: random.Random) -> list[Promise]:
    """Serve writers for a random while, then die; return what was promised until then."""
    site.start()
    crowd.begin()
    promises.first.wait(timeout=30)
    time.sleep(chance.uniform(0.0, LONGEST_LIFE_SECONDS))
    site.kill()
    crowd.end()
    assert not crowd.errors, crowd.errors
    return promises.take()


def broken(site: Site, promises: Iterable[Promise]) -> list[Promise]:
    """The promises that the database does not keep."""
    found = "SELECT 1 FROM {} WHERE {} = ?"
    return [
        promise
        for promise in promises
        if bool(site.rows(found.format(promise.table, promise.column), promise.value)) is not promise.there
    ]


def check_everything(site: Site) -> None:
    """Nothing is torn; the audit log, the chains and, once the outbox is empty, the index are whole."""
    assert not site.count(TORN)
    site.manage("verify_audit")
    site.manage("verify_chains")
    site.manage("index", "drain")
    site.check_index()
