"""Anchors: hourly statements of the length and digest of every chain that grew, by which missing chains are found.

An anchor is an event of the chain `anchors`. It goes to a line of the log and, if MEMORYHUB_ANCHOR_FILE is set, to that
file, with a signature that is checked without the database. Whoever removes a chain with its head, or puts an old state
of a chain back, contradicts an anchor. An old state of the whole database holds its old anchors: only those in the log
and the file contradict it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from memoryhub.db.statements import in_statements
from memoryhub.signing import keys
from memoryhub.signing.keyed import is_digest_of, keyed_digest
from tenants.audit.chain import Chain, EventDraft, append_events
from tenants.audit.digests import canonical_json, columns_of, fault_of, seal_fault, sealed_in
from tenants.models import AuditEvent, AuditHead, Tenant
from tenants.principal import SYSTEM

log = logging.getLogger(__name__)

ANCHORS, ANCHORED = "anchors", "audit.anchored"
SEAL = "anchor"
"""The purpose of the keyed digest of a line of the anchor file."""
# The clocks of several machines differ, and a transaction commits after the times of its events.
_OVERLAP = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Anchored:
    """The length and last digest of a chain as an anchor of time `when` (ISO 8601) states them."""

    length: int
    digest: str
    when: str


def anchor() -> int:
    """Anchor the chains that grew since the last anchor; returns how many. The job `tenants.anchor`."""
    with transaction.atomic():
        last = anchors().last()
        heads = [head for head in _grown(last.created_at - _OVERLAP if last else None) if not seal_fault(head)]
        stated = [[head.chain, head.length, head.digest] for head in heads]
        draft = EventDraft(ANCHORED, after={"heads": stated})
        events = append_events(Chain(ANCHORS), [(SYSTEM, draft)] if stated else [])
    for event in events:
        line = _line(event, stated)
        log.info("Anchor of the audit log: %s %s", canonical_json(line["anchor"]), line["signature"])
    _append_to_file()
    return len(heads)


def anchored() -> dict[str, Anchored]:
    """The latest position of each chain that the anchors state, of the database and the file."""
    known: dict[str, Anchored] = {}
    for when, heads in (*_read(anchors()), *_in_file()):
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
    for number, line in enumerate(_lines_of_file(), start=1):
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


def _read(rows: QuerySet[AuditEvent]) -> Iterator[tuple[str, list[Any]]]:
    """The time and the heads of each anchor. A changed one is a fault of its chain, and accuses no other."""
    for event in _readable(rows.select_related("payload")):
        if sealed_in(event) and not fault_of(columns_of(event), sealed_in(event)):
            yield event.created_at.isoformat(timespec="seconds"), _heads_of(event)


def _readable(rows: QuerySet[AuditEvent]) -> Iterator[AuditEvent]:
    """The events, without those that SQL gave a value that their column cannot have."""
    try:
        yield from rows.iterator(chunk_size=200)  # beginning anew may yield some twice, which states the same
    except (ValueError, TypeError):
        for sequence in rows.values_list("sequence", flat=True):
            with suppress(ValueError, TypeError):
                yield rows.get(sequence=sequence)


def _heads_of(event: AuditEvent) -> list[Any]:
    """The chain, length and digest of each head that an anchor states."""
    return list((event.payload.data["after"] or {}).get("heads", ()))


def _in_file() -> Iterator[tuple[str, list[Any]]]:
    for line in _lines_of_file():
        if _is_ours(line):
            yield line["anchor"]["at"], line["heads"]


def _is_ours(line: Mapping[str, Any]) -> bool:
    try:
        sealed = is_digest_of(line["seal"], SEAL, canonical_json(line["anchor"]))
        return sealed and line["anchor"]["heads_sha256"] == _heads_digest(line["heads"])
    except (KeyError, TypeError):
        return False


def _heads_digest(heads: list[Any]) -> str:
    """The sha256 of the heads that an anchor states."""
    return hashlib.sha256(canonical_json(heads).encode()).hexdigest()


def _lines_of_file() -> Iterator[dict[str, Any]]:
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


def _grown(since: datetime | None) -> list[AuditHead]:
    """The heads of the chains with events since then (None: all), without that of the anchors."""
    heads = AuditHead.objects.exclude(chain=ANCHORS).order_by("chain")
    if since is None:
        return list(heads)
    tenants = list(Tenant.objects.order_by("pk").values_list("pk", flat=True))
    parts = [Q(tenant_id=None), *(Q(tenant_id__in=some) for some in in_statements(tenants))]
    names = set[str]()
    for whose in parts:  # one by one, so that the index on tenant and time serves each
        recent = AuditEvent.objects.filter(whose, created_at__gte=since)
        names |= set(recent.order_by().values_list("chain", flat=True).distinct())
    return [head for some in in_statements(sorted(names)) for head in heads.filter(chain__in=some)]


def _line(event: AuditEvent, heads: list[Any]) -> dict[str, Any]:
    """The line of an anchor in the file; "anchor" and "signature" are in the log, too.

    The signature needs the public key alone, the seal the audit key.
    """
    stated = {
        "sequence": event.sequence,
        "at": event.created_at.isoformat(timespec="seconds"),
        "digest": event.digest,
        "heads": len(heads),
        "heads_sha256": _heads_digest(heads),
    }
    whole = canonical_json(stated)
    signature = keys.sign(whole.encode()) if keys.can_sign() else ""
    return {"anchor": stated, "heads": heads, "seal": keyed_digest(SEAL, whole), "signature": signature}


def _append_to_file() -> None:
    """Append the anchors that the file lacks. An error is logged, and the next anchor brings what is missing."""
    path = settings.MEMORYHUB_ANCHOR_FILE
    if path is None:
        return
    try:
        count = sum(1 for _ in _lines_of_file())
        missing = anchors().filter(sequence__gt=count).select_related("payload")
        text = "".join(f"{canonical_json(_line(event, _heads_of(event)))}\n" for event in missing.iterator())
        if text:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "a", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        log.error("The anchor file takes no anchor: %s.", error.strerror)  # noqa: TRY400 - its path is in the settings
