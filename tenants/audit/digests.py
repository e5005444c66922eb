"""The digests of the audit log, from plain values, so that an export is verified without a database.

Digests are keyed (`memoryhub/signing/keyed.py`): whoever changes the database cannot compute them. A payload's digest
covers its salt and canonical JSON; an event's covers all its other columns, including the previous digest; the seal of
a head covers its length and digest; the seal of an erasure says that one event's payload was erased by another event.

Events from before digests were keyed have a plain sha256. They are the first ones of a chain, as many as its sealed
head says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memoryhub.signing.keyed import is_digest_of, is_keyed, keyed_digest, missing_key
from tenants.models import AuditErasure, AuditEvent, AuditHead, AuditPayload

GENESIS = "0" * 64
"""The `previous_digest` of the first event of a chain."""

DIGESTED_COLUMNS = tuple(
    "id chain sequence previous_digest payload_digest tenant_id owner_id actor_kind actor_id action target_kind"
    " target_id request_id created_at".split()
)
_EVENT, _PAYLOAD, _HEAD, _ERASURE = "event", "payload", "head", "erasure"


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and ASCII only: equal values give equal text. Times in UTC, to microseconds."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=_plain)


def payload_digest(salt: str, document: str) -> str:
    """The digest of a payload's canonical JSON; 64 characters."""
    # Formatted as text because SQL may have stored bytes; these give a different digest, not an error.
    return keyed_digest(_PAYLOAD, f"{salt}{document}")


def event_digest(columns: Mapping[str, Any]) -> str:
    """The digest of an event, from its `DIGESTED_COLUMNS`; 64 characters."""
    return keyed_digest(_EVENT, _digested(columns))


def head_seal(head: AuditHead) -> str:
    """The seal of a head with its present length and digest."""
    return keyed_digest(_HEAD, _sealed_of(head))


def erasure_seal(event_id: UUID, payload_digest: str, by: UUID | None) -> str:
    """The seal of the record that the event `by` erased the payload of another event."""
    return keyed_digest(_ERASURE, canonical_json([event_id, payload_digest, by]))


def columns_of(event: AuditEvent) -> dict[str, Any]:
    """The columns that the digest covers, and `digest`."""
    return {name: getattr(event, name) for name in (*DIGESTED_COLUMNS, "digest")}


def sealed_in(event: AuditEvent) -> tuple[str, str] | None:
    """Salt and document of an event's payload; None if it was erased."""
    payload: AuditPayload | None = getattr(event, "payload", None)
    return (payload.salt, payload.document) if payload else None


def fault_of(columns: Mapping[str, Any], payload: tuple[str, str] | None, *, unkeyed: int = 0) -> str:
    """The fault of a single event; empty if its digests match. `payload` is its salt and document.

    `unkeyed` is the number of events at the beginning of the chain whose digests have no key.
    """
    digest, of_payload = str(columns["digest"]), str(columns["payload_digest"])
    for each in (digest, of_payload):
        if key := missing_key(each):
            return f"the event's digest has the key {key}, which MEMORYHUB_AUDIT_KEYS does not hold"
    plain = isinstance(columns["sequence"], int) and columns["sequence"] <= unkeyed
    if not _matches(digest, _EVENT, _digested(columns), plain=plain):
        return "the event was changed"
    if payload and not _matches(of_payload, _PAYLOAD, f"{payload[0]}{payload[1]}", plain=plain):
        return "the payload was changed"
    return ""


def seal_fault(head: AuditHead) -> str:
    """Why the seal of a head does not hold; empty if it does."""
    if key := missing_key(head.seal):
        return f"the head of the chain is sealed with the key {key}, which MEMORYHUB_AUDIT_KEYS does not hold"
    return "" if is_digest_of(head.seal, _HEAD, _sealed_of(head)) else "the head of the chain was changed"


def erasure_fault(event: AuditEvent) -> str:
    """The fault of an event's payload and the record of its erasure: one of the two must be there, not both."""
    erasure: AuditErasure | None = getattr(event, "erasure", None)
    if getattr(event, "payload", None) is not None:
        return "" if erasure is None else "the payload was erased, and is there again"
    if erasure is None:
        return "the payload is missing, and no event erased it"
    whole = canonical_json([event.id, event.payload_digest, erasure.by])
    return "" if is_digest_of(erasure.seal, _ERASURE, whole) else "the record of the payload's erasure is forged"


def _matches(digest: str, purpose: str, text: str, *, plain: bool) -> bool:
    if plain and not is_keyed(digest):
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest() == digest
    return is_digest_of(digest, purpose, text)


def _digested(columns: Mapping[str, Any]) -> str:
    return canonical_json({name: columns[name] for name in DIGESTED_COLUMNS})


def _sealed_of(head: AuditHead) -> str:
    return canonical_json([head.chain, head.length, head.digest, head.unkeyed])


def _plain(value: object) -> str | list[Any]:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    raise TypeError(f"The audit log cannot hold a {type(value).__name__}.")
