"""OAuth clients: documents at an address of their own, registrations, and addresses that codes are sent to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from tenants.models import OAuthClient
from tenants.oauth.clients import (
    DOCUMENT_BYTES,
    FETCHES,
    MAX_REDIRECTS,
    checked_redirect,
    client_of,
    form_source,
    host_of,
    register_client,
)
from tenants.oauth.protocol import OAuthError
from tests.receiver import Handler, Receiver, drip, receiving, status

pytestmark = pytest.mark.django_db

CALLBACK = "http://localhost/callback"
Describe = Callable[..., str]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A site of clients on this machine, which may be reached."""
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    with receiving() as running:
        yield running


@pytest.fixture
def describe(receiver: Receiver) -> Describe:
    """`describe(**changes)` publishes a document; its address."""

    def described(**changes: Any) -> str:
        address = f"{receiver.url.rstrip('/')}/client.json"
        document = {"client_id": address, "client_name": "Claude Code", "redirect_uris": [CALLBACK], **changes}

        def answer(handler: Handler) -> None:
            body = json.dumps(document).encode()
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        receiver.document = answer
        return address

    return described


def refusal(client_id: str, who: str = "Ada") -> OAuthError:
    with pytest.raises(OAuthError) as raised:
        client_of(client_id, asked_by=who)
    return raised.value


def registered(*addresses: object, **more: object) -> OAuthClient:
    return register_client({"redirect_uris": [*addresses], **more}, address="192.0.2.1")


def test_a_document_describes_a_client_and_is_fetched_once_an_hour(describe: Describe, receiver: Receiver) -> None:
    address = describe()
    client = client_of(address, asked_by="Ada")
    assert (client.name, client.redirect_uris) == ("Claude Code", [CALLBACK])
    assert client_of(address, asked_by="Eve") == client
    assert len(receiver.got) == 1
    OAuthClient.objects.update(checked_at=timezone.now() - timedelta(hours=2))
    describe(client_name="Claude")
    assert client_of(address, asked_by="Ada").name == "Claude"
    assert len(receiver.got) == 2 and OAuthClient.objects.count() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "http://127.0.0.1/other.json"},
        {"redirect_uris": []},
        {"redirect_uris": ["https://a.example/"] * (MAX_REDIRECTS + 1)},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"client_name": ["Claude"]},
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"client_uri": "x" * DOCUMENT_BYTES},
    ],
    ids=lambda each: next(iter(each)),
)
def test_a_bad_document_is_no_client(describe: Describe, changes: dict[str, Any]) -> None:
    refusal(describe(**changes))
    assert not OAuthClient.objects.exists()


@pytest.mark.parametrize("answer", [status(404), status(302, Location="http://127.0.0.1/"), drip])
def test_what_is_no_document_is_no_client(
    describe: Describe, receiver: Receiver, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenants.oauth.clients.DOCUMENT_SECONDS", 0.3)
    address = describe()
    receiver.document = answer
    assert "could not be read" in str(refusal(address))


@pytest.mark.parametrize(
    "client_id",
    ["https://127.0.0.1/c.json", "https://169.254.169.254/latest", "https://[::1]/c.json", "http://a.example/c.json",
     "https://a.example", "https://a.example/", "https://a.example/c?x=1", "https://a.example/../c", "file:///etc/c",
     ""],
)  # fmt: skip
def test_an_address_that_no_document_may_have_is_not_asked(client_id: str) -> None:
    assert refusal(client_id).code == "invalid_client"


def test_a_name_of_a_private_address_is_not_asked_and_only_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "tenants.oauth.clients")
    receiver.document = status(404)
    missing = refusal(f"{receiver.url.rstrip('/')}/s3cret.json")
    monkeypatch.setattr("memoryhub.outgoing._resolved", lambda *_: ["10.0.0.1"])
    assert str(refusal("https://inside.example/s3cret.json")) == str(missing)
    assert "inside.example could not be read: refused-address" in caplog.text and "status-404" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_member_does_not_have_many_documents_fetched(receiver: Receiver) -> None:
    refusals = [refusal(f"{receiver.url.rstrip('/')}/{number}.json") for number in range(FETCHES + 1)]
    assert [each.status for each in refusals] == [400] * FETCHES + [429]
    assert refusal(f"{receiver.url.rstrip('/')}/0.json", who="Eve").status == 400


@pytest.mark.parametrize(
    "address",
    ["http://a.example/cb", "https://a.example/cb#part", "https://me@a.example/", "https:///cb", "javascript:alert(1)",
     "data:text/html,x", "/cb", "cb", "https://a.example/ü", "https://a.example/\n", "https://a.example;x/", 7, None,
     "https://a.example/" + "x" * 500, "ms-msdt:/id", "search-ms:query=x", "microsoft-edge:https://a.example/",
     "ssh://a.example/", "telnet://a.example/", "magnet:?xt=x", "app:/cb"],
)  # fmt: skip
def test_no_code_is_sent_there(address: object) -> None:
    with pytest.raises(OAuthError) as raised:
        registered(address)
    assert raised.value.code == "invalid_redirect_uri"


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ("https://a.example/cb", "https://a.example/cb/"),
        ("https://a.example/cb", "https://a.example/cb?x=1"),
        ("https://a.example/cb", "https://a.example:8443/cb"),
        ("http://localhost/cb", "http://127.0.0.1:1234/cb"),
        ("http://localhost/cb", "https://localhost:1234/cb"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb"),
    ],
)
def test_another_address_is_not_the_client_s(known: str, wanted: str) -> None:
    with pytest.raises(OAuthError):
        checked_redirect(registered(known), wanted)


def test_an_address_of_before_that_would_be_refused_now_gets_no_code() -> None:
    client = registered("https://a.example/cb")
    client.redirect_uris = ["ms-msdt:/id"]
    with pytest.raises(OAuthError):
        checked_redirect(client, "ms-msdt:/id")


@pytest.mark.parametrize(
    ("address", "host", "source"),
    [
        ("https://claude.ai/api/mcp/auth_callback", "claude.ai", "https://claude.ai"),
        ("http://127.0.0.1:3118/callback", "a program on your computer", "http://127.0.0.1:3118"),
        ("http://[::1]:3118/callback", "a program on your computer", "http:"),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "the app that opens cursor: links", "cursor:"),
        ("vscode-insiders://x/cb", "the app that opens vscode-insiders: links", "vscode-insiders:"),
        ("com.example.app:/callback", "the app that opens com.example.app: links", "com.example.app:"),
    ],
)
def test_a_member_sees_who_gets_the_code(address: str, host: str, source: str) -> None:
    assert checked_redirect(registered(address), address) == address
    assert (host_of(address), form_source(address)) == (host, source)


def test_a_name_shows_as_it_is() -> None:
    name = "Cl\u202eaude\x00\u200b \n" + "x" * 99
    assert registered("https://a.example/", client_name=name).name == ("Claude " + "x" * 99)[:60]


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("::ffff:192.0.2.7", "::ffff:192.0.2.8", False),
        ("192.0.2.7", "192.0.2.8", False),
    ],
)
def test_registrations_are_limited_by_ipv4_address_and_by_64_bits_of_an_ipv6_one(
    monkeypatch: pytest.MonkeyPatch, first: str, second: str, together: bool
) -> None:
    monkeypatch.setattr("tenants.oauth.clients.REGISTRATIONS", 1)
    metadata = {"redirect_uris": [CALLBACK]}
    register_client(metadata, address=first)
    with pytest.raises(OAuthError) if together else nullcontext():
        register_client(metadata, address=second)


@pytest.mark.parametrize("metadata", [None, [], "x", {}, {"redirect_uris": "https://a.example/"}])
def test_a_registration_without_addresses_is_refused(metadata: object) -> None:
    with pytest.raises(OAuthError):
        register_client(metadata, address="192.0.2.1")
    assert not OAuthClient.objects.exists()
