"""Nodes of a cluster of three are killed, cut off and restarted while people talk, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from tests.parts import eventually
from tests.proofs.real_site import Parts, RealSite, Three, real_parts
from tests.proofs.test_outages import CALM_SECONDS, RETURN_SECONDS, talking

# The cluster notices a lost node, promotes replicas and serves again.
FAILOVER_SECONDS = 60.0


@pytest.fixture(scope="module")
def parts() -> Iterator[Parts]:
    """PostgreSQL, Redis and three nodes of Elasticsearch."""
    with real_parts(Three) as made:
        yield made


@pytest.fixture(autouse=True)
def _whole(parts: Parts) -> None:
    """All nodes are back from the test before."""
    assert eventually(cast("Three", parts.cluster).is_green, seconds=RETURN_SECONDS)


def killed(cluster: Three, number: int) -> None:
    """A node loses power; two go on."""
    cluster.nodes.nodes[number].kill()


def wiped(cluster: Three, number: int) -> None:
    """A node is lost with its disk: its primary shards are, too."""
    cluster.nodes.nodes[number].wipe_data()


def cut_off(cluster: Three, number: int) -> None:
    """A node no longer reaches the others and goes on answering its clients."""
    cluster.nodes.isolate(number)


@pytest.mark.parametrize("fault", [killed, wiped, cut_off])
def test_the_node_with_the_primary_is_lost_under_load(
    site: RealSite, fault: Callable[[Three, int], None], outage: int
) -> None:
    cluster = cast("Three", site.parts.cluster)
    with talking(site) as life:
        number = cluster.holder(f"{site.prefix}-semantic")
        fault(cluster, number)
        try:
            assert eventually(life.is_healthy, seconds=FAILOVER_SECONDS), site.words()
            time.sleep(outage)
        finally:
            cluster.nodes.heal()
            cluster.start_node(number)
        life.is_whole_within(RETURN_SECONDS)
    assert eventually(cluster.is_green, seconds=RETURN_SECONDS)


def test_a_rolling_restart_is_not_noticed(site: RealSite) -> None:
    cluster = cast("Three", site.parts.cluster)
    with talking(site) as life:
        for number, node in enumerate(cluster.nodes.nodes):
            node.stop()
            time.sleep(CALM_SECONDS)
            cluster.start_node(number)
            assert eventually(cluster.is_green, seconds=RETURN_SECONDS), f"node {number}"
        life.is_whole_within(RETURN_SECONDS)
