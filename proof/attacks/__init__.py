"""The attacks, one module per entry point; importing the package registers them (`proof.attack.ATTACKS`)."""

from proof.attack import ATTACKS, Attack
from proof.attacks import agent, cluster_requests, cluster_searches, recall, services, web

__all__ = ["agent", "attacks_on", "cluster_requests", "cluster_searches", "recall", "services", "web"]


def attacks_on(plane: str) -> list[Attack]:
    """The attacks on this search plane, sorted by name."""
    return sorted((each for each in ATTACKS.values() if each.only_on in ("", plane)), key=lambda each: each.name)
