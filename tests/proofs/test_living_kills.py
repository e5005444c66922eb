"""kill -9 anywhere while memories are consolidated, replaced, promoted, collected: nothing is left half done."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

from rich.progress import track

from tests.parts import eventually
from tests.proofs.site import FORGETTING, Site
from tests.proofs.test_kills import KILLS_BETWEEN_FULL_CHECKS

PEOPLE = 2
# A life is measured by what it records, because a busy machine does little in a second.
MOST_EVENTS = 150
LAST_SECONDS = 0.05
START_SECONDS = 60.0

# What one transaction writes together, or must never be twice.
BROKEN = {
    "a fact without its audit event": "SELECT count(*) FROM memories_fact f"
    " WHERE NOT EXISTS (SELECT 1 FROM tenants_auditevent a WHERE a.target_id = f.id)",
    "two current facts of one key": "SELECT count(*) FROM (SELECT 1 FROM memories_fact"
    " WHERE key != '' AND status IN ('active', 'stale') GROUP BY tenant_id, user_id, scope, key HAVING count(*) > 1)",
    "an episode that was consolidated twice": "SELECT count(*) FROM (SELECT 1 FROM memories_fact f"
    " JOIN memories_fact_supporting_episodes l ON l.fact_id = f.id WHERE f.restores IS NULL"
    " GROUP BY l.episode_id, f.text HAVING count(*) > 1)",
    "an episode below the watermark that no run covers": "SELECT count(*) FROM memories_episode e"
    " JOIN memories_episodeledger l ON l.tenant_id = e.tenant_id AND l.user_id = e.user_id"
    " WHERE e.ordinal <= l.consolidated AND NOT EXISTS (SELECT 1 FROM memories_consolidationrun r"
    " WHERE r.tenant_id = e.tenant_id AND r.user_id = e.user_id AND (r.state = 'done' OR r.given_up)"
    " AND e.ordinal BETWEEN r.first_ordinal AND r.last_ordinal)",
    "an episode of a done run without its fact": "SELECT count(*) FROM memories_episode e"
    " WHERE EXISTS (SELECT 1 FROM memories_consolidationrun r WHERE r.tenant_id = e.tenant_id"
    " AND r.user_id = e.user_id AND r.state = 'done' AND e.ordinal BETWEEN r.first_ordinal AND r.last_ordinal)"
    " AND NOT EXISTS (SELECT 1 FROM memories_fact_supporting_episodes l WHERE l.episode_id = e.id)",
    "a ledger that counts too few episodes": "SELECT count(*) FROM memories_episode e"
    " JOIN memories_episodeledger l ON l.tenant_id = e.tenant_id AND l.user_id = e.user_id"
    " WHERE e.ordinal > l.stored",
    "a run that says done without an end": "SELECT count(*) FROM memories_consolidationrun"
    " WHERE state != 'running' AND ended_at IS NULL",
    "an expired session with a working memory": "SELECT count(*) FROM memories_session s WHERE expired_at IS NOT NULL"
    " AND (working_memory != '{}' OR EXISTS (SELECT 1 FROM memories_sessionentry e WHERE e.session_id = s.id))",
    "an entry that became a fact which is not there": "SELECT count(*) FROM memories_sessionentry e"
    " WHERE memory_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memories_fact f WHERE f.id = e.memory_id)",
    "two current versions of a how-to": "SELECT count(*) FROM (SELECT 1 FROM memories_playbook"
    " WHERE status IN ('active', 'stale') GROUP BY tenant_id, user_id, scope, title HAVING count(*) > 1)",
    "a superseded fact without a time": "SELECT count(*) FROM memories_fact"
    " WHERE status = 'superseded' AND superseded_at IS NULL",
}
# The kinds of events that have to be among those recorded, or the proof proves nothing.
LIVED = {
    "consolidation.done",
    "consolidation.given_up",
    "fact.created",
    "fact.superseded",
    "fact.retired",
    "fact.restored",
    "fact.promoted",
    "fact.evicted",
    "fact.archived",
    "fact.forgotten",
    "session.expired",
    "session.ended",
    "playbook.failed",
    "playbook.superseded",
}


def test_a_life_that_ends_anywhere_leaves_nothing_half_done(tmp_path: Path, kills: int) -> None:
    with Site(tmp_path) as site:
        site.people(PEOPLE)
        chance = random.Random(kills)
        for number in track(range(1, kills + 1), description="kills"):
            live_and_die(site, chance, seed=number)
            assert not site.count(BROKEN), f"kill {number}"
            assert not half_forgotten(site), f"kill {number}"
            if number % KILLS_BETWEEN_FULL_CHECKS == 0 or number == kills:
                site.manage("verify_chains")
                site.manage("verify_audit")
        assert lived(site) >= LIVED or kills < len(LIVED), LIVED - lived(site)


def live_and_die(site: Site, chance: random.Random, *, seed: int) -> None:
    """Live for some events, then die at once."""
    until = recorded(site) + chance.randint(0, MOST_EVENTS)
    with (site.folder / "living.log").open("ab") as log:
        process = site.spawn("-m", "tests.proofs.living", str(seed), stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"living\n", (site.folder / "living.log").read_text()
        assert eventually(lambda: recorded(site) >= until, seconds=START_SECONDS), "it does not live"
        time.sleep(chance.uniform(0.0, LAST_SECONDS))
        assert process.poll() is None, (site.folder / "living.log").read_text()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(START_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


def recorded(site: Site) -> int:
    """How many events were recorded."""
    return int(site.rows("SELECT count(*) FROM tenants_auditevent")[0][0])


def half_forgotten(site: Site) -> list[str]:
    """Words of facts that were forgotten and are in the database all the same."""
    log = site.folder / FORGETTING
    wanted = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    with closing(sqlite3.connect(site.database)) as database:
        there = {pk for (pk,) in database.execute("SELECT id FROM memories_fact")}
        everything = "\n".join(database.iterdump())
    return [word for pk, word in wanted if pk not in there and word in everything]


def lived(site: Site) -> set[str]:
    """The kinds of events that were recorded."""
    return {action for (action,) in site.rows("SELECT DISTINCT action FROM tenants_auditevent")}
