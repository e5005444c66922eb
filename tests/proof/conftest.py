"""Fixtures that break a guard, which `prove_isolation` must detect, and that reduce the size of the proof.

The search guard is the file for each owner on the embedded plane; on Elasticsearch it is the query in each key and the
filter of each sub-query. The database guard is the owner filter of the load step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memories.models import MEMORY_MODELS
from memories.models.base import MemoryQuerySet
from memories.recall import candidates, loading
from memories.recall.request import Request
from memories.search.elasticsearch import queries
from memories.search.embedded import plane
from memories.types import Kind, Owner
from memoryhub.db.postgresql import base
from memoryhub.db.scope import WideRole
from proof import building, run
from proof.attack import Attack
from proof.attacks import attacks_on
from tenants.principal import Principal
from tenants.search_keys import cluster
from tenants.search_keys.cluster import SEARCH_ACTIONS

Break = Callable[[], None]


@pytest.fixture
def fuzz(pytestconfig: pytest.Config) -> int:
    """The number of attempts of the long proof."""
    return int(pytestconfig.getoption("--fuzz"))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Create two companies instead of three."""
    monkeypatch.setattr(building, "COMPANIES", 2)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that reduces a proof to the attacks whose names begin so."""

    def reduce_to(prefix: str) -> None:
        def attacks(plane: str) -> list[Attack]:
            return [each for each in attacks_on(plane) if each.name.startswith(prefix)]

        monkeypatch.setattr(run, "attacks_on", attacks)

    return reduce_to


@pytest.fixture
def smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Create one company."""
    monkeypatch.setattr(building, "COMPANIES", 1)


@pytest.fixture
def no_load_filter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Break]:
    """A function that makes recall load every given id."""

    def everything(_principal: Principal, kind: Kind, _request: Request) -> MemoryQuerySet[Any]:
        return MEMORY_MODELS[kind].objects.unscoped("a build without the owner filter")

    def remove() -> None:
        for module in (candidates, loading, loading):
            monkeypatch.setattr(module, "visible_rows", everything)
        loading._compiled.cache_clear()

    yield remove
    loading._compiled.cache_clear()


@pytest.fixture
def no_row_security(monkeypatch: pytest.MonkeyPatch) -> Break:
    """A function that lets every statement see all rows, as the wider role of jobs."""
    return lambda: monkeypatch.setattr(base, "current_scope", lambda: WideRole.JOBS)


@pytest.fixture
def one_file_for_all(monkeypatch: pytest.MonkeyPatch) -> Break:
    """A function that makes all owners share one file of the embedded plane."""

    def path_of(root: Path, _owner: Owner) -> Path:
        return root / "everybody.sqlite3"

    return lambda: monkeypatch.setattr(plane, "path_of", path_of)


@pytest.fixture
def no_query_in_keys(monkeypatch: pytest.MonkeyPatch) -> Break:
    """A function that lets members' keys search all documents."""

    def unlimited(aliases: tuple[str, ...], **_: object) -> dict[str, Any]:
        entries = [{"names": [alias], "privileges": list(SEARCH_ACTIONS)} for alias in aliases]
        return {"member": {"cluster": [], "indices": entries}}

    def remove() -> None:
        monkeypatch.setattr(cluster, "member_descriptors", unlimited)
        monkeypatch.setattr(cluster, "require_limited", lambda *_: None)

    return remove


@pytest.fixture
def no_filter_in_searches(monkeypatch: pytest.MonkeyPatch) -> Break:
    """A function that removes the owner filter from searches, so that only the key limits them."""

    def owners(_principal: Principal, _kind: Kind) -> Iterator[list[dict[str, Any]]]:
        yield [{"match_all": {}}]

    return lambda: monkeypatch.setattr(queries, "_owners", owners)
