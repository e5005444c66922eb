"""In what a key at the cluster differs from the one that this code would make today, by name. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from tenants.search_keys.cluster import FoundKey
from tenants.search_keys.policy import SEARCH_ACTIONS, Descriptors


class Drift(StrEnum):
    """What is wrong with a key; the words are those of `manage.py keys verify`."""

    UNKNOWN_TO_CLUSTER = "unknown to the cluster"
    UNKNOWN_TO_DATABASE = "unknown to the database"
    INVALIDATED = "invalidated at the cluster"
    EXPIRED = "expired"
    NOT_ENDED = "still valid, though taken from its member"
    UNDECIPHERABLE = "its secret cannot be decrypted"
    NO_EXPIRY = "never expires"
    EMPTY = "empty descriptors: it has every right of the minter"
    EXTRA_ROLE = "more than one role"
    CLUSTER_PRIVILEGE = "a privilege on the cluster"
    OTHER_RIGHT = "a right of another sort"
    EXTRA_ENTRY = "more than one entry for an alias"
    MISSING_ENTRY = "no entry for an alias"
    OTHER_INDEX = "opens an index that is no reading alias"
    WILDCARD = "opens indices by a wildcard"
    EXTRA_PRIVILEGE = "a privilege other than searching"
    MISSING_PRIVILEGE = "a privilege of searching is missing"
    MISSING_QUERY = "no query"
    OTHER_QUERY = "another query"
    OTHER_OWNER = "made for somebody else"
    NO_KEY = "no key where there should be one"


# What the cluster adds to each descriptor of its own accord.
_USUAL = {"cluster", "indices", "metadata", "transient_metadata", "description"}
_USUAL_IN_ENTRY = {"names", "privileges", "query", "allow_restricted_indices"}


def drift_of(key: FoundKey, wanted: Descriptors, *, now: datetime) -> list[Drift]:
    """Every difference between a key and what its descriptors should be, each once; none for a good key."""
    found = [*_of_life(key, now), *_of_descriptors(key.descriptors, wanted)]
    return sorted(set(found), key=list(Drift).index)


def _of_life(key: FoundKey, now: datetime) -> Iterator[Drift]:
    if key.invalidated:
        yield Drift.INVALIDATED
    if key.expires_at is None:
        yield Drift.NO_EXPIRY
    elif key.expires_at <= now:
        yield Drift.EXPIRED


def _of_descriptors(found: Descriptors, wanted: Descriptors) -> Iterator[Drift]:
    if not found:
        yield Drift.EMPTY
        return
    if len(found) > 1:
        yield Drift.EXTRA_ROLE
    (role,) = wanted.values()
    entries = [entry for descriptor in found.values() for entry in descriptor.get("indices", ())]
    for descriptor in found.values():
        if descriptor.get("cluster"):
            yield Drift.CLUSTER_PRIVILEGE
        if any(value for name, value in descriptor.items() if name not in _USUAL):
            yield Drift.OTHER_RIGHT
    yield from _of_entries(entries, {entry["names"][0]: entry for entry in role["indices"]})


def _of_entries(entries: Iterable[Mapping[str, Any]], wanted: Mapping[str, Mapping[str, Any]]) -> Iterator[Drift]:
    opened: list[str] = []
    for entry in entries:
        opened += entry["names"]
        for name in entry["names"]:
            yield from _of_name(name, entry, wanted)
        if set(entry["privileges"]) - set(SEARCH_ACTIONS):
            yield Drift.EXTRA_PRIVILEGE
        if set(SEARCH_ACTIONS) - set(entry["privileges"]):
            yield Drift.MISSING_PRIVILEGE
        if any(value for name, value in entry.items() if name not in _USUAL_IN_ENTRY):
            yield Drift.OTHER_RIGHT
        if entry.get("allow_restricted_indices"):
            yield Drift.OTHER_RIGHT
    if len(opened) != len(set(opened)):
        yield Drift.EXTRA_ENTRY
    if wanted.keys() - set(opened):
        yield Drift.MISSING_ENTRY


def _of_name(name: str, entry: Mapping[str, Any], wanted: Mapping[str, Mapping[str, Any]]) -> Iterator[Drift]:
    if "*" in name or "?" in name or name.startswith("/"):
        yield Drift.WILDCARD
    elif name not in wanted:
        yield Drift.OTHER_INDEX
    query = _parsed(entry.get("query"))
    if not query:
        yield Drift.MISSING_QUERY
    elif query != _parsed(next(iter(wanted.values()))["query"]):
        yield Drift.OTHER_QUERY


def _parsed(query: object) -> object:
    if not isinstance(query, str):
        return query
    try:
        return json.loads(query)
    except ValueError:
        return query
