"""The attacks, one module per entry point; importing the package registers them (`proof.attack.ATTACKS`)."""

from django.db import connection

from proof.attack import ATTACKS, Attack
from proof.attacks import (
    agent,
    apps,
    bulk,
    cases,
    cluster_requests,
    cluster_searches,
    dropins,
    events,
    keys,
    mcp,
    mem0,
    oauth,
    people,
    recall,
    rows,
    services,
    web,
)

__all__ = [
    "agent",
    "apps",
    "attacks_on",
    "bulk",
    "cases",
    "cluster_requests",
    "cluster_searches",
    "dropins",
    "events",
    "keys",
    "mcp",
    "mem0",
    "oauth",
    "people",
    "recall",
    "rows",
    "services",
    "web",
]


def attacks_on(plane: str) -> list[Attack]:
    """The attacks on this search plane and the database in use: with backend keys first, then by name."""
    there = ("", plane, connection.vendor)
    found = (each for each in ATTACKS.values() if each.only_on in there)
    return sorted(found, key=lambda each: (not each.name.startswith("keys:"), each.name))
