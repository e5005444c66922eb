"""Chains whose latest proof failed, each once with whatever of it failed; for whoever audits.

Invariant: nothing of a tenant that is not asked for is found. Proofs tell of ids and digests, never of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from memories.models import CHAINED_MODELS
from memories.selectors.attention import MOST, Tenants, chains_of
from memories.types import Kind
from tenants.models import ChainCheck, Checked
from tenants.verifying import broken

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CHAIN = re.compile(rf"(?:owner:(?P<owner>{_ID}):(?P<user>{_ID})|tenant:(?P<tenant>{_ID})|platform)")
_MEMORY = re.compile(rf"(?P<kind>{'|'.join(kind.value for kind in CHAINED_MODELS)}) (?P<id>{_ID}) ")


@dataclass(frozen=True, slots=True)
class BrokenChain:
    """A chain of a member (`user_id`), of a tenant's own affairs, or of the platform, and its proofs that failed."""

    tenant_id: UUID | None
    user_id: UUID | None
    checks: tuple[ChainCheck, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A memory that a proof of supersession names."""

    kind: Kind
    id: UUID


def broken_chains(tenants: Tenants) -> list[BrokenChain]:
    """Those of these tenants, the one that failed last first; MOST failed proofs at most."""
    found: dict[str, list[ChainCheck]] = {}
    for check in broken().filter(chains_of(tenants)).order_by("-checked_at", "-id")[:MOST]:
        found.setdefault(check.chain, []).append(check)
    return [_broken(chain, checks) for chain, checks in found.items()]


def named_by(checks: Iterable[ChainCheck]) -> dict[int, Named]:
    """The memory that each failed proof of supersession begins with, if it is still there; by id of the proof."""
    named: dict[int, Named] = {}
    for check in checks:
        match = _MEMORY.match(check.reason) if check.what == Checked.SUPERSESSION else None
        if match:
            named[check.pk] = Named(Kind(match["kind"]), UUID(match["id"]))
    there: set[tuple[Kind, UUID]] = set()
    for kind, model in CHAINED_MODELS.items():
        ids = {each.id for each in named.values() if each.kind is kind}
        there |= {(kind, pk) for pk in model.objects.filter(pk__in=ids).order_by().values_list("pk", flat=True) if ids}
    return {key: each for key, each in named.items() if (each.kind, each.id) in there}


def _broken(chain: str, checks: list[ChainCheck]) -> BrokenChain:
    match = _CHAIN.fullmatch(chain)
    tenant = (match["owner"] or match["tenant"]) if match else None
    user = match["user"] if match else None
    ordered = sorted(checks, key=lambda check: check.what)
    return BrokenChain(UUID(tenant) if tenant else None, UUID(user) if user else None, tuple(ordered))
