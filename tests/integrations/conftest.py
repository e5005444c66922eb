"""A running site, and clients for members of whom nothing is known. The site has an environment of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from memoryhub_client import Client, Retries
from tests.ports import free_port
from tests.proofs.site import ROOT, Site

SCOPES = ("memory:read", "memory:write", "memory:decide")
KEY_NAME = "integrations"


class Product(Site):
    """A site that runs in the environment of the product, also if this is another one."""

    python = str(ROOT / ".venv" / "bin" / "python") if (ROOT / ".venv").exists() else sys.executable


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A running site."""
    with Product(tmp_path_factory.mktemp("site")) as site:
        site.start()
        yield site


@pytest.fixture(scope="session")
def url(site: Site) -> str:
    """The address of the site."""
    return f"http://127.0.0.1:{site.port}"


@pytest.fixture(scope="session")
def key(site: Site) -> str:
    """A backend key."""
    tenant = site.manage("tenant", "create", "integrations").strip()
    return site.manage("token", "create", "--tenant", tenant, "--name", KEY_NAME, "--scopes", *SCOPES).strip()


@pytest.fixture
def user() -> str:
    """A member of whom nothing is known yet."""
    return f"user-{uuid4().hex}"


@pytest.fixture
def client(url: str, key: str, user: str) -> Iterator[Client]:
    """A client of this member."""
    with Client(url, token=key, user_id=user) as client:
        yield client


@pytest.fixture(params=["no server", 429, 503])
def unanswered(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client whose server is away, or answers with this status."""
    transport = None
    if isinstance(status := request.param, int):
        transport = httpx.MockTransport(lambda _: httpx.Response(status))
    address = f"http://127.0.0.1:{free_port()}"
    with Client(address, token="mh_test", retries=Retries(most=0), transport=transport) as client:
        yield client


@pytest.fixture
def requests_seen() -> list[str]:
    """The bodies of the requests that `listened` answered."""
    return []


@pytest.fixture
def listened(requests_seen: list[str]) -> Iterator[Client]:
    """A client whose server answers 503 and keeps what it was sent."""

    def answer(request: httpx.Request) -> httpx.Response:
        requests_seen.append(request.content.decode())
        return httpx.Response(503)

    with Client(
        "http://memoryhub.test", token="mh_test", retries=Retries(most=0), transport=httpx.MockTransport(answer)
    ) as client:
        yield client
