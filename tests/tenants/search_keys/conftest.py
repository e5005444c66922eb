"""Keys are tested on a real cluster, and where it is away, on a port that refuses."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from pytest_django import Settings

from tenants.models import Membership, Tenant
from tenants.services import add_member, create_user
from tests.cluster import Cluster

# Inside, the cluster does not answer.
Away = Callable[[], AbstractContextManager[None]]
# Adds a new member (a username may be given) to a tenant, up to and including what follows the commit.
Joins = Callable[..., Membership]


@pytest.fixture(autouse=True)
def _on_elasticsearch(elasticsearch: Cluster) -> None:
    """Everything here is about a real cluster."""


@pytest.fixture
def away(settings: Settings) -> Away:
    """A context inside which nobody listens where the cluster should be."""

    @contextmanager
    def inside() -> Iterator[None]:
        before = settings.ELASTICSEARCH_URLS
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
            settings.ELASTICSEARCH_URLS = (f"http://127.0.0.1:{port}",)
            yield
        settings.ELASTICSEARCH_URLS = before

    return inside


@pytest.fixture
def joins(django_capture_on_commit_callbacks: Any) -> Joins:
    """Joins a member."""

    def join(tenant: Tenant, username: str = "new") -> Membership:
        with django_capture_on_commit_callbacks(execute=True):
            return add_member(tenant=tenant, user=create_user(username=username))

    return join
