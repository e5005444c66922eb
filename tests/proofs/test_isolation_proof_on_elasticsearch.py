"""The isolation proof at real counts on Elasticsearch and PostgreSQL. A file of its own runs in a lane of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.proofs.real_site import RealSite, real_parts
from tests.proofs.site import Site
from tests.proofs.test_isolation_proof import test_nothing_leaks

__all__ = ["test_nothing_leaks"]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site on PostgreSQL, Elasticsearch and Redis."""
    with real_parts() as parts, RealSite(tmp_path_factory.mktemp("real"), parts) as site:
        yield site
