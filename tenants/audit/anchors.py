"""Anchors: hourly statements of the length and digest of every chain that grew, by which missing chains are found.

An anchor is an event of the chain `anchors`. It goes to a line of the log and, if MEMORYHUB_ANCHOR_FILE is set, to that
file, with a signature that is checked without the database. Whoever removes a chain with its head, or puts an old state
of a chain back, contradicts an anchor. An old state of the whole database holds its old anchors: only those in the log
and the file contradict it.

The file holds a line for each anchor. If lines are missing or changed, the next anchor records that before it writes
the missing ones again, and the finding stays until an operator accepts it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memoryhub.db.statements import in_statements
from memoryhub.signing import keys
from memoryhub.signing.keyed import is_digest_of, keyed_digest
from tenants.audit.chain import Chain, EventDraft, append_events
from tenants.audit.digests import canonical_json, columns_of, fault_of, seal_fault, sealed_in
from tenants.models import AuditEvent, AuditHead, AuditPayload, Tenant, said_in
from tenants.principal import SYSTEM

log = logging.getLogger(__name__)

ANCHORS, ANCHORED = "anchors", "audit.anchored"
SEAL = "anchor"
"""The purpose of the keyed digest of a line of the anchor file."""
# The clocks of several machines differ, and a transaction commits after the times of its events.
_OVERLAP = timedelta(hours=1)
# An anchor is written to the file after its transaction: the time that this may take.
_WRITTEN_WITHIN = timedelta(minutes=1)
_FAULTS, _ACCEPTED = "faults", "accepted"


@dataclass(frozen=True, slots=True)
class Anchored:
    """The length and last digest of a chain as an anchor of time `when` (ISO 8601) states them."""

    length: int
    digest: str
    when: str


def anchor(*, accept: Sequence[str] = ()) -> int:
    """Anchor the chains that grew since the last anchor; returns how many. `accept`: findings of the file to end."""
    with transaction.atomic():
        last = anchors().last()
        heads = [head for head in _grown(last.created_at - _OVERLAP if last else None) if not seal_fault(head)]
        after: dict[str, Any] = {"heads": [[head.chain, head.length, head.digest] for head in heads]}
        if settings.MEMORYHUB_ANCHOR_FILE is not None:
            recorded = _recorded()
            new = [each for each in _Lines().faults if each not in recorded]
            found = ((_FAULTS, new), (_ACCEPTED, list(accept)))
            after["file"] = {name: sentences for name, sentences in found if sentences}
        drafts = [(SYSTEM, EventDraft(ANCHORED, after=after))] if heads or after.get("file") else []
        events = append_events(Chain(ANCHORS), drafts)
    for event in events:
        line = _line(event, after)
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
    """Sentences about lines of the anchor file that are missing, changed, or not in the database.

    They include what an anchor recorded, although the lines may be there again; without what an operator accepted.
    """
    if settings.MEMORYHUB_ANCHOR_FILE is None:
        return []
    recorded = _recorded()
    return [each for each, accepted in {**dict.fromkeys(_Lines().faults, False), **recorded}.items() if not accepted]


def _recorded() -> dict[str, bool]:
    """The findings about the file that anchors recorded, and whether an operator accepted them."""
    named = Q(document__contains=f'"{_FAULTS}":') | Q(document__contains=f'"{_ACCEPTED}":')
    found: dict[str, bool] = {}
    for document in _payloads().filter(named).values_list("document", flat=True):
        file = (said_in(document)["after"] or {}).get("file", {})
        found |= dict.fromkeys(file.get(_FAULTS, ()), False) | dict.fromkeys(file.get(_ACCEPTED, ()), True)
    return found


class _Lines:
    """The anchor file compared with the anchors of the database: the faults, and the first anchor that it lacks."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.next = 1
        stored = dict(anchors().values_list("sequence", "digest"))
        bad = 0
        for number, line in enumerate(_lines_of_file(), start=1):
            stated = line["anchor"] if _is_ours(line) else None
            if stated is None:
                bad += 1
                digest = hashlib.sha256(canonical_json(line).encode()).hexdigest()
                self.faults.append(f"Line {number} of the anchor file was changed (it is now {digest[:12]}).")
                continue
            if not self.next <= stated["sequence"] <= self.next + bad:
                self.faults.append(f"Line {number} of the anchor file is not anchor {self.next}.")
            if stored.get(stated["sequence"]) != stated["digest"]:
                self.faults.append(
                    f"Anchor {stated['sequence']} of {stated['at']} is in the anchor file, and not in the database."
                )
            self.next, bad = stated["sequence"] + 1, 0
        last = _payloads().values_list("document", flat=True).last()
        if last and "file" in (said_in(last)["after"] or {}):
            written = anchors().filter(sequence__gte=self.next, created_at__lt=timezone.now() - _WRITTEN_WITHIN)
            if missing := list(written.values_list("sequence", flat=True)):
                self.faults.append(f"The anchor file lacks the anchors {missing[0]} to {missing[-1]}.")


def anchors() -> QuerySet[AuditEvent]:
    """The anchors of the database, in order."""
    return AuditEvent.objects.filter(chain=ANCHORS).order_by("sequence")


def _payloads() -> QuerySet[AuditPayload]:
    return AuditPayload.objects.filter(event__chain=ANCHORS).order_by("event__sequence")


def _read(rows: QuerySet[AuditEvent]) -> Iterator[tuple[str, list[Any]]]:
    """The time and the heads of each anchor. A changed one is a fault of its chain, and accuses no other."""
    for event in _readable(rows.select_related("payload")):
        if sealed_in(event) and not fault_of(columns_of(event), sealed_in(event)):
            yield event.created_at.isoformat(timespec="seconds"), list(_stated_by(event).get("heads", ()))


def _readable(rows: QuerySet[AuditEvent]) -> Iterator[AuditEvent]:
    """The events, without those that SQL gave a value that their column cannot have."""
    try:
        yield from rows.iterator(chunk_size=200)  # beginning anew may yield some twice, which states the same
    except (ValueError, TypeError):
        for sequence in rows.values_list("sequence", flat=True):
            with suppress(ValueError, TypeError):
                yield rows.get(sequence=sequence)


def _stated_by(event: AuditEvent) -> Mapping[str, Any]:
    """The heads that an anchor states (chain, length and digest of each), and its findings about the file."""
    return event.payload.data["after"] or {}


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
    try:
        if path is None or not path.exists():
            return
        with path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except ValueError:
                    line = {}
                yield line if isinstance(line, dict) else {}
    except OSError as error:  # its lines are missing then, which is a finding
        log.error("The anchor file cannot be read: %s.", error.strerror)  # noqa: TRY400 - its path is in the settings


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


def _line(event: AuditEvent, after: Mapping[str, Any]) -> dict[str, Any]:
    """The line of an anchor in the file; "anchor" and "signature" are in the log, too.

    The signature needs the public key alone, the seal the audit key.
    """
    heads = list(after.get("heads", ()))
    stated = {
        "sequence": event.sequence,
        "at": event.created_at.isoformat(timespec="seconds"),
        "digest": event.digest,
        "heads": len(heads),
        "heads_sha256": _heads_digest(heads),
    }
    if file := after.get("file"):
        stated["file"] = file
    whole = canonical_json(stated)
    signature = keys.sign(whole.encode()) if keys.can_sign() else ""
    return {"anchor": stated, "heads": heads, "seal": keyed_digest(SEAL, whole), "signature": signature}


def _append_to_file() -> None:
    """Append the anchors that the file lacks. An error is logged, and the next anchor brings what is missing."""
    path = settings.MEMORYHUB_ANCHOR_FILE
    if path is None:
        return
    try:
        missing = anchors().filter(sequence__gte=_Lines().next).select_related("payload")
        text = "".join(f"{canonical_json(_line(event, _stated_by(event)))}\n" for event in missing.iterator())
        if text:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "a", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        log.error("The anchor file takes no anchor: %s.", error.strerror)  # noqa: TRY400 - its path is in the settings
