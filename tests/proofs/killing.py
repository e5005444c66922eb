"""A command of a site that is killed while it works."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing

from tests.proofs.site import Site

PATIENCE_SECONDS = 60.0


def killed_during(site: Site, command: Sequence[str], begun: str, chance: random.Random, longest: float) -> bool:
    """Run a command, and kill it at most `longest` seconds after it began to commit; whether that was before its end.

    `begun` is a query that counts what was committed since a moment, its one parameter.
    """
    with closing(sqlite3.connect(site.database, timeout=30)) as database:
        began_at = database.execute("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')").fetchone()[0]
        working = site.spawn("manage.py", *command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while working.poll() is None and not database.execute(begun, (began_at,)).fetchone()[0]:
            assert time.monotonic() < deadline, f"{' '.join(command)} does not begin"
            time.sleep(0.005)
    time.sleep(chance.uniform(0.0, longest))
    alive = working.poll() is None
    if alive:
        os.killpg(working.pid, signal.SIGKILL)
    working.wait()
    return alive
