"""Elasticsearch for a test run: one node for all workers, on which each worker has its own prefix and identities.

A worker touches only objects with its prefix; after each test its indices are empty again.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.test import override_settings
from elasticsearch import Elasticsearch

from memories.search.elasticsearch import indices
from memories.search.elasticsearch.queries import INDEX_NAMES
from memoryhub.elasticsearch import Identity, index_pattern, reading_alias, service_client, writing_alias
from tenants.search_keys import identities
from tenants.search_keys.cluster import SERVICES, role_name
from tests.elasticsearch_node.node import Address, Node

PAGE = 5_000
RUN = "MEMORYHUB_TEST_RUN"  # the process id of the run, which the workers inherit
MEMORY = Path("/dev/shm")  # noqa: S108 - the run creates its own folder in it
MEMORY_BYTES = 2 * 2**30
# Timeouts of two seconds that suit users; a healthy node may need longer while tests run.
_SHORT = (
    "memories.search.elasticsearch.plane.HEALTH_SECONDS",
    "memoryhub.elasticsearch.SEARCH_SECONDS",
    "tenants.search_keys.identities.CHECK_SECONDS",
    "tenants.search_keys.cluster.MINT_SECONDS",
)
_PATIENCE_SECONDS = 20.0
GIVEN = ("ELASTICSEARCH_URL", "ELASTICSEARCH_SETUP")


def given_address() -> Address | None:
    """The node that the environment names, or None."""
    url, credential = (os.environ.get(name, "") for name in GIVEN)
    return Address(url, credential) if url and credential else None


def node_of_run() -> Node:
    """The node of this test run, stored in memory if there is room, since its data ends with the run."""
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).total >= MEMORY_BYTES
    folder = MEMORY if roomy else Path(tempfile.gettempdir())
    return Node(folder / f"memoryhub-elasticsearch-{os.environ[RUN]}")


def start_node_of_run() -> Address:
    """Start the node unless it is running; it ends with the run. Raises CannotBuild, DidNotStart."""
    return node_of_run().start(live_as_long_as=int(os.environ[RUN]), short_lived=True)


def be_patient(patch: pytest.MonkeyPatch) -> None:
    """Lengthen the timeouts of `_SHORT`; tests of a hanging node set their own."""
    for name in _SHORT:
        patch.setattr(name, _PATIENCE_SECONDS)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A node, and a worker's names on it."""

    address: Address
    prefix: str
    passwords: dict[Identity, str] = field(repr=False)

    @classmethod
    def at(cls, address: Address) -> Cluster:
        """A cluster with a random prefix and random passwords."""
        return cls(
            address, f"test-{secrets.token_hex(4)}", {identity: secrets.token_urlsafe(16) for identity in SERVICES}
        )

    @property
    def settings(self) -> dict[str, object]:
        """Django settings that make memoryhub search this cluster."""
        credentials = {one.value: f"{self.prefix}-{one}:{password}" for one, password in self.passwords.items()}
        return {
            "MEMORYHUB_SEARCH": "elasticsearch",
            "ELASTICSEARCH_URLS": (self.address.url,),
            "ELASTICSEARCH_CA_CERTS": "",
            "ELASTICSEARCH_PREFIX": self.prefix,
            "ELASTICSEARCH_ARCHIVE_POLICY": "",
            "ELASTICSEARCH_CREDENTIALS": {**credentials, Identity.SETUP.value: self.address.credential},
        }

    @property
    def environ(self) -> dict[str, str]:
        """Environment variables for processes that a test starts."""
        credentials = {f"ELASTICSEARCH_{one.name}": f"{self.prefix}-{one}:{self.passwords[one]}" for one in SERVICES}
        return {"ELASTICSEARCH_URL": self.address.url, "ELASTICSEARCH_PREFIX": self.prefix, **credentials}


def set_up(cluster: Cluster) -> None:
    """Create identities, templates and empty indices.

    Except `tear_down`, the functions below use the current settings.
    """
    with override_settings(**cluster.settings):
        identities.setup()
        indices.install(service_client(Identity.MANAGER))
        renew_indices()


def renew_indices() -> None:
    """Replace each index by a new, empty one."""
    manager = service_client(Identity.MANAGER)
    for index_name in INDEX_NAMES:
        indices.drop(manager, indices.point(manager, index_name, indices.new_index(manager, index_name)))


def written() -> dict[str, int]:
    """The number of changes per index, a cheap way to find out whether a test wrote anything."""
    manager = service_client(Identity.MANAGER)
    statistics = manager.indices.stats(index=index_pattern(), metric="indexing", filter_path="indices.*.total.indexing")
    totals = {name: each["total"]["indexing"] for name, each in statistics.get("indices", {}).items()}
    return {name: total["index_total"] + total["delete_total"] for name, total in totals.items()}


def leave_empty(before: dict[str, int]) -> None:
    """Empty the indices after a test; `before` is the result of `written` at its start."""
    after = written()
    if after == before:
        return
    # Deleting few documents takes a tenth of the time of new indices, but aliases or indices may have changed, too.
    if after.keys() == before.keys() and _aliases() == {name: _both_aliases(name) for name in after}:
        _remove_documents()
    else:
        renew_indices()


def _aliases() -> dict[str, set[str]]:
    found = service_client(Identity.MANAGER).indices.get_alias(index=index_pattern(), expand_wildcards="all")
    return {index: set(described["aliases"]) for index, described in found.items()}


def _both_aliases(index: str) -> set[str]:
    index_name = index.removeprefix(index_pattern().removesuffix("*")).split("-")[0]
    return {reading_alias(index_name), writing_alias(index_name)}


def _remove_documents() -> None:
    root = service_client(Identity.SETUP)
    root.indices.refresh(index=index_pattern())
    while hits := root.search(index=index_pattern(), size=PAGE, source=False)["hits"]["hits"]:
        doomed = [{"delete": {"_index": hit["_index"], "_id": hit["_id"]}} for hit in hits]
        root.bulk(operations=doomed, refresh=True)


def tear_down(cluster: Cluster) -> None:
    """Remove all objects with the prefix from a node that keeps running."""
    with override_settings(**cluster.settings):
        root: Elasticsearch = service_client(Identity.SETUP)
        for index in root.indices.get(index=index_pattern(), expand_wildcards="all"):
            root.indices.delete(index=index)
        root.indices.delete_index_template(name=index_pattern())
        root.security.invalidate_api_key(username=f"{cluster.prefix}-{Identity.MINTER}")
        for identity in cluster.passwords:
            root.security.delete_user(username=f"{cluster.prefix}-{identity}")
            root.security.delete_role(name=role_name(identity))
