"""`python -m tests.browser.pictures FOLDER`: a picture of every page of staff, of a demo with something on each.

What a page is comes from the table of the isolation tests, so a page that is added is pictured as well. Most pictures
are 1440 pixels wide and light; some pages are also taken dark, and on a phone. `ONLY=history_chain,index` takes a few.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import django
import pytest


def main() -> int:
    """Seed, serve, take the pictures; the exit status."""
    if len(sys.argv) != 2:
        sys.stderr.write(str(__doc__))
        return 2
    with tempfile.TemporaryDirectory(prefix="memoryhub-pictures-") as data:
        os.environ.update(DJANGO_SETTINGS_MODULE="memoryhub.settings", MEMORYHUB_DATA_DIR=data, MEMORYHUB_JOBS="off")
        # Playwright keeps an event loop in this thread, in which Django would refuse the database.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        django.setup()
        # Only now can models be imported.
        import_module("tests.unguarded").pass_tests(pytest.MonkeyPatch())
        import_module("tests.browser.photographing").photograph(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
