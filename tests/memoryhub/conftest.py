"""A fixture with a running server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.migrated import Migrated
from tests.proofs.site import Site


@pytest.fixture
def site(tmp_path: Path, django_db_setup: None, _migrated: Migrated | None) -> Iterator[Site]:
    """A running site that logs in JSON."""
    site = Site(tmp_path, {"MEMORYHUB_LOG_FORMAT": "json"})
    if _migrated is not None:
        _migrated.give(site.database)
    with site:
        site.start()
        yield site
