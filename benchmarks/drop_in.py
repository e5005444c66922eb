"""`python -m benchmarks.drop_in`: a model's API with and without memoryhub before it.

A model's API runs in this process, and a server of its own (SQLite in a temporary folder) passes requests on to it.
Printed are the times to the first byte of a stream: of the model's API alone, and through a drop-in with the memory
off, with a recall among `--memories`, and with storing besides, each with what it adds; and the time of such a recall
by itself.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx

from tests.model_api import KEY, ModelApi
from tests.proofs.site import Site

_LIMITS = "token_turns=100000,member_turns=100000,token_writes=100000,member_writes=100000"


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drop_in", description=__doc__)
    parser.add_argument("--requests", type=int, default=200, help="for each time (default: %(default)s)")
    parser.add_argument("--memories", type=int, default=100, help="of the member (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoryhub-bench-") as folder, ModelApi().running() as api:
        upstream = {"OPENAI_BASE_URL": f"{api.url}/v1", "OPENAI_API_KEY": KEY, "MEMORYHUB_LIMITS": _LIMITS}
        upstream |= {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY, "MEMORYHUB_SHARED_UPSTREAM": "true"}
        with Site(Path(folder), upstream) as site:
            token = site.people(1)[0].token
            site.start()
            ours = f"http://127.0.0.1:{site.port}"
            with httpx.Client(base_url=ours, headers={"Authorization": f"Bearer {token}"}) as client:
                for number in range(options.memories):
                    fact = {"text": f"Boat number {number} lies in the harbour of Bristol."}
                    client.post("/api/v1/memories/", json=fact).raise_for_status()
            _measure((api.url, KEY), (ours, token), options.requests)
            site.stop()
    return 0


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
