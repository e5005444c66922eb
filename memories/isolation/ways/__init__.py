"""The ways in, a module for each edge; importing this registers them all (`memories.isolation.attempt.WAYS`)."""

from memories.isolation.attempt import WAYS, Way
from memories.isolation.ways import (
    administration,
    agent,
    api,
    cluster_counting,
    cluster_refusing,
    cluster_searching,
    guards,
    pages,
    reading,
    recalling,
    reviewing,
    switching,
    writing,
)

__all__ = [
    "administration",
    "agent",
    "api",
    "cluster_counting",
    "cluster_refusing",
    "cluster_searching",
    "guards",
    "pages",
    "reading",
    "recalling",
    "reviewing",
    "switching",
    "ways_on",
    "writing",
]


def ways_on(plane: str) -> list[Way]:
    """The ways that there are on this search plane, by name."""
    return sorted((way for way in WAYS.values() if way.only_on in ("", plane)), key=lambda way: way.name)
