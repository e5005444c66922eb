"""The official MCP client, which knows an address alone, and a member in Chromium who allows it."""

from __future__ import annotations

import asyncio
import threading
from queue import Queue
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from playwright.sync_api import expect
from pydantic import AnyUrl
from pytest_django.live_server_helper import LiveServer

from memories.services.facts.remember import remember_fact
from tenants.models import Membership
from tests.browser.conftest import OpenPage
from tests.browser.test_connecting import welcome
from tests.factories import make_membership, own_principal
from tests.receiver import receiving

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Storage:
    """Keeps what the client was given."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Program(threading.Thread):
    """The client in a thread: it gives the address of the consent, and takes the one that the browser came back to."""

    def __init__(self, site: str, callback: str, storage: Storage) -> None:
        super().__init__(daemon=True)
        self.asks: Queue[str] = Queue()
        self.answers: Queue[str] = Queue()
        self.found: Queue[Any] = Queue()
        metadata = OAuthClientMetadata(client_name="Official client", redirect_uris=[AnyUrl(callback)])
        self.auth = OAuthClientProvider(f"{site}/mcp", metadata, storage, self._asked, self._answered)
        self.address = f"{site}/mcp"

    async def _asked(self, address: str) -> None:
        self.asks.put(address)

    async def _answered(self) -> AuthorizationCodeResult:
        said = httpx2.URL(await asyncio.to_thread(self.answers.get, timeout=60)).params
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    def run(self) -> None:
        try:
            self.found.put(asyncio.run(self._listed()))
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.found.put(error)

    async def _listed(self) -> list[str]:
        async with (
            httpx2.AsyncClient(auth=self.auth, timeout=60) as http,
            Client(streamable_http_client(self.address, http_client=http)) as client,
        ):
            result = await client.call_tool("list", {})
            assert result.structured_content is not None
            return [each["text"] for each in result.structured_content["memories"]]


def listed(program: Program) -> list[str]:
    found = program.found.get(timeout=60)
    if isinstance(found, BaseException):
        raise found
    return list(found)


def test_it_finds_its_way_to_the_memory(open_page: OpenPage, live_server: LiveServer, member: Membership) -> None:
    remember_fact(own_principal(member), text="Mara sails on Thursdays")
    remember_fact(own_principal(make_membership(member.tenant)), text="Joel rows on Fridays")
    page, storage = open_page("/connect/"), Storage()
    with receiving() as receiver:
        receiver.document = welcome
        callback = f"{receiver.url.removesuffix('/hook')}/callback"
        program = Program(live_server.url, callback, storage)
        program.start()
        page.goto(program.asks.get(timeout=60))
        expect(page.get_by_role("heading", level=1)).to_have_text("Official client asks for access to your memory")
        page.get_by_role("button", name="Allow").click()
        page.wait_for_url(f"{callback}?*")
        program.answers.put(page.url)
        assert listed(program) == ["Mara sails on Thursdays"]
    assert storage.tokens is not None and storage.tokens.scope == "memory:read memory:write"
