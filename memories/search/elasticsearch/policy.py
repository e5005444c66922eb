"""The lifecycle policy of the cluster that the archive's index may be under: whether it is there and can be used.

Invariant: no policy is used that would remove the archive or close it to writes, for the database is the record, and
what is forgotten has to leave every index.
"""

from __future__ import annotations

from django.conf import settings
from elasticsearch import ApiError, Elasticsearch

from memories.search.elasticsearch.calls import FORBIDDEN, MISSING

# What a policy may do: where and with which priority an index lies. It stays one index, under its name, open to writes.
HARMLESS = frozenset({"allocate", "migrate", "set_priority", "wait_for_snapshot"})
LIFECYCLE = "index.lifecycle.name"


def lifecycle_settings() -> dict[str, str]:
    """What an archive's index is told of the policy; nothing where there is none."""
    name = settings.ELASTICSEARCH_ARCHIVE_POLICY
    return {LIFECYCLE: name} if name else {}


def trouble(manager: Elasticsearch) -> str:
    """Why the policy cannot be used, in a sentence; empty if it can, or if none is wanted. Raises TransportError."""
    name = settings.ELASTICSEARCH_ARCHIVE_POLICY
    if not name:
        return ""
    try:
        found = manager.ilm.get_lifecycle(name=name).body.get(name)
    except ApiError as error:
        return _of(error, name)
    if found is None:
        return _absent(name)
    phases = found["policy"].get("phases", {}).values()
    harmful = sorted({action for phase in phases for action in phase.get("actions", {})} - HARMLESS)
    if harmful:
        return (
            f"The lifecycle policy {name} would remove the archive's index, put another in its place or close it to"
            f" writes ({', '.join(harmful)}); name one that only {', '.join(sorted(HARMLESS))}."
        )
    return ""


def _of(error: ApiError, name: str) -> str:
    if error.meta.status == MISSING:
        return _absent(name)
    if error.meta.status == FORBIDDEN:
        return "The manager may not read lifecycle policies; `manage.py elasticsearch setup` allows it."
    if "no handler found" in str(error.body):
        return "The search cluster has no lifecycle policies; leave ELASTICSEARCH_ARCHIVE_POLICY empty."
    return f"The search cluster answered with error {error.meta.status} when asked for the lifecycle policy."


def _absent(name: str) -> str:
    return f"The search cluster has no lifecycle policy {name}, which ELASTICSEARCH_ARCHIVE_POLICY names."
