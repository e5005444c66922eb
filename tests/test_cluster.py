"""Tests of the Elasticsearch fixtures: a real, secured node, and tests that do not affect each other."""

from __future__ import annotations

import pytest
from django.conf import settings
from elasticsearch import AuthenticationException, Elasticsearch

from memories.search.elasticsearch import indices
from memories.types import Kind
from memoryhub.elasticsearch import Identity, reading_alias, reading_aliases, service_client
from tests.cluster import Cluster
from tests.elasticsearch_node.distribution import VERSION
from tests.parts import ON_ELASTICSEARCH


def test_the_cluster_is_elasticsearch_with_security(elasticsearch: Cluster) -> None:
    assert elasticsearch.address.version() >= VERSION
    with Elasticsearch(elasticsearch.address.url) as stranger, pytest.raises(AuthenticationException):
        stranger.info()


@pytest.mark.parametrize("attempt", range(2))
def test_each_test_begins_with_empty_indices(elasticsearch: Cluster, attempt: int) -> None:
    service_client(Identity.SETUP).index(index=reading_alias("episodic"), document={"id": "1"}, refresh=True)

    found = service_client(Identity.CHECKER).search(index=",".join(reading_aliases()))

    assert found["hits"]["total"]["value"] == 1


@pytest.mark.parametrize("attempt", range(2))
def test_and_with_the_indices_that_belong_there(elasticsearch: Cluster, attempt: int) -> None:
    before = indices.targets(service_client(Identity.MANAGER), Kind)
    service_client(Identity.SETUP).indices.delete(index=",".join(before[Kind.EPISODIC]))

    assert {kind: len(indices) for kind, indices in before.items()} == dict.fromkeys(Kind, 1)


@pytest.mark.skipif(ON_ELASTICSEARCH, reason="all tests of this run search Elasticsearch")
def test_other_tests_do_not_search_the_cluster(cluster: Cluster) -> None:
    assert settings.MEMORYHUB_SEARCH == "embedded"
