"""`python -m benchmarks.streams`: streams of many members at once, against a model that speaks 50 words a second.

A server of its own (SQLite in a temporary folder, or the empty PostgreSQL `--database`) answers a turn of each of
`--streams` members, begun over `--begun` seconds, and then new ones until `--minutes` have passed. Printed are the
times to the first text over the model's own, streams that broke off, `/livez` meanwhile, the memory of the web
processes, the processor time of a turn, and how long it takes until nothing is left of clients that all vanish at once.
The model runs in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import use_sqlite
from tests.ports import free_port
from tests.talking_model import TalkingModel

_ROOT = Path(__file__).resolve().parents[1]
BOUND_SECONDS, LIVE_SECONDS, VANISHED_SECONDS = 1.0, 0.5, 5.0
# Turns that a client sends one after the other wait so long between two.
_PAUSE_SECONDS = 1.0


@dataclass(slots=True)
class Measured:
    """The seconds to the first text and of each `/livez`, and the megabytes of the web processes, in order."""

    first: list[float] = field(default_factory=list)
    live: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    answered: int = 0
    refused: list[str] = field(default_factory=list)


def main() -> int:
    """Measure and print; the exit status is 1 beyond a bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument("--streams", type=int, default=200, help="members, each with a stream (default: %(default)s)")
    parser.add_argument("--begun", type=float, default=10.0, help="seconds in which they begin (default: %(default)s)")
    parser.add_argument("--words", type=int, default=600, help="of each answer (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=0.0, help="go on for so long (default: one turn each)")
    parser.add_argument("--memories", type=int, default=20, help="of each member (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="web processes (default: %(default)s)")
    parser.add_argument("--database", default="", help="DATABASE_URL of an empty PostgreSQL database, else SQLite")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder, TalkingModel().running() as model:
        use_sqlite(
            folder,
            MEMORYHUB_JOBS="off",
            MEMORYHUB_MODEL="m",
            OPENAI_BASE_URL=model.base_url,
            OPENAI_API_KEY="k",
            MEMORYHUB_CONNECTIONS=str(4 * options.streams + 100),
            MEMORYHUB_CONNECTIONS_PER_ADDRESS=str(4 * options.streams + 100),
        )
        os.environ["DATABASE_URL"] = options.database
        model.words = options.words
        tokens = _populated(options.streams, options.memories)
        port = free_port()
        with _server(port, options.workers) as server:
            return asyncio.run(_measure(port, server, tokens, model, options))


def _populated(members: int, memories: int) -> list[str]:
    """A token of each member; ten to a tenant."""
    import django  # noqa: PLC0415 - after the environment is set

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    from benchmarks.texts import Writer  # noqa: PLC0415
    from memories.search.outbox import drain  # noqa: PLC0415
    from memories.services.facts.remember import remember_fact  # noqa: PLC0415
    from memoryhub.db.scope import WideRole, acting_as  # noqa: PLC0415
    from tenants.principal import ALL_RIGHTS  # noqa: PLC0415
    from tenants.principals import system_principal  # noqa: PLC0415
    from tenants.services import add_member, create_tenant, create_user, issue_token  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    writer, tokens = Writer(7919), []
    with acting_as(WideRole.JOBS):
        tenants = [create_tenant(name=f"Bench {n}", slug=f"bench-{n}") for n in range(-(-members // 10))]
        for number in range(members):
            user = create_user(username=f"bench{number}", display_name=f"Bench {number}")
            membership = add_member(tenant=tenants[number // 10], user=user)
            for _ in range(memories):
                remember_fact(system_principal(membership), text=writer.fact())
            tokens.append(issue_token(membership, name="bench", scopes=ALL_RIGHTS)[1])
        while drain(limit=256).delivered:
            pass
    return tokens


@contextmanager
def _server(port: int, workers: int) -> Iterator[int]:
    """A server; gives its process."""
    command = [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", str(workers)]
    process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own command
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


async def _measure(
    port: int, server: int, tokens: Sequence[str], model: TalkingModel, options: argparse.Namespace
) -> int:
    await _until(lambda: _live(port))
    for token in tokens[:4]:  # warm up
        await _turn(port, token, "Hello. +3", Measured())
    seen, done = Measured(), asyncio.Event()
    watch = asyncio.create_task(_watch(port, server, seen, done))
    ends = time.monotonic() + options.minutes * 60
    core = _core_seconds(server)

    async def member(number: int, token: str) -> None:
        await asyncio.sleep(options.begun * number / len(tokens))
        while True:
            await _turn(port, token, "What did I say about the train to Oslo?", seen)
            if time.monotonic() > ends:
                return
            await asyncio.sleep(_PAUSE_SECONDS)

    await asyncio.gather(*(member(number, token) for number, token in enumerate(tokens)))
    core = _core_seconds(server) - core
    done.set()
    await watch
    vanished = await _vanish(port, tokens, model)

    over = [first - 1 / model.rate for first in seen.first]
    tenths = seen.megabytes[:: max(1, len(seen.megabytes) // 10)]
    turns = max(1, len(over))
    sys.stdout.write(
        f"{options.streams} streams begun over {options.begun:g} s, {options.words} words at {model.rate:g} a second,"
        f" {options.workers} processes: {seen.answered} answered, {len(seen.refused)} not {sorted(set(seen.refused))}\n"
        f"first text over the model's own: p50 {_quantile(over, 50):.2f} s, p95 {_quantile(over, 95):.2f} s,"
        f" most {max(over, default=0):.2f} s\n"
        f"/livez: p50 {_quantile(seen.live, 50):.3f} s, p99 {_quantile(seen.live, 99):.3f} s,"
        f" most {max(seen.live):.3f} s ({len(seen.live)})\n"
        f"core: {core / turns * 1000:.0f} ms a turn, {core / max(1, turns * options.words) * 1e6:.0f} us a word\n"
        f"memory, MB: {', '.join(f'{each:.0f}' for each in tenths)}\n"
        f"all vanish: model free after {vanished[0]:.1f} s, all turns stored after {vanished[1]:.1f} s\n"
    )
    well = _quantile(over, 95) <= BOUND_SECONDS and not seen.refused and max(vanished) <= VANISHED_SECONDS
    return 0 if well and _quantile(seen.live, 99) <= LIVE_SECONDS else 1


async def _turn(port: int, token: str, message: str, seen: Measured, *, leave: asyncio.Event | None = None) -> None:
    """Send a message and read the stream to its end; with `leave`, hang up once it is set."""
    began = time.monotonic()
    body = json.dumps({"message": message}).encode()
    head = (
        f"POST /api/v1/turns/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
        f"Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    last = b"no connection"
    with suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + body)
        is_first = True
        while line := await reader.readline():
            if line.startswith(b"event: "):
                last = line[7:].strip()
            elif line.startswith(b"HTTP/1.1 ") and b" 200 " not in line:
                last = line.strip()
            if is_first and last == b"text_delta":
                is_first = False
                seen.first.append(time.monotonic() - began)
                if leave is not None:
                    await leave.wait()
                    break
        writer.close()
    if last == b"turn_finished":
        seen.answered += 1
    elif leave is None:
        seen.refused.append(last.decode(errors="replace"))


async def _vanish(port: int, tokens: Sequence[str], model: TalkingModel) -> tuple[float, float]:
    """Let all clients hang up in mid-stream; the seconds until the model is free, and until all are stored."""
    seen, leave = Measured(), asyncio.Event()
    turns = [asyncio.create_task(_turn(port, token, "Tell me all. +9999", seen, leave=leave)) for token in tokens]
    await _until(lambda: _seen(len(seen.first) == sum(not turn.done() for turn in turns)))
    before = await asyncio.to_thread(_cut_off)
    began = time.monotonic()
    leave.set()
    await _until(lambda: _seen(model.speaking == 0))
    free = time.monotonic() - began
    await asyncio.gather(*turns)
    while await asyncio.to_thread(_cut_off) < before + len(seen.first):
        pass
    return free, time.monotonic() - began


async def _until(holds: Callable[[], Awaitable[object]]) -> None:
    while not await holds():  # noqa: ASYNC110 - of other processes and threads
        await asyncio.sleep(0.05)


async def _seen(holds: bool) -> bool:  # noqa: FBT001 - what `_until` takes
    return holds


def _cut_off() -> int:
    """The answers that are stored as cut off."""
    from memories.models import Message, MessageState  # noqa: PLC0415 - after Django's set-up
    from memoryhub.db.scope import WideRole, acting_as  # noqa: PLC0415

    with acting_as(WideRole.JOBS):
        return Message.objects.unscoped("those of every member are counted").filter(state=MessageState.CUT_OFF).count()


async def _watch(port: int, server: int, seen: Measured, done: asyncio.Event) -> None:
    """Ask `/livez` and look at the memory until all is done."""
    while not done.is_set():
        seen.live.append(await _live(port) or 60.0)
        seen.megabytes.append(sum(map(_resident, _processes(server))) / 1e6)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.25):
                await done.wait()


async def _live(port: int) -> float | None:
    """The seconds that `/livez` takes, or None if it does not answer."""
    began = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return None
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return time.monotonic() - began if b" 200 " in answer[:20] else None


def _processes(server: int) -> list[int]:
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    return [server, *map(int, children)]


def _resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _core_seconds(server: int) -> float:
    """The processor time of all its processes."""
    stats = [Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in _processes(server)]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def _quantile(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1] if len(values) > 1 else max(values, default=0.0)


if __name__ == "__main__":
    sys.exit(main())
