"""Requests to addresses that tenants name reach the public internet and nothing inside this network."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

import httpx
import pytest
from django.utils import translation
from pytest_django import Settings

from memoryhub.outgoing import CheckedTransport, Unreachable, address_fault, may_reach, post
from tests.receiver import Handler, Receiver, drip, hang, huge, receiving, status

# fmt: off
PRIVATE = (
    "127.0.0.1", "127.8.9.1", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "100.100.100.200",
    "169.254.169.254", "168.63.129.16", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
    "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::",
    "2002:a00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
)
# fmt: on
PUBLIC = ("1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101")


@pytest.fixture
def local(settings: Settings) -> None:
    """Let this machine be reached."""
    settings.MEMORYHUB_WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)


@pytest.fixture
def receiver(local: None) -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def resolves_to(monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, ...]) -> list[str]:
    """Each look-up gives the next of these lists of addresses; returns the names that are looked up."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def found(host: str, port: int, *more: Any, **options: Any) -> Any:
        if host.startswith("127."):  # a socket asks for the parts of the address that it was given
            return real(host, port, *more, **options)
        addresses = answers[min(len(asked), len(answers) - 1)]
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return asked


def refusal(url: str, *, seconds: float = 2.0) -> str:
    with pytest.raises(Unreachable) as raised:
        post(url, b"{}", {}, seconds=seconds)
    return str(raised.value)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_not_reached(address: str) -> None:
    assert not may_reach(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_reached(address: str) -> None:
    assert may_reach(ip_address(address))


def test_a_network_of_the_setting_is_reached_and_no_other(local: None) -> None:
    assert may_reach(ip_address("127.0.0.1"), plain=True) and may_reach(ip_address("::ffff:127.0.0.1"))
    assert not may_reach(ip_address("10.0.0.1")) and not may_reach(ip_address("1.1.1.1"), plain=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "https://",
        "https:///path",
        "https://user:word@example.org/",
        "https://user@example.org/",
        "https://example.org/#part",
        "https://example.org:22/",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://exa mple.org/",
        "https://b\u00fccher.example/",
    ],
)
def test_an_address_that_is_never_called_is_refused_when_it_is_named(url: str) -> None:
    assert address_fault(url)


def test_a_refused_address_is_explained_in_the_language_of_the_page() -> None:
    with translation.override("es"):
        assert address_fault("ftp://example.org/") == "debe empezar por https://."
        assert address_fault("https://example.org:22/") == "debe indicar el puerto 443, o uno a partir del 1024."


@pytest.mark.parametrize("url", ["https://example.org/hook?a=b", "https://example.org:8443/", "https://1.1.1.1/"])
def test_a_public_address_may_be_named(url: str) -> None:
    assert address_fault(url) == ""


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::ffff:127.0.0.1"])
def test_a_name_of_a_private_address_is_not_called(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolves_to(monkeypatch, (address,))
    assert refusal("https://hooks.example.org/") == "refused-address"


def test_a_name_with_one_private_address_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    resolves_to(monkeypatch, ("1.1.1.1", "10.0.0.1"))
    assert refusal("https://hooks.example.org/") == "refused-address"


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost"])
def test_another_spelling_of_this_machine_is_not_called(host: str) -> None:
    assert refusal(f"https://{host}/") in {"refused-address", "unknown-host"}


def test_a_name_is_looked_up_once_and_the_checked_address_is_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = resolves_to(monkeypatch, ("127.0.0.1",), ("10.0.0.1",))
    url = receiver.url.replace("127.0.0.1", "hooks.example.org")
    assert post(url, b"{}", {"webhook-id": "1"}, seconds=2) == 204
    assert asked == ["hooks.example.org"]
    assert receiver.got[0].headers["host"].startswith("hooks.example.org:")


def test_a_redirect_is_not_followed(local: None) -> None:
    with receiving() as inside, receiving(status(307, Location=inside.url)) as outside:
        assert post(outside.url, b"{}", {}, seconds=2) == 307
        assert len(outside.got) == 1 and inside.got == []


def test_proxies_of_the_environment_are_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    assert post(receiver.url, b"{}", {}, seconds=2) == 204


@pytest.mark.parametrize("answer", [hang, drip])
def test_a_slow_answer_ends_at_the_deadline(local: None, answer: object) -> None:
    with receiving(answer) as slow:  # type: ignore[arg-type]  # both are answers
        begun = time.monotonic()
        assert refusal(slow.url, seconds=0.5) == "timeout"
        assert time.monotonic() - begun < 3


def test_a_huge_answer_is_not_read(local: None) -> None:
    with receiving(huge) as endless:
        begun = time.monotonic()
        assert post(endless.url, b"{}", {}, seconds=2) == 200
        assert time.monotonic() - begun < 1


def test_nobody_listening_is_no_connection(receiver: Receiver) -> None:
    with receiving() as gone:
        url = gone.url
    assert refusal(url) == "no-connection"


def test_an_unknown_name_is_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert refusal("https://hooks.example.org/") == "unknown-host"


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """No name is found until the test ends; the names of the threads that look them up."""
    ended, threads = threading.Event(), set[str]()

    def slow(*_: object, **__: object) -> None:
        threads.add(threading.current_thread().name)
        ended.wait(20)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    yield threads
    ended.set()


def test_a_slow_lookup_ends_at_the_deadline(slow_names: set[str]) -> None:
    begun = time.monotonic()
    assert refusal("https://hooks.example.org/", seconds=0.3) == "timeout"
    assert time.monotonic() - begun < 3


def test_slow_lookups_end_in_time_and_leave_the_loops_own_threads_free(slow_names: set[str]) -> None:
    async def many() -> list[Any]:
        timeout = httpx.Timeout(20, connect=0.3)
        transport = CheckedTransport(plain=False, limits=httpx.Limits())
        async with httpx.AsyncClient(transport=transport, timeout=timeout) as client:
            calls = (client.get(f"https://h{number}.example.org/") for number in range(40))
            return await asyncio.gather(*calls, return_exceptions=True)

    begun = time.monotonic()
    assert {type(each) for each in asyncio.run(many())} == {httpx.ConnectTimeout}
    assert time.monotonic() - begun < 5
    assert slow_names and all(each.startswith("lookup") for each in slow_names)


@pytest.mark.parametrize(("expiry", "connections"), [(0.05, 2), (60.0, 1)])
def test_an_idle_connection_is_kept_for_a_while(local: None, expiry: float, connections: int) -> None:
    ports = set[int]()

    def answer(handler: Handler) -> None:
        ports.add(handler.client_address[1])
        handler.protocol_version, handler.close_connection = "HTTP/1.1", False
        handler.send_response(200)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    async def twice(url: str) -> None:
        transport = CheckedTransport(plain=True, limits=httpx.Limits(keepalive_expiry=expiry))
        async with httpx.AsyncClient(transport=transport) as client:
            for _ in range(2):
                await client.post(url, content=b"{}")
                await asyncio.sleep(0.2)

    with receiving(answer) as running:
        asyncio.run(twice(running.url))
    assert len(ports) == connections
