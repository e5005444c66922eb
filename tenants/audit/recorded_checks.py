"""Proofs of chains that are kept: what was proven, when, how long it took, and what was found.

Invariant: the latest proof of a chain is what its badge shows; proofs of long ago go, the latest of each chain stays.
A proof tells of ids and digests, never of what an event says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import perf_counter
from typing import TypeVar
from uuid import UUID

from django.db.models import Max, OuterRef, QuerySet, Subquery

from tenants.audit.verification import ChainReport, verify_chain
from tenants.models import ChainCheck, Checked, User

Result = TypeVar("Result")

# So long the proofs of a chain can be looked up that are not its latest.
KEPT = timedelta(days=30)
_REASON_CHARACTERS = 200
_NAMES_PER_STATEMENT = 500  # SQLite bounds the variables of a statement; the least that builds allow is 999.


@dataclass(frozen=True, slots=True)
class Proof:
    """What a proof found. `count` were good; `first_bad` and `event_id` name the first event that is wrong, if any."""

    ok: bool
    count: int
    erased: int = 0
    digest: str = ""
    first_bad: int | None = None
    event_id: UUID | None = None
    reason: str = ""


def prove(chain: str, by: User | None = None) -> ChainCheck:
    """Prove the digests of a chain of the audit trail now, and keep the result. `by` None: the daily check."""
    report, took_ms = timed(lambda: verify_chain(chain))
    return keep(chain, Checked.AUDIT, _proof(report), took_ms=took_ms, by=by)


def keep(chain: str, what: Checked, proof: Proof, *, took_ms: float, by: User | None = None) -> ChainCheck:
    """Keep what a proof of `what` found in a chain."""
    return ChainCheck.objects.create(
        chain=chain,
        what=what.value,
        ok=proof.ok,
        count=proof.count,
        erased=proof.erased,
        digest=proof.digest,
        first_bad=proof.first_bad,
        event_id=proof.event_id,
        reason=proof.reason[:_REASON_CHARACTERS],
        took_ms=took_ms,
        checked_by=by,
    )


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What `work` returns, and how many milliseconds it took."""
    began = perf_counter()
    result = work()
    return result, (perf_counter() - began) * 1000


def latest(chain: str, what: Checked = Checked.AUDIT) -> ChainCheck | None:
    """The latest proof of a chain, if there is one."""
    return ChainCheck.objects.filter(chain=chain, what=what.value).select_related("checked_by").first()


def latest_of(chains: Collection[str], what: Checked = Checked.AUDIT) -> Mapping[str, ChainCheck]:
    """The latest proof of each of these chains, by chain; those that were never proven are not in it."""
    found: dict[str, ChainCheck] = {}
    names = sorted(set(chains))
    for start in range(0, len(names), _NAMES_PER_STATEMENT):
        some = names[start : start + _NAMES_PER_STATEMENT]
        rows = _latest().filter(chain__in=some, what=what.value).select_related("checked_by")
        found |= {row.chain: row for row in rows}
    return found


def broken(what: Checked | None = None) -> QuerySet[ChainCheck]:
    """The chains whose latest proof failed, newest first; whoever asks narrows them to what they may see."""
    rows = _latest().filter(ok=False)
    return rows if what is None else rows.filter(what=what.value)


def proven_since(moment: datetime, what: Checked) -> set[str]:
    """The chains that were proven at `moment` or later."""
    rows = ChainCheck.objects.filter(what=what.value, checked_at__gte=moment)
    return set(rows.order_by().values_list("chain", flat=True).distinct())


def prune(now: datetime) -> int:
    """Let go of old proofs, but for the latest of each chain; returns how many."""
    newest = ChainCheck.objects.order_by().values("chain", "what").annotate(last=Max("pk")).values("last")
    old = ChainCheck.objects.filter(checked_at__lt=now - KEPT)
    return old.exclude(pk__in=newest).delete()[0]


def _latest() -> QuerySet[ChainCheck]:
    same = ChainCheck.objects.filter(chain=OuterRef("chain"), what=OuterRef("what"))
    return ChainCheck.objects.filter(pk=Subquery(same.order_by("-checked_at", "-id").values("pk")[:1]))


def _proof(report: ChainReport) -> Proof:
    return Proof(
        ok=report.ok,
        count=report.events,
        erased=report.erased,
        digest=report.digest,
        first_bad=report.first_bad,
        event_id=report.event_id,
        reason=report.reason,
    )
