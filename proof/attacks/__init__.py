"""The attacks, a module for each edge; importing this package registers all of them in `proof.attempt.ATTACKS`."""

from proof.attacks import (
    admin,
    agent,
    api,
    cluster_counting,
    cluster_refusing,
    cluster_searching,
    guards,
    pages,
    services,
)
from proof.attempt import ATTACKS, Attack

__all__ = [
    "admin",
    "agent",
    "api",
    "attacks_on",
    "cluster_counting",
    "cluster_refusing",
    "cluster_searching",
    "guards",
    "pages",
    "services",
]


def attacks_on(plane: str) -> list[Attack]:
    """The attacks that apply to a search plane, sorted by name."""
    return sorted((attack for attack in ATTACKS.values() if attack.only_on in ("", plane)), key=lambda each: each.name)
