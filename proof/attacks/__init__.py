"""The attacks, a module for each entry point; importing this package registers them all (`proof.attack.ATTACKS`)."""

from proof.attack import ATTACKS, Attack
from proof.attacks import agent, cluster_requests, cluster_searches, recall, services, web

__all__ = ["agent", "attacks_on", "cluster_requests", "cluster_searches", "recall", "services", "web"]


def attacks_on(plane: str) -> list[Attack]:
    """The attacks for this search plane, by name."""
    return sorted((each for each in ATTACKS.values() if each.only_on in ("", plane)), key=lambda each: each.name)
