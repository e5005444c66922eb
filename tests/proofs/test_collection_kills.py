"""kill -9 at random moments of a collection: no memory is half collected, and the next run goes on."""

from __future__ import annotations

import json
import random
from pathlib import Path

from rich.progress import track

from tests.proofs.killing import killed_during
from tests.proofs.site import Site

FACTS = 500
LONGEST_WORK_SECONDS = 1.0
KILLS_BETWEEN_FULL_CHECKS = 10

_UNTOLD = (
    "SELECT count(*) FROM memories_fact f WHERE {}"
    " AND NOT EXISTS (SELECT 1 FROM tenants_auditevent a WHERE a.target_id = f.id AND a.action = '{}')"
)
# What one transaction does to a memory: half of it is a torn collection.
TORN = {
    "evicted and not told of": _UNTOLD.format("f.status = 'evicted'", "fact.evicted"),
    "archived and not told of": _UNTOLD.format("f.archived_at IS NOT NULL", "fact.archived"),
    "doubted and not told of": _UNTOLD.format("f.status = 'stale'", "fact.stale"),
    "told of and not archived": "SELECT count(*) FROM tenants_auditevent a JOIN memories_fact f ON f.id = a.target_id"
    " WHERE a.action = 'fact.archived' AND f.archived_at IS NULL",
    "told of and not erased": "SELECT count(*) FROM tenants_auditevent a JOIN memories_fact f ON f.id = a.target_id"
    " WHERE a.action = 'fact.forgotten'",
    "erased and still told of": "SELECT count(*) FROM tenants_auditevent a JOIN tenants_auditpayload p"
    " ON p.event_id = a.id WHERE p.document LIKE '%Erased%' AND EXISTS (SELECT 1 FROM tenants_auditevent e"
    " WHERE e.target_id = a.target_id AND e.action = 'fact.forgotten')",
}
# The collection has begun to commit.
BEGUN = (
    "SELECT count(*) FROM tenants_auditevent WHERE action IN ('fact.archived', 'fact.stale', 'fact.forgotten')"
    " AND created_at > ?"
)


def test_a_collection_survives_kill_9(tmp_path: Path, kills: int) -> None:
    chance = random.Random(kills)
    interrupted = 0
    with Site(tmp_path) as site:
        for number in track(range(1, kills + 1), description="kills"):
            if not due(site):
                site.run("-m", "tests.proofs.overdue", str(FACTS))
            interrupted += killed_during(site, ["gc", "--apply"], BEGUN, chance, LONGEST_WORK_SECONDS)
            assert not site.count(TORN), f"kill {number}"
            if number % KILLS_BETWEEN_FULL_CHECKS == 0 or number == kills:
                site.manage("verify_audit")
                site.manage("verify_chains")
        site.manage("gc", "--apply")
        assert not due(site)
        assert not site.count(TORN)
        site.manage("verify_chains")
        site.manage("index", "drain")
        site.check_index()
    assert interrupted, "every collection had ended before it was killed: the proof proves nothing"


def due(site: Site) -> int:
    """How many memories the collection would decide about."""
    return len(json.loads(site.manage("gc", "--dry-run", "--json"))["decisions"])
