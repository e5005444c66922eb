"""Compares every key at Elasticsearch with the key that this code would make today, and repairs differences.

The database says which keys should exist; Elasticsearch says which exist and what they may do. A key that only one of
them knows is a difference, too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop

from memoryhub.elasticsearch import reading_aliases
from tenants.models import CredentialState, Membership, RetiredKey, SearchCredential
from tenants.search_keys import cluster
from tenants.search_keys.claims import Undecipherable, unseal
from tenants.search_keys.cluster import Descriptors, FoundKey, member_descriptors
from tenants.search_keys.lifecycle import (
    ORPHAN_AFTER,
    VISIBLE_AFTER,
    KeyOutcome,
    invalidate,
    orphans,
    provision,
    revoke_waiting,
    rotate,
    suspend_strays,
)


class Drift(StrEnum):
    """A difference between a key and what it should be; `manage.py keys verify` prints the values."""

    UNKNOWN_TO_CLUSTER = gettext_noop("unknown to the cluster")
    UNKNOWN_TO_DATABASE = gettext_noop("unknown to the database")
    INVALIDATED = gettext_noop("invalidated at the cluster")
    EXPIRED = gettext_noop("expired")
    NOT_ENDED = gettext_noop("still valid, though taken from its member")
    UNDECIPHERABLE = gettext_noop("its secret cannot be decrypted")
    NO_EXPIRY = gettext_noop("never expires")
    EMPTY = gettext_noop("empty descriptors: it has every right of the minter")
    OTHER_RIGHTS = gettext_noop("other rights than to search the reading aliases")
    OTHER_QUERY = gettext_noop("no query, or another one")
    OTHER_OWNER = gettext_noop("made for somebody else")
    NO_KEY = gettext_noop("no key where there should be one")


# Fields that Elasticsearch adds to each descriptor.
_ADDED = {"metadata", "transient_metadata", "description"}


def drift_of(key: FoundKey, wanted: Descriptors, *, now: datetime) -> list[Drift]:
    """Every difference between a key and the wanted descriptors; empty for a good key."""
    (query,) = set(_queries(wanted))
    differs = {
        Drift.INVALIDATED: key.invalidated,
        Drift.EXPIRED: key.expires_at is not None and key.expires_at <= now,
        Drift.NO_EXPIRY: key.expires_at is None,
        Drift.EMPTY: not key.descriptors,
        Drift.OTHER_RIGHTS: key.descriptors and _rights(key.descriptors) != _rights(wanted),
        Drift.OTHER_QUERY: any(found != query for found in _queries(key.descriptors)),
    }
    return [drift for drift, is_so in differs.items() if is_so]


def _rights(descriptors: Descriptors) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The rights of each role without its queries and without empty values."""
    return [
        (
            {name: value for name, value in role.items() if value and name not in {*_ADDED, "indices"}},
            sorted((_granted(entry) for entry in role.get("indices", ())), key=str),
        )
        for role in descriptors.values()
    ]


def _granted(entry: Mapping[str, Any]) -> dict[str, Any]:
    rights = {name: value for name, value in entry.items() if value and name != "query"}
    return rights | {name: sorted(rights.get(name, ())) for name in ("names", "privileges")}


def _queries(descriptors: Descriptors) -> list[str]:
    """The query of each entry as canonical JSON; `null` where there is none."""
    entries = [entry for role in descriptors.values() for entry in role.get("indices", ())]
    return [json.dumps(_parsed(entry.get("query")), sort_keys=True) for entry in entries]


def _parsed(query: object) -> object:
    if not isinstance(query, str):
        return query
    try:
        return json.loads(query)
    except ValueError:
        return query


# The time after `due_at` in which the job ends a key; later, a valid one is a finding.
OVERDUE = timedelta(minutes=2)
_BATCH = 500
_RECHECK_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class KeyFinding:
    """A key that differs, or a member without a key."""

    membership_id: UUID | None
    key_id: str
    drift: tuple[Drift, ...]


@dataclass(frozen=True, slots=True)
class Verification:
    """The number of checked members, and the findings."""

    members: int
    findings: tuple[KeyFinding, ...]


def verify(
    memberships: QuerySet[Membership], *, tenant_id: UUID | None = None, with_orphans: bool = True
) -> Verification:
    """Compare these members' keys, and find the tenant's (or all) orphans. Raises SearchKeysUnavailable."""
    ids = list(memberships.order_by("id").values_list("id", flat=True))
    findings: list[KeyFinding] = []
    for start in range(0, len(ids), _BATCH):
        findings += _compared(ids[start : start + _BATCH])
    findings += _not_ended(tenant_id, ids)
    if with_orphans:
        for key in orphans(older_than=ORPHAN_AFTER, tenant_id=tenant_id):
            findings.append(KeyFinding(None, key.key_id, (Drift.UNKNOWN_TO_DATABASE,)))
    return Verification(len(ids), tuple(findings))


def repair(findings: Iterable[KeyFinding]) -> int:
    """Replace each key that differs, which ends at once, make missing keys, and end orphans. Returns how many.

    A member without a usable key gets one only if Elasticsearch can make it; this raises nothing if it is down. Verify
    again to find what still differs.
    """
    suspend_strays()
    revoke_waiting()
    mended, ending = 0, []
    for finding in findings:
        if finding.membership_id is None or finding.drift == (Drift.NOT_ENDED,):
            ending.append(finding.key_id)
            mended += 1
            continue
        membership = Membership.objects.get(id=finding.membership_id)
        if finding.key_id:
            outcome = rotate(membership, grace=timedelta(0))
            ending.append(finding.key_id)
        else:
            outcome = provision(membership)
        mended += outcome is KeyOutcome.MADE
    invalidate(_retired(ending))
    return mended


def _retired(key_ids: Sequence[str]) -> list[str]:
    """The keys among these that no member holds now."""
    held = set(SearchCredential.objects.filter(key_id__in=key_ids).values_list("key_id", flat=True))
    return [key_id for key_id in key_ids if key_id not in held]


def _compared(membership_ids: Sequence[UUID]) -> list[KeyFinding]:
    now = timezone.now()
    rows = {
        row.membership_id: row
        for row in SearchCredential.objects.select_related("membership__tenant", "membership__user").filter(
            membership_id__in=membership_ids
        )
    }
    held = [row.key_id for row in rows.values() if row.key_id]
    found = cluster.read(held)
    young = [row for row in rows.values() if row.key_id and row.key_id not in found and _is_young(row, now)]
    if young:
        time.sleep(_RECHECK_SECONDS)  # Elasticsearch lists a new key about a second after it was made
        found |= cluster.read([row.key_id for row in young])
    usable = {
        membership.id
        for membership in Membership.objects.select_related("tenant", "user").filter(id__in=membership_ids)
        if membership.is_usable
    }
    findings = []
    for membership_id in membership_ids:
        row = rows.get(membership_id)
        drift = _of_member(row, found, usable=membership_id in usable, now=now)
        if drift:
            findings.append(KeyFinding(membership_id, row.key_id if row else "", tuple(drift)))
    return findings


def _is_young(row: SearchCredential, now: datetime) -> bool:
    return row.minted_at is not None and row.minted_at > now - VISIBLE_AFTER


def _of_member(row: SearchCredential | None, found: dict[str, FoundKey], *, usable: bool, now: datetime) -> list[Drift]:
    if row is None or row.state != CredentialState.ACTIVE:
        revoked = row is not None and row.state == CredentialState.REVOKED
        return [Drift.NO_KEY] if usable and not revoked else []
    if not usable:
        return [Drift.NOT_ENDED]
    key = found.get(row.key_id)
    if key is None:
        return [Drift.UNKNOWN_TO_CLUSTER]
    tenant_id, user_id = row.membership.tenant_id, row.membership.user_id
    drift = drift_of(key, member_descriptors(reading_aliases(), tenant_id=tenant_id, user_id=user_id), now=now)
    owner = (str(tenant_id), str(user_id), str(row.membership_id))
    if tuple(key.metadata.get(name) for name in ("tenant", "user", "membership")) != owner:
        drift.append(Drift.OTHER_OWNER)
    if not _opens(row):
        drift.append(Drift.UNDECIPHERABLE)
    return drift


def _opens(row: SearchCredential) -> bool:
    try:
        unseal(row.membership_id, row.secret)
    except Undecipherable:
        return False
    return True


def _not_ended(tenant_id: UUID | None, membership_ids: Sequence[UUID]) -> list[KeyFinding]:
    """Keys taken from these members that are overdue and still valid at Elasticsearch."""
    now = timezone.now()
    overdue = RetiredKey.objects.filter(due_at__lte=now - OVERDUE)
    overdue = overdue.filter(membership_id__in=membership_ids) if tenant_id else overdue
    found = cluster.read([row.key_id for row in overdue])
    return [
        KeyFinding(row.membership_id, row.key_id, (Drift.NOT_ENDED,))
        for row in overdue
        if row.key_id in found and found[row.key_id].is_valid_at(now)
    ]
