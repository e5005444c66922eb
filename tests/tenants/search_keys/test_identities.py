"""Each service identity can do its work at a real cluster, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from elasticsearch import Elasticsearch
from pytest_django import Settings

from memoryhub.elasticsearch import Identity, index_pattern, key_client, reading_alias, service_client, writing_alias
from tenants.models import Membership
from tenants.search_keys.cluster import rights_of, role_name
from tenants.search_keys.identities import ClusterUnreachable, ClusterUnready, check, describe, prove_search, setup
from tests.cluster import Cluster
from tests.tenants.search_keys.conftest import Away
from tests.tenants.search_keys.probing import key_of, put, root, status

Attempts = dict[str, Callable[[Elasticsearch, str, str], int]]

SEARCHES: Attempts = {
    "search": lambda client, index, id_: status(client.search, index=index),
    "count": lambda client, index, id_: status(client.count, index=index),
}
READS: Attempts = {
    "get": lambda client, index, id_: status(client.get, index=index, id=id_),
    "mget": lambda client, index, id_: status(client.mget, index=index, ids=[id_]),
    "term vectors": lambda client, index, id_: status(client.termvectors, index=index, id=id_),
    "explain": lambda client, index, id_: status(client.explain, index=index, id=id_, query={"match_all": {}}),
    "point in time": lambda client, index, id_: status(client.open_point_in_time, index=index, keep_alive="1s"),
    "update that answers": lambda client, index, id_: status(
        client.update, index=index, id=id_, doc={"status": "x"}, source=True
    ),
}
LAYOUT: Attempts = {
    "field caps": lambda client, index, id_: status(client.field_caps, index=index, fields="*"),
    "mapping": lambda client, index, id_: status(client.indices.get_mapping, index=index),
}
WRITES: Attempts = {
    "index": lambda client, index, id_: status(client.index, index=index, id=id_, document={"status": "x"}),
    "delete": lambda client, index, id_: status(client.delete, index=index, id=id_),
    "update": lambda client, index, id_: status(client.update, index=index, id=id_, doc={"status": "x"}),
}
ADMINISTRATION: Attempts = {
    "create": lambda client, index, id_: status(client.indices.create, index=f"{index}-x"),
    "delete an index": lambda client, index, id_: status(client.indices.delete, index=index),
    "change the mapping": lambda client, index, id_: status(
        client.indices.put_mapping, index=index, properties={"x": {"type": "keyword"}}
    ),
    "aliases": lambda client, index, id_: status(
        client.indices.update_aliases, actions=[{"add": {"index": index, "alias": f"{index}-y"}}]
    ),
    "template": lambda client, index, id_: status(client.indices.put_index_template, name="x", index_patterns=["x-*"]),
}
SECURITY: Attempts = {
    "users": lambda client, index, id_: status(client.security.get_user),
    "make a role": lambda client, index, id_: status(client.security.put_role, name="x", cluster=["all"]),
    "make a user": lambda client, index, id_: status(
        client.security.put_user, username="x", password="x" * 8, roles=[]
    ),
    "end all keys": lambda client, index, id_: status(client.security.invalidate_api_key, realm_name="default_file"),
}
KEYS: Attempts = {
    "make a key": lambda client, index, id_: status(client.security.create_api_key, name="x"),
    "read keys": lambda client, index, id_: status(client.security.get_api_key, id=id_),
}


def allowed(client: Elasticsearch, stored: tuple[str, str], attempts: Attempts) -> dict[str, int]:
    """Those attempts that the cluster did not forbid, and how it answered them."""
    answers = {name: attempt(client, *stored) for name, attempt in attempts.items()}
    return {name: answer for name, answer in answers.items() if answer != 403}


@pytest.fixture
def stored() -> tuple[str, str]:
    """An index with one document, of nobody who is here."""
    id_ = put("user", uuid4(), uuid4(), kind="semantic")
    (index,) = root().indices.get_alias(name=writing_alias("semantic"))
    return index, id_


def test_the_indexer_writes_and_nothing_else(stored: tuple[str, str]) -> None:
    attempts = SEARCHES | READS | ADMINISTRATION | SECURITY | KEYS
    assert not allowed(service_client(Identity.INDEXER), stored, attempts)


def test_the_minter_makes_keys_and_changes_nothing(stored: tuple[str, str]) -> None:
    attempts = SEARCHES | READS | LAYOUT | WRITES | ADMINISTRATION | SECURITY
    assert not allowed(service_client(Identity.MINTER), stored, attempts)


def test_the_manager_reads_and_writes_no_document(stored: tuple[str, str]) -> None:
    assert not allowed(service_client(Identity.MANAGER), stored, SEARCHES | READS | WRITES | SECURITY | KEYS)


def test_the_checker_searches_and_changes_nothing(stored: tuple[str, str]) -> None:
    attempts = READS | LAYOUT | WRITES | ADMINISTRATION | SECURITY | KEYS
    assert not allowed(service_client(Identity.CHECKER), stored, attempts)


def test_a_members_key_searches_and_does_nothing_else(membership: Membership, stored: tuple[str, str]) -> None:
    client, (index, id_) = key_client(key_of(membership)), stored
    attempts = READS | LAYOUT | WRITES | ADMINISTRATION | SECURITY
    assert not allowed(client, (index, id_), SEARCHES | attempts)
    assert not allowed(client, (reading_alias("semantic"), id_), attempts)


def test_a_members_key_counts_and_groups_its_own_documents(membership: Membership, stored: tuple[str, str]) -> None:
    own = put("user", membership.tenant_id, membership.user_id)
    client, alias = key_client(key_of(membership)), reading_alias("semantic")
    assert client.count(index=alias)["count"] == 1
    users = {"terms": {"field": "user", "min_doc_count": 0}}
    answer = client.search(index=alias, aggregations={"users": users}, scroll="10s", size=1)
    buckets = answer["aggregations"]["users"]["buckets"]
    assert [(bucket["key"], bucket["doc_count"]) for bucket in buckets] == [(str(membership.user_id), 1)]
    assert [hit["_id"] for hit in answer["hits"]["hits"]] == [own]
    assert status(client.scroll, scroll_id=answer["_scroll_id"]) == 403
    assert [hit["_id"] for hit in client.search(index=index_pattern())["hits"]["hits"]] == [own]


def test_no_identity_reaches_an_installation_whose_name_begins_as_ours(stored: tuple[str, str]) -> None:
    other, id_ = f"{index_pattern().removesuffix('*')}two-semantic", str(uuid4())
    root().indices.create(index=f"{other}-1", aliases={other: {}, f"{other}-writing": {}})
    try:
        root().index(index=other, id=id_, document={"text": "theirs"}, refresh=True)
        attempts = SEARCHES | READS | LAYOUT | WRITES | ADMINISTRATION
        attempts.pop("template")
        for identity in (Identity.INDEXER, Identity.MINTER, Identity.MANAGER, Identity.CHECKER):
            for name in (other, f"{other}-1", f"{other}-writing"):
                assert not allowed(service_client(identity), (name, id_), attempts), (identity, name)
    finally:
        root().indices.delete(index=f"{other}-1")


def test_the_indexer_can_do_its_work(stored: tuple[str, str]) -> None:
    indexer, (index, _) = service_client(Identity.INDEXER), stored
    id_ = str(uuid4())
    versioned = {"_index": index, "_id": id_, "version": 2, "version_type": "external"}
    document = {"id": id_, "visibility": "global"}
    assert not indexer.bulk(operations=[{"index": versioned}, document])["errors"]
    assert list(indexer.indices.get_alias(name=writing_alias("semantic"))) == [index]
    assert status(indexer.indices.refresh, index=f"{index_pattern()}-writing") == 200
    assert not indexer.bulk(operations=[{"delete": versioned | {"version": 3}}])["errors"]
    assert status(indexer.indices.forcemerge, index=index, only_expunge_deletes=True) == 200


def test_nothing_is_made_by_a_write_to_an_index_that_is_not_there(stored: tuple[str, str]) -> None:
    indexer = service_client(Identity.INDEXER)
    assert status(indexer.index, index=f"{reading_alias('semantic')}-new", id="1", document={}) in {403, 404}


def test_a_fresh_cluster_is_as_this_code_makes_it() -> None:
    assert all(report.ok for report in check())
    assert prove_search() == ""


@pytest.mark.parametrize(
    ("rights", "problem"),
    [
        pytest.param({"cluster": ["monitor"]}, "It has monitor on the cluster.", id="cluster"),
        pytest.param({"cluster": ["all"]}, "It is a superuser.", id="everything at the cluster"),
        pytest.param({"indices": [{"names": ["*"], "privileges": ["all"]}]}, "It is a superuser.", id="every index"),
        pytest.param(
            {"indices": [{"names": ["other", "third"], "privileges": ["read"]}]},
            "It has read on other, third.",
            id="more",
        ),
        pytest.param({"run_as": ["admin"]}, "It has rights of the kind run_as.", id="run as"),
    ],
)
def test_a_role_that_was_changed_by_hand_is_found(elasticsearch: Cluster, rights: dict[str, Any], problem: str) -> None:
    name, usual = role_name(Identity.INDEXER), rights_of(Identity.INDEXER).role
    try:
        root().security.put_role(name=name, **(usual | rights))
        assert problem.replace("PREFIX", elasticsearch.prefix) in describe(Identity.INDEXER).problems
    finally:
        root().security.put_role(name=name, **usual)


def test_setup_mends_and_is_safe_to_run_again(settings: Settings) -> None:
    root().security.put_role(name=role_name(Identity.CHECKER), cluster=["monitor"])
    changed = {**settings.ELASTICSEARCH_CREDENTIALS}
    user = changed["checker"].partition(":")[0]
    settings.ELASTICSEARCH_CREDENTIALS = changed | {"checker": f"{user}:another password"}
    assert not describe(Identity.CHECKER).ok
    assert setup() == setup()
    assert all(report.ok for report in check())
    settings.ELASTICSEARCH_CREDENTIALS = changed
    setup()


def test_an_api_key_may_be_an_identity_unless_it_is_unlimited(settings: Settings) -> None:
    before = settings.ELASTICSEARCH_CREDENTIALS
    for descriptors, ok in (({"checker": rights_of(Identity.CHECKER).role}, True), ({}, False)):
        key = root().security.create_api_key(name="x", role_descriptors=descriptors, expiration="1m")["encoded"]
        settings.ELASTICSEARCH_CREDENTIALS = before | {"checker": key}
        report = describe(Identity.CHECKER)
        assert (report.ok, report.is_superuser) == (ok, not ok)


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        pytest.param({"setup": ""}, "Set ELASTICSEARCH_SETUP", id="no administrator"),
        pytest.param({"setup": "admin:wrong"}, "does not know this user", id="wrong password"),
        pytest.param({"manager": ""}, "Set ELASTICSEARCH_MANAGER", id="no manager"),
        pytest.param({"manager": "manager:short"}, "8 characters", id="short password"),
        pytest.param({"manager": "same:password", "checker": "same:password"}, "a user of its own", id="one for two"),
        pytest.param({"manager": "elastic:password"}, "give another name", id="the cluster's own user"),
    ],
)
def test_setup_says_what_is_wrong_and_stops(settings: Settings, credentials: dict[str, str], message: str) -> None:
    settings.ELASTICSEARCH_CREDENTIALS = settings.ELASTICSEARCH_CREDENTIALS | credentials
    with pytest.raises(ClusterUnready, match=message) as refusal:
        setup()
    assert not [secret for secret in credentials.values() if secret and secret.partition(":")[2] in str(refusal.value)]


def test_a_cluster_that_is_away_is_said_to_be(away: Away) -> None:
    with away():
        for call in (setup, check):
            with pytest.raises(ClusterUnreachable, match="does not answer"):
                call()
        assert "does not answer" in prove_search()
