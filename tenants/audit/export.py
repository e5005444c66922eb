"""Signed exports of the audit log, and verification of the digests in one.

An event records the export before the first byte is sent; only auditors and admins of the tenant may export. Rows are
read while they are sent.

`audit_events.jsonl` has a line for each event: the columns of its digest, the digest, and the payload with its salt
(null: erased, or withheld if the line says so). Digests are keyed: who has the audit key computes them again without a
database. For everybody else the manifest says, under the signature, whether they fitted when they were exported; order,
links and head need no key.

A payload with words of a member's memory is in an archive only if its reader opened the event or the memory before,
which the audit log records; otherwise the line has the digest alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memoryhub.db.statements import in_statements
from memoryhub.signing.archive import ArchiveFile, RowTable, TableFormat, as_file, stream_archive
from memoryhub.signing.keyed import is_keyed, missing_key
from memoryhub.signing.keys import public_keys
from tenants.audit.chain import EventDraft, record_platform_event, record_tenant_event
from tenants.audit.digests import (
    DIGESTED_COLUMNS,
    GENESIS,
    canonical_json,
    columns_of,
    erasure_fault,
    fault_of,
    sealed_in,
)
from tenants.audit.faults import fault_words
from tenants.audit.listing import AuditFilter
from tenants.errors import Forbidden
from tenants.models import AuditEvent, AuditHead, User
from tenants.principal import AUDITS, Actor
from tenants.principals import still
from tenants.selectors import has_role

EVENTS_FILE = "audit_events.jsonl"
# Events of a member's chain whose payload holds no words of a memory.
_WORDLESS = frozenset({
    "memory.read", "memory.asked", "memory.exported", "chain.exported", "audit.read", "review.read",
})  # fmt: skip
Readable = Callable[[AuditEvent], bool]


@dataclass(slots=True)
class ChainPart:
    """The part of a chain in an archive: `events` from sequence `first` to `last`, and the head at that time.

    `unkeyed` events at the beginning of the chain have digests without a key. `first_bad` is the sequence of the first
    event that did not verify while it was exported, `fault` says why.
    """

    chain: str
    first: int
    last: int
    events: int
    length: int = 0
    digest: str = ""
    unkeyed: int = 0
    first_bad: int | None = None
    fault: str = ""


class BadEvent(Exception):
    """An event whose digests do not match; the message names the event, never its contents."""


def opened_by(staff: User, tenant_id: UUID | None) -> frozenset[UUID]:
    """The ids of the events and memories of the tenant whose pages `staff` opened, by the read events."""
    reads = AuditEvent.objects.filter(actor_id=staff.pk, tenant_id=tenant_id, action__in=("audit.read", "memory.read"))
    return frozenset(target for target in reads.order_by().values_list("target_id", flat=True) if target)


def readable_to(staff: User, tenant_id: UUID | None) -> Readable:
    """Whether an archive for `staff` may hold the payload of an event."""
    opened = opened_by(staff, tenant_id)
    return lambda event: (
        event.owner_id is None or event.action in _WORDLESS or event.pk in opened or event.target_id in opened
    )


def event_line(columns: Mapping[str, Any], payload: tuple[str, str] | None, *, withheld: bool = False) -> bytes:
    """The JSON line of an event. `columns`: those of its digest, and `digest`; `payload`: salt and document.

    `withheld`: the payload is left out, and was verified before.
    """
    line = {name: columns[name] for name in (*DIGESTED_COLUMNS, "digest")}
    line["payload"] = {"salt": payload[0], "document": payload[1]} if payload else None
    if withheld:
        line["withheld"] = True
    return canonical_json(line).encode() + b"\n"


def count_event(parts: dict[str, ChainPart], chain: str, sequence: int) -> None:
    """Count an event in the part of its chain."""
    part = parts.setdefault(chain, ChainPart(chain, sequence, sequence, 0))
    part.first, part.last = min(part.first, sequence), max(part.last, sequence)
    part.events += 1


@dataclass(frozen=True, slots=True)
class CheckedEvents:
    """How many events were checked, and how many of their digests were computed again, which needs their key."""

    events: int = 0
    recomputed: int = 0


def check_events(lines: Iterable[bytes], chains: Iterable[Mapping[str, Any]]) -> CheckedEvents:
    """Compare the digests with each other and with the chain heads in the manifest; recompute those whose key is here.

    The link between two events is checked only if their sequences are consecutive. Raises BadEvent at the first
    mismatch, also at one that the manifest states.
    """
    claimed = {chain["chain"]: chain for chain in chains}
    found: dict[str, ChainPart] = {}
    before: dict[str, tuple[int, str]] = {}
    count = recomputed = 0
    for event in _events(lines):
        chain, sequence = str(event["chain"]), int(event["sequence"])
        count_event(found, chain, sequence)
        _check(event, before.get(chain), claimed.get(chain))
        before[chain] = (sequence, str(event["digest"]))
        count, recomputed = count + 1, recomputed + (not missing_key(str(event["digest"])))
    for name in sorted(claimed.keys() | found.keys()):
        _compare(name, claimed.get(name), found.get(name))
    return CheckedEvents(count, recomputed)


def _events(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or not {*DIGESTED_COLUMNS, "digest", "payload"} <= event.keys():
            raise BadEvent(_("line %s is no event.") % number)
        yield event


def _check(event: Mapping[str, Any], before: tuple[int, str] | None, claimed: Mapping[str, Any] | None) -> None:
    payload = event["payload"]
    if claimed and claimed.get("first_bad") == event["sequence"]:
        raise _bad(event, str(claimed["fault"]))
    # Archives from before digests were keyed do not state a number.
    unkeyed = claimed.get("unkeyed", claimed["length"]) if claimed else 0
    salted = (payload["salt"], payload["document"]) if payload is not None else None
    if not missing_key(str(event["digest"])) and (fault := fault_of(event, salted, unkeyed=unkeyed)):
        raise _bad(event, fault)
    previous = GENESIS if event["sequence"] == 1 else None
    if before is not None and before[0] + 1 == event["sequence"]:
        previous = before[1]
    if previous is not None and event["previous_digest"] != previous:
        raise _bad(event, "the event does not follow from the one before")
    if claimed and event["sequence"] == claimed["length"] and event["digest"] != claimed["digest"]:
        raise _bad(event, "the head of the chain does not match this event")


def _compare(name: str, claimed: Mapping[str, Any] | None, found: ChainPart | None) -> None:
    if claimed and not claimed["events"] and found is None:
        return
    if claimed is None or found is None or (found.first, found.last, found.events) != (
        claimed["first"], claimed["last"], claimed["events"],
    ):  # fmt: skip
        raise BadEvent(_("the events of chain %s are not those that the manifest names.") % name)
    if found.last > claimed["length"]:
        raise BadEvent(_("chain %s has events beyond its head.") % name)


def _bad(event: Mapping[str, Any], what: str) -> BadEvent:
    named = {name: event[name] for name in ("sequence", "chain", "id")}
    return BadEvent(
        _("event %(sequence)s of chain %(chain)s (id %(id)s): %(what)s.") % {**named, "what": fault_words(what)}
    )


EXPORTED = "audit.exported"
_ROWS_AT_ONCE = 1000
_COLUMNS = (
    "created_at", "actor_kind", "actor_id", "action", "target_kind", "target_id", "owner_id", "tenant_id",
    "request_id", "reason", "before", "after", "chain", "sequence", "id", "digest", "previous_digest",
    "payload_digest",
)  # fmt: skip


def export_audit(staff: User, actor: Actor, wanted: AuditFilter, forms: Sequence[TableFormat]) -> Iterator[bytes]:
    """A signed archive of the events that match `wanted` until now; always JSON Lines, CSV if in `forms`.

    Raises Forbidden, ImproperlyConfigured (no signing key), before anything is recorded.
    """
    _require(staff, wanted)
    public_keys()
    draft = EventDraft(EXPORTED, after={"wanted": wanted.as_dict(), "formats": [form.value for form in forms]})
    with transaction.atomic():
        event = (
            record_platform_event(actor, draft)
            if wanted.tenant is None
            else record_tenant_event(actor, wanted.tenant, draft)
        )
    found = wanted.events().filter(created_at__lte=event.created_at)
    in_order = found.order_by("sequence") if wanted.along_chain else found.order_by("created_at", "chain", "sequence")
    log_files = AuditLogFiles([in_order], readable=readable_to(staff, wanted.tenant))
    whose = {"tenant_id": str(wanted.tenant) if wanted.tenant else None, "owner_id": _text(wanted.member)}
    claimed = {"what": "audit", "whose": whose, "range": wanted.as_dict()}
    return stream_archive(
        log_files.files(forms),
        lambda: {**claimed, **made_by(actor, event), "chains": log_files.chains()},
        may_go_on=lambda: _require(still(staff), wanted),
    )


def made_by(actor: Actor, event: AuditEvent) -> dict[str, Any]:
    """The manifest's entries for the exporter, the time and the event that records the export."""
    return {
        "by": {"kind": actor.kind.value, "id": _text(actor.id), "request_id": actor.request_id},
        "at": event.created_at.astimezone(UTC).isoformat(),
        "recorded_as": {"chain": event.chain, "sequence": event.sequence, "id": str(event.id), "digest": event.digest},
    }


class AuditLogFiles:
    """Writes events as files of an archive and counts the events of each chain.

    Each queryset in `events` is read once per file, in its own order. `heads` are chain heads that the caller has read
    already; the others are read by `chains`. Payloads of events that are not `readable` are left out.
    """

    def __init__(
        self,
        events: Iterable[QuerySet[AuditEvent]],
        *,
        heads: Mapping[str, AuditHead] | None = None,
        readable: Readable = lambda _: True,
    ) -> None:
        self._events = tuple(events)
        self._readable = readable
        self._heads = dict(heads or {})
        self._parts: dict[str, ChainPart] = {}
        self._plain: dict[str, int] = {}

    def files(self, forms: Sequence[TableFormat]) -> Iterator[ArchiveFile]:
        """The exact events as JSON Lines, and a table for readers if CSV is among the `forms`."""
        yield ArchiveFile(EVENTS_FILE, self._lines())
        if TableFormat.CSV in forms:
            yield as_file(RowTable("audit_events", _COLUMNS, map(self._cells, self._streamed())), TableFormat.CSV)

    def chains(self) -> list[dict[str, Any]]:
        """The manifest's entry for each chain: the events read and the head. Call it after the files were read."""
        for some in in_statements(sorted(self._parts.keys() - self._heads.keys())):
            self._heads |= {head.chain: head for head in AuditHead.objects.filter(chain__in=some)}
        for name, part in self._parts.items():
            head = self._heads[name]
            part.length, part.digest, part.unkeyed = head.length, head.digest, head.unkeyed
            if self._plain.get(name, 0) > head.unkeyed and part.first_bad is None:
                part.first_bad, part.fault = self._plain[name], "the event was changed"
        return [asdict(self._parts[name]) for name in sorted(self._parts)]

    def _lines(self) -> Iterator[bytes]:
        for event in self._streamed():
            count_event(self._parts, event.chain, event.sequence)
            self._verify(event)
            payload = sealed_in(event)
            shown = payload if payload is None or self._readable(event) else None
            yield event_line(columns_of(event), shown, withheld=payload is not shown)

    def _cells(self, event: AuditEvent) -> list[Any]:
        payload = getattr(event, "payload", None)
        absent = {"reason": "(not opened)" if payload else "(erased)", "before": None, "after": None}
        said = payload.data if payload and self._readable(event) else absent
        said |= {name: canonical_json(said[name]) for name in ("before", "after") if said[name] is not None}
        return [said[name] if name in said else _plain(getattr(event, name)) for name in _COLUMNS]

    def _verify(self, event: AuditEvent) -> None:
        """Note the first bad event of a chain. Whether it may have a digest without a key, its head says later."""
        part = self._parts[event.chain]
        if not is_keyed(event.digest):
            self._plain[event.chain] = max(event.sequence, self._plain.get(event.chain, 0))
        fault = fault_of(columns_of(event), sealed_in(event), unkeyed=event.sequence) or erasure_fault(event)
        if fault and (part.first_bad is None or event.sequence < part.first_bad):
            part.first_bad, part.fault = event.sequence, fault

    def _streamed(self) -> Iterator[AuditEvent]:
        for events in self._events:
            yield from events.select_related("payload", "erasure").iterator(chunk_size=_ROWS_AT_ONCE)


def _plain(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _text(value: object) -> str | None:
    return str(value) if value else None


def _require(staff: User, wanted: AuditFilter) -> None:
    audits = wanted.tenant is not None and has_role(staff, wanted.tenant, AUDITS)
    if not (staff.is_active and (staff.is_superuser or audits)):
        raise Forbidden(_("Only an auditor or administrator of the tenant may export its audit log."))


def file_name(what: str) -> str:
    """The file name of a download."""
    return f"memoryhub-{what}-{timezone.localtime():%Y-%m-%d-%H%M}.zip"
