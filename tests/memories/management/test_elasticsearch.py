"""`manage.py elasticsearch`: an empty cluster made ready, as often as one likes, and checked."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import override_settings
from pytest_django import Settings

from memories.models import CatalogEntry
from memories.types import Kind, Scope
from memoryhub.elasticsearch import Identity, index_pattern, reading_aliases, service_client
from tenants.search_keys.cluster import SERVICES
from tenants.search_keys.identities import check
from tests import cluster as clusters
from tests.cluster import Cluster


@pytest.fixture
def unknown(elasticsearch: Cluster, settings: Settings) -> Cluster:
    """Names and passwords for an installation of which the cluster knows nothing yet."""
    fresh = Cluster.at(elasticsearch.address)
    for name, value in fresh.settings.items():
        setattr(settings, name, value)
    return fresh


@pytest.fixture
def empty_cluster(unknown: Cluster) -> Iterator[Cluster]:
    """The same, for a test that sets it up."""
    yield unknown
    with override_settings(**unknown.settings):
        clusters.tear_down(unknown)


def ran(*arguments: str) -> tuple[str, int]:
    """What the command said, and its exit code."""
    out = StringIO()
    try:
        call_command("elasticsearch", *arguments, stdout=out)
    except SystemExit as end:
        return out.getvalue(), int(end.code or 0)
    return out.getvalue(), 0


def test_setup_makes_an_empty_cluster_ready_and_again_changes_nothing(db: None, empty_cluster: Cluster) -> None:
    said, _ = ran("setup")
    assert said.count(": made") == len(reading_aliases())
    assert said.count(": up to date") == 2 * len(SERVICES)
    assert not [password for password in empty_cluster.passwords.values() if password in said]
    assert all(report.ok for report in check())
    manager = service_client(Identity.MANAGER)
    indices = sorted(manager.indices.get(index=index_pattern()))
    again, _ = ran("setup")
    assert ": made" not in again
    assert sorted(manager.indices.get(index=index_pattern())) == indices


def test_setup_changes_a_password(db: None, empty_cluster: Cluster, settings: Settings) -> None:
    ran("setup")
    user, password = f"{empty_cluster.prefix}-checker", secrets.token_urlsafe(16)
    settings.ELASTICSEARCH_CREDENTIALS = settings.ELASTICSEARCH_CREDENTIALS | {"checker": f"{user}:{password}"}
    assert "does not know this user" in ran("check")[0]
    ran("setup")
    assert ran("check")[1] == 0


def test_check_says_what_is_as_it_should_be(db: None, elasticsearch: Cluster) -> None:
    said, code = ran("check")
    assert code == 0 and said.count("as it should be") == len(SERVICES) + 1
    answer = json.loads(ran("check", "--json")[0])
    assert answer["ok"] and answer["cluster"] == []


def test_check_fails_for_an_identity_that_can_do_everything(
    db: None, elasticsearch: Cluster, settings: Settings
) -> None:
    credentials = settings.ELASTICSEARCH_CREDENTIALS
    settings.ELASTICSEARCH_CREDENTIALS = credentials | {"indexer": credentials["setup"]}
    said, code = ran("check", "--json")
    found = {row["identity"]: row["problems"] for row in json.loads(said)["identities"]}
    assert code == 1 and found["indexer"] == ["It is a superuser."]
    assert elasticsearch.address.credential.partition(":")[2] not in said


@pytest.mark.parametrize("action", ["setup", "check"])
def test_a_cluster_that_is_away_is_one_sentence(
    db: None, elasticsearch: Cluster, settings: Settings, action: str
) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        settings.ELASTICSEARCH_URLS = (f"http://127.0.0.1:{listener.getsockname()[1]}",)
        with pytest.raises(CommandError, match=r"^The search cluster does not answer\. No connection: .*URL"):
            ran(action)


def test_a_cluster_without_tls_asked_for_it_is_told_apart(db: None, elasticsearch: Cluster, settings: Settings) -> None:
    settings.ELASTICSEARCH_URLS = tuple(url.replace("http:", "https:") for url in settings.ELASTICSEARCH_URLS)
    with pytest.raises(CommandError, match=r"TLS failed: .*ELASTICSEARCH_CA_CERTS"):
        ran("check")


def test_a_manager_that_is_not_known_is_named_once(db: None, elasticsearch: Cluster, settings: Settings) -> None:
    manager = settings.ELASTICSEARCH_CREDENTIALS["manager"].partition(":")[0]
    settings.ELASTICSEARCH_CREDENTIALS = settings.ELASTICSEARCH_CREDENTIALS | {"manager": f"{manager}:another one"}
    said, code = ran("check")
    assert code == 1 and said.count("does not know") == 1 and "searching with a member's key: as it should be" in said


def test_a_cluster_without_the_licence_is_refused_before_anything_is_made(
    db: None, unknown: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node can be downgraded for a test, so only what it says of its licence is made up."""
    basic: dict[str, Any] = {"license": {"type": "basic", "status": "active"}}
    monkeypatch.setattr("elasticsearch._sync.client.license.LicenseClient.get", lambda self: basic)
    with pytest.raises(CommandError, match=r"\(basic, active\) has no document-level security"):
        ran("setup")
    root = service_client(Identity.SETUP)
    assert f"{unknown.prefix}-indexer" not in root.security.get_role()


def test_setup_says_that_memories_have_to_be_indexed(db: None, empty_cluster: Cluster) -> None:
    CatalogEntry.objects.create(scope=Scope.GLOBAL, title="Opening hours", text="Nine to five", content_hash="1")
    assert "index rebuild" in ran("setup")[0]
    call_command("index", "rebuild", stdout=StringIO())
    assert "index rebuild" not in ran("setup")[0]


def test_setup_before_the_tables_are_made_says_so(
    db: None, empty_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CatalogEntry._meta, "db_table", "not_made_yet")
    monkeypatch.setattr("memories.search.elasticsearch.indices.MEMORY_MODELS", {Kind.CATALOG: CatalogEntry})
    with pytest.raises(CommandError, match=r"manage\.py migrate"), transaction.atomic():
        ran("setup")


def test_a_lifecycle_policy_that_the_cluster_does_not_have_is_named(
    db: None, empty_cluster: Cluster, settings: Settings
) -> None:
    """The node of the tests has no lifecycle management at all, which is one way not to have a policy."""
    settings.ELASTICSEARCH_ARCHIVE_POLICY = "cold-later"
    with pytest.raises(CommandError, match=r"no lifecycle policies; leave ELASTICSEARCH_ARCHIVE_POLICY empty"):
        ran("setup")
    said, code = ran("check", "--json")
    assert code == 1 and "ELASTICSEARCH_ARCHIVE_POLICY" in " ".join(json.loads(said)["cluster"])
    settings.ELASTICSEARCH_ARCHIVE_POLICY = ""
    assert "read_ilm" in ran("check")[0]
    ran("setup")
    assert ran("check")[1] == 0
