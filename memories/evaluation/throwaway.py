"""A measuring process of its own, with a throwaway database and index folder.

It neither reads nor writes the configured database and index files. On Elasticsearch the indices are shared: the
measured members are new there, and their documents are removed again.
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
