"""Anchors: hourly statements of the length and digest of every chain that grew, by which missing chains are found.

An anchor is an event of the chain `anchors` (`anchoring.py` makes them). It goes to a line of the log and, if
MEMORYHUB_ANCHOR_FILE is set, to that file, with a signature that needs no database. Whoever removes a chain with its
head, or puts an old state of a chain back, contradicts an anchor. The database's own anchors can be put back as well:
those in the file cannot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from memoryhub.signing.keyed import is_digest_of
from tenants.audit.digests import canonical_json, columns_of, fault_of, sealed_in
from tenants.models import AuditEvent

ANCHORS, ANCHORED = "anchors", "audit.anchored"
SEAL = "anchor"
"""The purpose of the keyed digest of a line of the anchor file."""


@dataclass(frozen=True, slots=True)
class Anchored:
    """The length and last digest of a chain as an anchor of time `when` (ISO 8601) states them."""

    length: int
    digest: str
    when: str


def anchored() -> dict[str, Anchored]:
    """The latest position of each chain that the anchors state, of the database and the file."""
    known: dict[str, Anchored] = {}
    for when, heads in (*_in_database(), *_in_file()):
        for chain, length, digest in heads:
            if chain not in known or length >= known[chain].length:
                known[chain] = Anchored(length, digest, when)
    return known


def anchored_at(chain: str, *, newest: int | None = None) -> Anchored | None:
    """The latest position of one chain in the anchors; `newest` limits the search to that many of the database's."""
    rows = anchors().reverse()
    if newest is not None and (first := rows[newest - 1 : newest].values_list("sequence", flat=True)):
        rows = rows.filter(sequence__gte=first[0])
    named = rows.filter(payload__document__contains=f'"{chain}"')[:1]
    stated = [*_read(named), *(_in_file() if newest is None else ())]
    found = [(when, *head[1:]) for when, heads in stated for head in heads if head[0] == chain]
    if not found:
        return None
    when, length, digest = max(found, key=lambda each: each[1])
    return Anchored(length, digest, when)


def file_faults() -> list[str]:
    """Sentences about lines of the anchor file that are missing, changed, or not in the database."""
    if settings.MEMORYHUB_ANCHOR_FILE is None:
        return []
    stored = dict(anchors().values_list("sequence", "digest"))
    found, expected = [], 1
    for number, line in enumerate(lines_of_file(), start=1):
        stated = line.get("anchor") if _is_ours(line) else None
        if stated is None:
            found.append(f"Line {number} of the anchor file was changed.")
        elif stated["sequence"] != expected:
            found.append(f"Line {number} of the anchor file is not anchor {expected}.")
        elif stored.get(expected) != stated["digest"]:
            found.append(f"Anchor {expected} of {stated['at']} is in the anchor file, and not in the database.")
        expected += 1
    return found


def anchors() -> QuerySet[AuditEvent]:
    """The anchors of the database, in order."""
    return AuditEvent.objects.filter(chain=ANCHORS).order_by("sequence")


def _in_database() -> Iterator[tuple[str, list[Any]]]:
    return _read(anchors())


def _read(rows: QuerySet[AuditEvent]) -> Iterator[tuple[str, list[Any]]]:
    """The time and the heads of each anchor. A changed one is a fault of its chain, and accuses no other."""
    for event in _readable(rows.select_related("payload")):
        if sealed_in(event) and not fault_of(columns_of(event), sealed_in(event)):
            yield event.created_at.isoformat(timespec="seconds"), heads_of(event)


def _readable(rows: QuerySet[AuditEvent]) -> Iterator[AuditEvent]:
    """The events, without those that SQL gave a value that their column cannot have."""
    try:
        yield from rows.iterator(chunk_size=200)  # beginning anew may yield some twice, which states the same
    except (ValueError, TypeError):
        for sequence in rows.values_list("sequence", flat=True):
            with suppress(ValueError, TypeError):
                yield rows.get(sequence=sequence)


def heads_of(event: AuditEvent) -> list[Any]:
    """The chain, length and digest of each head that an anchor states."""
    return list((event.payload.data["after"] or {}).get("heads", ()))


def _in_file() -> Iterator[tuple[str, list[Any]]]:
    for line in lines_of_file():
        if _is_ours(line):
            yield line["anchor"]["at"], line["heads"]


def _is_ours(line: Mapping[str, Any]) -> bool:
    try:
        sealed = is_digest_of(line["seal"], SEAL, canonical_json(line["anchor"]))
        return sealed and line["anchor"]["heads_sha256"] == heads_digest(line["heads"])
    except (KeyError, TypeError):
        return False


def heads_digest(heads: list[Any]) -> str:
    """The sha256 of the heads that an anchor states."""
    return hashlib.sha256(canonical_json(heads).encode()).hexdigest()


def lines_of_file() -> Iterator[dict[str, Any]]:
    """The lines of the anchor file; one that is no JSON object is empty."""
    path = settings.MEMORYHUB_ANCHOR_FILE
    if path is None or not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            try:
                line = json.loads(text)
            except ValueError:
                line = {}
            yield line if isinstance(line, dict) else {}
