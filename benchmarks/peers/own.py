"""`python -m benchmarks.peers.own TASK RESULT`: what memoryhub costs, on SQLite and the embedded search plane.

Measured through the services, on the same texts as the peers (`worker`). A write is a durable `remember_fact`; the
processor time of a write has the delivery to the search index in it, which follows in the background.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - after the set-up

from benchmarks.measures import disk_megabytes, resident_megabytes, timed, times_of  # noqa: E402
from benchmarks.population import DRAIN_BATCH, TURNS_PER_SESSION, make_owner  # noqa: E402
from memories.recall import recording  # noqa: E402
from memories.recall.pipeline import recall  # noqa: E402
from memories.search.outbox import drain  # noqa: E402
from memories.services.facts.remember import remember_fact  # noqa: E402
from memories.services.sessions.episodes import EpisodeDraft, remember_episodes  # noqa: E402
from memories.services.sessions.sessions import start_session  # noqa: E402


def main() -> int:
    """Measure and write the result."""
    task = json.loads(Path(sys.argv[1]).read_text())
    call_command("migrate", verbosity=0)
    Path(sys.argv[2]).write_text(json.dumps(costs(task["load"], task["limit"], Path(task["folder"]))))
    return 0


def costs(load: dict[str, Any], limit: int, folder: Path) -> dict[str, Any]:
    """Time writes to an owner of many memories, and recalls of these."""
    owner, before = make_owner(), load["before"]
    empty = disk_megabytes(folder)
    for first in range(0, len(before), TURNS_PER_SESSION):
        drafts = [EpisodeDraft(text) for text in before[first : first + TURNS_PER_SESSION]]
        remember_episodes(owner, session_id=start_session(owner).pk, drafts=drafts)
    _deliver()
    core = time.process_time()
    writes = [timed(lambda text: remember_fact(owner, text=text), text) for text in load["timed"]]
    _deliver()
    core = time.process_time() - core
    recalls = []
    for question in load["questions"]:
        recalls.append(timed(lambda text: recall(owner, text, limit=limit), question))
        recording.flush()
    return {
        "write": asdict(times_of(writes[load["warm_up"] :])),
        "recall": asdict(times_of(recalls[load["warm_up"] :])),
        "core_ms": core * 1000 / len(writes),
        "resident_mb": resident_megabytes()[0],
        "disk_mb": disk_megabytes(folder) - empty,
    }


def _deliver() -> None:
    while drain(limit=DRAIN_BATCH).delivered:
        pass


if __name__ == "__main__":
    sys.exit(main())
