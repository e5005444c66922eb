"""In production no service identity may be able to do everything; a cluster that is away is only said to be."""

from __future__ import annotations

import socket

import pytest
from celery import signals
from pytest_django import Settings

from tenants.search_keys.identities import identities_are_limited
from tests.cluster import Cluster


def said() -> list[str | None]:
    """The ids of what the check reports."""
    return [message.id for message in identities_are_limited(None)]


@pytest.fixture
def production(elasticsearch: Cluster, settings: Settings) -> None:
    """As where memoryhub serves: without the administrator."""
    settings.PRODUCTION = True
    settings.ELASTICSEARCH_CREDENTIALS = settings.ELASTICSEARCH_CREDENTIALS | {"setup": ""}


def test_identities_as_setup_makes_them_are_fine(production: None) -> None:
    assert said() == []


def test_no_worker_starts_with_a_superuser(elasticsearch: Cluster, production: None, settings: Settings) -> None:
    settings.ENVIRONMENT_PROBLEMS = ()
    settings.MEMORYHUB_BROKER_URL = "redis://127.0.0.1:1/0"
    signals.celeryd_init.send(sender="worker")
    credentials = {**settings.ELASTICSEARCH_CREDENTIALS, "checker": elasticsearch.address.credential}
    settings.ELASTICSEARCH_CREDENTIALS = credentials
    with pytest.raises(SystemExit, match="ELASTICSEARCH_CHECKER is a superuser") as refused:
        signals.celeryd_init.send(sender="worker")
    assert elasticsearch.address.credential.partition(":")[2] not in str(refused.value)


@pytest.mark.parametrize("identity", ["indexer", "minter", "manager", "checker"])
def test_a_superuser_is_an_error(elasticsearch: Cluster, production: None, settings: Settings, identity: str) -> None:
    credentials = settings.ELASTICSEARCH_CREDENTIALS
    settings.ELASTICSEARCH_CREDENTIALS = credentials | {identity: elasticsearch.address.credential}
    assert said() == ["tenants.E001"]
    settings.PRODUCTION = False
    assert said() == []


def test_a_wrong_password_is_a_warning_that_does_not_repeat_it(production: None, settings: Settings) -> None:
    settings.ELASTICSEARCH_CREDENTIALS = settings.ELASTICSEARCH_CREDENTIALS | {"indexer": "somebody:a-wrong-password"}
    (message,) = identities_are_limited(None)
    assert message.id == "tenants.W002"
    assert "a-wrong-password" not in str(message)


def test_a_cluster_that_is_away_is_one_warning(production: None, settings: Settings) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        settings.ELASTICSEARCH_URLS = (f"http://127.0.0.1:{listener.getsockname()[1]}",)
        assert said() == ["tenants.W001"]


def test_the_embedded_plane_has_nothing_to_check(settings: Settings) -> None:
    settings.PRODUCTION, settings.MEMORYHUB_SEARCH = True, "embedded"
    assert said() == []
