"""Events of the audit trail in an archive, and taking their digests again there: pure, without a database.

`audit_events.jsonl` has a line for each event: the columns of its digest as the digest has them, the digest, and the
payload with its salt (null: erased). Invariant: what `event_line` writes is enough to take every digest again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tenants.audit_digest import DIGESTED_COLUMNS, GENESIS, canonical_json, event_digest, payload_digest

EVENTS_FILE = "audit_events.jsonl"


@dataclass(slots=True)
class ChainPart:
    """What an archive has of a chain: `events` from `first` to `last`, and how the chain stood then."""

    chain: str
    first: int
    last: int
    events: int
    length: int = 0
    digest: str = ""


class BadEvent(Exception):
    """An event whose digests do not fit; the message names it and says no word of what it holds."""


def event_line(columns: Mapping[str, Any], payload: tuple[str, str] | None) -> bytes:
    """The line of an event. `columns`: those of its digest and `digest`; `payload`: salt and document."""
    line = {name: columns[name] for name in (*DIGESTED_COLUMNS, "digest")}
    line["payload"] = {"salt": payload[0], "document": payload[1]} if payload else None
    return canonical_json(line).encode() + b"\n"


class ChainParts:
    """What has passed of each chain."""

    def __init__(self) -> None:
        self.parts: dict[str, ChainPart] = {}

    def count(self, chain: str, sequence: int) -> None:
        """Note that an event has passed."""
        part = self.parts.setdefault(chain, ChainPart(chain, sequence, sequence, 0))
        part.first, part.last = min(part.first, sequence), max(part.last, sequence)
        part.events += 1

    def told(self) -> list[dict[str, Any]]:
        """For the manifest, by name."""
        return [asdict(self.parts[name]) for name in sorted(self.parts)]


def check_events(lines: Iterable[bytes], chains: Iterable[Mapping[str, Any]]) -> int:
    """Take all digests again and compare them with each other and with the heads that the manifest names.

    Neighbours must follow from each other; between others nothing was claimed. Returns how many events there were.
    Raises BadEvent with the first that is wrong.
    """
    told = {chain["chain"]: chain for chain in chains}
    found = ChainParts()
    before: dict[str, tuple[int, str]] = {}
    count = 0
    for event in _events(lines):
        chain, sequence = str(event["chain"]), int(event["sequence"])
        found.count(chain, sequence)
        _check(event, before.get(chain), told.get(chain))
        before[chain] = (sequence, str(event["digest"]))
        count += 1
    for name in sorted(told.keys() | found.parts.keys()):
        _compare(name, told.get(name), found.parts.get(name))
    return count


def _events(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or not {*DIGESTED_COLUMNS, "digest", "payload"} <= event.keys():
            raise BadEvent(f"line {number} is no event.")
        yield event


def _check(event: Mapping[str, Any], before: tuple[int, str] | None, told: Mapping[str, Any] | None) -> None:
    payload = event["payload"]
    if event_digest(event) != event["digest"]:
        raise _bad(event, "the event was changed")
    if payload is not None and payload_digest(payload["salt"], payload["document"]) != event["payload_digest"]:
        raise _bad(event, "the payload was changed")
    previous = GENESIS if event["sequence"] == 1 else None
    if before is not None and before[0] + 1 == event["sequence"]:
        previous = before[1]
    if previous is not None and event["previous_digest"] != previous:
        raise _bad(event, "the event does not follow from the one before")
    if told and event["sequence"] == told["length"] and event["digest"] != told["digest"]:
        raise _bad(event, "the head of the chain does not match this event")


def _compare(name: str, told: Mapping[str, Any] | None, found: ChainPart | None) -> None:
    if told and not told["events"] and found is None:
        return
    if told is None or found is None or (found.first, found.last, found.events) != (
        told["first"], told["last"], told["events"],
    ):  # fmt: skip
        raise BadEvent(f"the events of chain {name} are not those that the manifest names.")
    if found.last > told["length"]:
        raise BadEvent(f"chain {name} has events beyond its head.")


def _bad(event: Mapping[str, Any], what: str) -> BadEvent:
    return BadEvent(f"event {event['sequence']} of chain {event['chain']} (id {event['id']}): {what}.")
