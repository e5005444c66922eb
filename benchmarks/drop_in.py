"""`python -m benchmarks.drop_in`: a model's API with and without memoryhub before it.

A model's API runs in this process, and a server of its own (SQLite in a temporary folder) passes requests on to it.
Both are asked what `llm-comply` (PyPI) and, with `--canary` and its folder, `compatcanary` (npm) say of them, which
must be the same. Printed are also the times to the first byte of a stream: of the model's API alone, and through a
drop-in with the memory off, with a recall among `--memories`, and with storing besides, each with what it adds; and the
time of such a recall by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.model_api import KEY, ModelApi
from tests.proofs.site import Site

FORMATS = ("openai-chat", "open-responses", "anthropic")
PROFILES = ("chat", "modern")
_LIMITS = "token_turns=100000,member_turns=100000,token_writes=100000,member_writes=100000"


def main() -> int:
    """Compare and measure; the exit status is 1 if a suite says another thing of the drop-in."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drop_in", description=__doc__)
    parser.add_argument("--requests", type=int, default=200, help="for each time (default: %(default)s)")
    parser.add_argument("--memories", type=int, default=100, help="of the member (default: %(default)s)")
    parser.add_argument("--canary", type=Path, help="the folder in which `npm install compatcanary` ran")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder, ModelApi().running() as api:
        upstream = {"OPENAI_BASE_URL": f"{api.url}/v1", "OPENAI_API_KEY": KEY, "MEMORYHUB_LIMITS": _LIMITS}
        upstream |= {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY, "MEMORYHUB_SHARED_UPSTREAM": "true"}
        with Site(Path(folder), upstream) as site:
            token = site.people(1)[0].token
            site.start()
            ours = f"http://127.0.0.1:{site.port}"
            same = [_compare(name, command, (api.url, KEY), (ours, token)) for name, command in _suites(options.canary)]
            with httpx.Client(base_url=ours, headers={"Authorization": f"Bearer {token}"}) as client:
                for number in range(options.memories):
                    fact = {"text": f"Boat number {number} lies in the harbour of Bristol."}
                    client.post("/api/v1/memories/", json=fact).raise_for_status()
            _measure((api.url, KEY), (ours, token), options.requests)
            site.stop()
    return 0 if all(same) else 1


def _suites(canary: Path | None) -> list[tuple[str, list[str]]]:
    comply = [sys.executable, "-m", "llm_comply.cli", "--json", "-m", "first", "-u", "{url}/v1", "-k", "{key}"]
    found = [(f"llm-comply {each}", [*comply, "--format", each]) for each in FORMATS]
    if canary is not None:
        scan = [str(canary / "node_modules/.bin/compatcanary"), "scan", "--base-url", "{url}/v1", "--model", "first"]
        found += [(f"compatcanary {each}", [*scan, "--profile", each]) for each in PROFILES]
    return found


def _compare(name: str, command: Sequence[str], *ends: tuple[str, str]) -> bool:
    said = [_said(command, url, key) for url, key in ends]
    sys.stdout.write(f"{name}: {said[0][0]} without, {said[1][0]} with\n")
    if said[0] != said[1]:
        sys.stdout.write(f"  without: {said[0][1]}\n  with:    {said[1][1]}\n")
    return said[0] == said[1]


def _said(command: Sequence[str], url: str, key: str) -> tuple[str, Any]:
    """The score, and the verdict of each test."""
    filled = [each.format(url=url, key=key) for each in command]
    environ = {**os.environ, "OPENAI_API_KEY": key}
    ran = subprocess.run(filled, capture_output=True, text=True, env=environ, check=False, timeout=300)  # noqa: S603
    start = ran.stdout.find("{")
    try:
        told = json.loads(ran.stdout[start:])
    except ValueError:
        lines = [line for line in ran.stdout.splitlines() if "ms" not in line and url not in line]
        return next((line.strip() for line in lines if "/" in line), f"exit {ran.returncode}"), lines
    verdicts = {each["id"]: each["status"] for each in told["results"]}
    return f"{told['summary']['passed']} of {told['summary']['total']}", verdicts


def _measure(alone: tuple[str, str], ours: tuple[str, str], count: int) -> None:
    modes = {"alone": alone, "off": ours, "read": ours, "full": ours}
    seconds: dict[str, list[float]] = {mode: [] for mode in (*modes, "recall")}
    with httpx.Client(timeout=60) as client:
        for number in range(count):
            asked = f"Where does boat number {number} lie?"
            for mode, (url, key) in modes.items():
                body: dict[str, Any] = {"model": "first", "stream": True}
                body["messages"] = [{"role": "user", "content": asked}]
                body |= {"memory": mode} if mode != "alone" else {}
                seconds[mode].append(_first_byte(client, f"{url}/v1/chat/completions", key, body))
            url, key = ours
            seconds["recall"].append(_first_byte(client, f"{url}/api/v1/context/", key, {"query": asked}))
    floor = _quantiles(seconds.pop("alone"))
    sys.stdout.write(f"first byte, the model's API alone: {_shown(floor)}\n")
    sys.stdout.write(f"a recall by itself (POST /context/): {_shown(_quantiles(seconds.pop('recall')))}\n")
    for mode, each in seconds.items():
        found = _quantiles(each)
        added = (over - least for over, least in zip(found, floor, strict=True))
        sys.stdout.write(f"first byte, memory {mode}: {_shown(found)}; added {_shown(added)}\n")


def _quantiles(seconds: list[float]) -> tuple[float, float]:
    return statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]


def _shown(quantiles: Iterable[float]) -> str:
    return ", ".join(f"{name} {each * 1000:.1f} ms" for name, each in zip(("p50", "p95"), quantiles, strict=True))


def _first_byte(client: httpx.Client, url: str, key: str, body: dict[str, Any]) -> float:
    began = time.perf_counter()
    with client.stream("POST", url, json=body, headers={"Authorization": f"Bearer {key}"}) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        took = time.perf_counter() - began
        for _ in pieces:
            pass
    return took


if __name__ == "__main__":
    sys.exit(main())
