"""`python -m benchmarks.mcp`: sessions of many members at once over MCP, each of which sees its own memories alone.

A server of its own (SQLite in a temporary folder) serves `--sessions` members for `--minutes`. Each has the official
client, every other one with the handshake of the protocol's first era, and remembers, recalls and lists in turns.
Printed are calls a second and the time of each kind of call. The exit status is 1 if anybody was shown what is not
theirs, or a call failed.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.proofs.site import Site

MODES = ("auto", "legacy")
# Of so many calls of a session, one remembers.
_EACH = 10


class Wrong(Exception):
    """A call failed, or showed what is not the member's."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp", description=__doc__)
    parser.add_argument("--sessions", type=int, default=50, help="members, each with a session (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder, Site(Path(folder)) as site:
        tokens = [person.token for person in site.people(options.sessions)]
        site.start()
        seconds, wrong = asyncio.run(_measure(f"http://127.0.0.1:{site.port}/mcp", tokens, options.minutes * 60))
        site.stop()
    calls = sum(map(len, seconds.values()))
    sys.stdout.write(
        f"{options.sessions} sessions, {options.minutes:g} minutes:"
        f" {calls} calls, {calls / options.minutes / 60:.1f} a second, {len(wrong)} sessions ended by a fault\n"
    )
    for name, each in sorted(seconds.items()):
        p95 = statistics.quantiles(each, n=20)[-1] if len(each) > 1 else each[0]
        sys.stdout.write(
            f"{name}: p50 {statistics.median(each) * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms ({len(each)})\n"
        )
    sys.stdout.writelines(f"{fault}\n" for fault in wrong)
    return 1 if wrong or not calls else 0


async def _measure(url: str, tokens: list[str], lasting: float) -> tuple[dict[str, list[float]], list[str]]:
    """The seconds of each call by its tool, and what went wrong."""
    seconds: dict[str, list[float]] = defaultdict(list)
    ends = time.monotonic() + lasting

    async def session(number: int, token: str) -> None:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=MODES[number % len(MODES)]) as client:
                await _live(client, number, ends, seconds)

    done = await asyncio.gather(*(session(*each) for each in enumerate(tokens)), return_exceptions=True)
    return seconds, [f"session {number}: {_cause(each)}" for number, each in enumerate(done) if each is not None]


def _cause(error: BaseException) -> str:
    """The first error within the groups of the client's tasks."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def _live(client: Client, number: int, ends: float, seconds: dict[str, list[float]]) -> None:
    """Call the tools until the time is over. Raises Wrong."""
    owner = f"of keeper number {number}."

    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        began = time.perf_counter()
        try:
            result = await client.call_tool(name, arguments)
        except MCPError as error:
            raise Wrong(f"{name}: {error}") from error
        seconds[name].append(time.perf_counter() - began)
        if result.is_error or result.structured_content is None:
            raise Wrong(f"{name}: {result.content}")
        return dict(result.structured_content)

    calls = 0
    while not calls or time.monotonic() < ends:
        if calls % _EACH == 0:
            await call("remember", text=f"Hive {calls} stands in the orchard {owner}")
        elif calls % 2:
            _own(await call("recall", query="Which hives stand in the orchard?"), owner)
        else:
            _own(await call("list"), owner)
        calls += 1


def _own(found: dict[str, Any], owner: str) -> None:
    texts = [each["text"] for each in found["memories"]]
    if not texts or not all(text.endswith(owner) for text in texts):
        raise Wrong(f"shown to the member {owner} {texts}")


if __name__ == "__main__":
    sys.exit(main())
