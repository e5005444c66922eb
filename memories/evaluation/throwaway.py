"""A place to measure in: another process of this project, with a database and an index folder of its own.

Invariant: the database and the index files that this process is configured with are neither read nor written. With
Elasticsearch the indices are shared: the measured members are strangers there, and what they stored is removed again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from memories.errors import MemoriesError


class MeasurementFailed(MemoriesError):
    """The measuring process ended without an answer; its message says why."""


def measure(arguments: Sequence[str]) -> str:
    """Run `python -m memories.evaluation` with these arguments; return what it printed.

    Its progress and its errors go to standard error. Raises MeasurementFailed.
    """
    with tempfile.TemporaryDirectory(prefix="memoryhub-evaluation-") as folder:
        finished = subprocess.run(  # noqa: S603 - our own module with our own arguments, no shell
            [sys.executable, "-m", "memories.evaluation", *arguments],
            cwd=settings.BASE_DIR,
            env=_environment(Path(folder)),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if finished.returncode:
        raise MeasurementFailed("Nothing was measured.")
    return finished.stdout


def _environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORYHUB_", "DATABASE_"))}
    return inherited | {
        "DJANGO_SETTINGS_MODULE": "memoryhub.settings",
        "DATABASE_URL": f"sqlite:///{folder / 'evaluation.sqlite3'}",
        "MEMORYHUB_DATA_DIR": str(folder),
        "MEMORYHUB_JOBS": "off",
        "MEMORYHUB_SEARCH": settings.MEMORYHUB_SEARCH,
    }
