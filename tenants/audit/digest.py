"""The digests of the audit log. Pure, over plain values, so that whoever holds an export can check it again.

A payload's digest is sha256(salt + canonical JSON): without the salt, an erased payload's text could be guessed. An
event's digest is sha256 of the canonical JSON of all its other columns, including the previous digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

GENESIS = "0" * 64
"""The `previous_digest` of the first event of a chain."""

DIGESTED_COLUMNS = (
    "id",
    "chain",
    "sequence",
    "previous_digest",
    "payload_digest",
    "tenant_id",
    "owner_id",
    "actor_kind",
    "actor_id",
    "action",
    "target_kind",
    "target_id",
    "request_id",
    "created_at",
)


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and ASCII only: equal values give equal text. Times in UTC, to microseconds."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=_plain)


def payload_digest(salt: str, document: str) -> str:
    """The digest of a payload's canonical JSON; 64 hexadecimal characters."""
    # Joined as text whatever they are: what somebody made bytes by SQL has another digest, and is no error.
    return hashlib.sha256(f"{salt}{document}".encode()).hexdigest()


def event_digest(columns: Mapping[str, Any]) -> str:
    """The digest of an event, from its `DIGESTED_COLUMNS`; 64 hexadecimal characters."""
    return hashlib.sha256(canonical_json({name: columns[name] for name in DIGESTED_COLUMNS}).encode()).hexdigest()


def _plain(value: object) -> str | list[Any]:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    raise TypeError(f"The audit log cannot hold a {type(value).__name__}.")
