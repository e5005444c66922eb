"""Exporting the audit trail: the events that somebody asks for, signed, with all that takes their digests again.

Invariant: that it was exported is committed to the trail before the first byte leaves, and only who audits the tenant
gets any; events are read while they are sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryhub.archive import ArchiveFile, stream_archive
from memoryhub.signing import public_keys
from memoryhub.tables import Table, TableFormat, as_file
from tenants.actor import Actor
from tenants.audit import EventDraft, record_platform_event, record_tenant_event
from tenants.audit_archive import EVENTS_FILE, ChainParts, event_line
from tenants.audit_digest import DIGESTED_COLUMNS, canonical_json
from tenants.audit_filters import AuditFilter
from tenants.errors import Forbidden
from tenants.models import AuditEvent, AuditHead, User
from tenants.principal import AUDITS
from tenants.selectors import has_role
from tenants.standing import still

EXPORTED = "audit.exported"
_ROWS_AT_ONCE = 1000
_HEADS_AT_ONCE = 500  # SQLite bounds the variables of a statement; the least that builds allow is 999.
_COLUMNS = (
    "created_at", "actor_kind", "actor_id", "action", "target_kind", "target_id", "owner_id", "tenant_id",
    "request_id", "reason", "before", "after", "chain", "sequence", "id", "digest", "previous_digest",
    "payload_digest",
)  # fmt: skip


def export_audit(staff: User, actor: Actor, wanted: AuditFilter, forms: Sequence[TableFormat]) -> Iterator[bytes]:
    """An archive of the events that `wanted` finds until now; JSON Lines is always in it, CSV if asked for.

    Raises Forbidden, ImproperlyConfigured (nothing can be signed), before anything is recorded.
    """
    _require(staff, wanted)
    public_keys()
    draft = EventDraft(EXPORTED, after={"wanted": wanted.told(), "formats": [form.value for form in forms]})
    with transaction.atomic():
        event = (
            record_platform_event(actor, draft)
            if wanted.tenant is None
            else record_tenant_event(actor, wanted.tenant, draft)
        )
    found = wanted.events().filter(created_at__lte=event.created_at)
    in_order = found.order_by("sequence") if wanted.along_chain else found.order_by("created_at", "chain", "sequence")
    trail = TrailFiles([in_order])
    whose = {"tenant_id": str(wanted.tenant) if wanted.tenant else None, "owner_id": _text(wanted.member)}
    told = {"what": "audit", "whose": whose, "range": wanted.told()}
    return stream_archive(
        trail.files(forms),
        lambda: {**told, **made_by(actor, event), "chains": trail.chains()},
        may_go_on=lambda: _require(still(staff), wanted),
    )


def made_by(actor: Actor, event: AuditEvent) -> dict[str, Any]:
    """Who exported when, and the event that tells of it."""
    return {
        "by": {"kind": actor.kind.value, "id": _text(actor.id), "request_id": actor.request_id},
        "at": event.created_at.astimezone(UTC).isoformat(),
        "recorded_as": {"chain": event.chain, "sequence": event.sequence, "id": str(event.id), "digest": event.digest},
    }


class TrailFiles:
    """Events as files of an archive, and what those had of each chain.

    Each of `events` is read once for each file, in its own order; `heads` says how a chain stands where that is known.
    """

    def __init__(self, events: Iterable[QuerySet[AuditEvent]], *, heads: Mapping[str, AuditHead] | None = None) -> None:
        self._events = tuple(events)
        self._heads = dict(heads or {})
        self._parts = ChainParts()

    def files(self, forms: Sequence[TableFormat]) -> Iterator[ArchiveFile]:
        """The exact events, and beside them a table for people if CSV is among the `forms`."""
        yield ArchiveFile(EVENTS_FILE, self._lines())
        if TableFormat.CSV in forms:
            yield as_file(Table("audit_events", _COLUMNS, map(_cells, self._streamed())), TableFormat.CSV)

    def chains(self) -> list[dict[str, Any]]:
        """What was read of each chain and how it stood; for the manifest, after the files."""
        names = sorted(self._parts.parts.keys() - self._heads.keys())
        for start in range(0, len(names), _HEADS_AT_ONCE):
            some = names[start : start + _HEADS_AT_ONCE]
            self._heads |= {head.chain: head for head in AuditHead.objects.filter(chain__in=some)}
        for name, part in self._parts.parts.items():
            head = self._heads[name]
            part.length, part.digest = head.length, head.digest
        return self._parts.told()

    def _lines(self) -> Iterator[bytes]:
        for event in self._streamed():
            self._parts.count(event.chain, event.sequence)
            payload = getattr(event, "payload", None)
            columns = {name: getattr(event, name) for name in (*DIGESTED_COLUMNS, "digest")}
            yield event_line(columns, (payload.salt, payload.document) if payload else None)

    def _streamed(self) -> Iterator[AuditEvent]:
        for events in self._events:
            yield from events.select_related("payload").iterator(chunk_size=_ROWS_AT_ONCE)


def _cells(event: AuditEvent) -> list[Any]:
    payload = getattr(event, "payload", None)
    said = payload.data if payload else {"reason": "(erased)", "before": None, "after": None}
    said |= {name: canonical_json(said[name]) for name in ("before", "after") if said[name] is not None}
    return [said[name] if name in said else _plain(getattr(event, name)) for name in _COLUMNS]


def _plain(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _text(value: object) -> str | None:
    return str(value) if value else None


def _require(staff: User, wanted: AuditFilter) -> None:
    audits = wanted.tenant is not None and has_role(staff, wanted.tenant, AUDITS)
    if not (staff.is_active and (staff.is_superuser or audits)):
        raise Forbidden("Only an auditor or administrator of the tenant may export its trail.")


def file_name(what: str, moment: datetime | None = None) -> str:
    """The name of a download."""
    return f"memoryhub-{what}-{timezone.localtime(moment):%Y-%m-%d-%H%M}.zip"
