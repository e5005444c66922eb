"""Verifies and records the integrity of audit and supersession chains, on demand and daily.

A check writes only its own record, which holds ids and digests and no texts. A chain whose check fails is recorded as
broken, with the kind of the error, and stops no other.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

from django.utils import timezone

from memories.selectors.history.chains import ChainsReport, chain_of_owner, owners_of_memories, verify_owner
from memories.types import Owner
from memoryhub.db.advisory_lock import LockTaken, advisory_lock
from memoryhub.jobs import RUN_SECONDS, JobResult
from memoryhub.leases import fault_of, passes
from tenants.audit.anchors import anchored
from tenants.audit.verification import chain_names, keep, prove, prove_guards, proven_since, prune, timed
from tenants.models import ChainCheck, Checked, User

log = logging.getLogger(__name__)

# A chain checked within this time is skipped, so a restarted process does not check everything again.
RESTS = timedelta(hours=20)
# How the reason of a check that was not made begins. Pages add the full stop, as to every fault.
NOT_MADE = "The check could not be made"


def prove_supersession(owner: Owner, by: User | None = None) -> ChainCheck:
    """Check every fact and playbook of an owner against the audit log, and store the result under the owner's chain."""
    report, took_ms = timed(lambda: verify_owner(owner))
    return keep(chain_of_owner(owner), Checked.SUPERSESSION, _proof(report), took_ms=took_ms, by=by)


def prove_daily() -> JobResult:
    """Check the chains that are due. Returns MORE if the time of a run was over before all were checked."""
    ends = time.monotonic() + RUN_SECONDS
    try:
        with advisory_lock("chain-proofs"):
            prove_guards()
            for proving in _due():
                if time.monotonic() >= ends:
                    return JobResult.MORE
                _tell(proving())
            prune(timezone.now())
    except LockTaken:
        log.info("Another process is proving the chains.")
    return JobResult.DONE


def _due() -> Iterator[Callable[[], ChainCheck]]:
    since = timezone.now() - RESTS
    proven, known = proven_since(since, Checked.AUDIT), anchored()
    for chain in sorted(chain_names() | known.keys()):
        if chain not in proven:
            yield partial(checked, chain, Checked.AUDIT, partial(prove, chain, known=known))
    proven = proven_since(since, Checked.SUPERSESSION)
    for owner in owners_of_memories():
        if (chain := chain_of_owner(owner)) not in proven:
            yield partial(checked, chain, Checked.SUPERSESSION, partial(prove_supersession, owner))


def checked(chain: str, what: Checked, check: Callable[[], ChainCheck]) -> ChainCheck:
    """Run a check; an error that does not pass is stored as the result, without its message."""
    try:
        return check()
    except Exception as error:
        if passes(error):
            raise
        reason = f"{NOT_MADE} ({fault_of(error)})"
        return keep(chain, what, ChainCheck(ok=False, count=0, reason=reason), took_ms=0.0)


def _proof(report: ChainsReport) -> ChainCheck:
    if report.ok:
        return ChainCheck(ok=True, count=report.rows)
    first, *others = report.faults
    more = f", and {len(others)} more" if others else ""
    return ChainCheck(
        ok=False,
        count=max(0, report.rows - len({fault.memory_id or fault.problem for fault in report.faults})),
        first_bad=first.event.sequence if first.event else None,
        event_id=first.event.id if first.event else None,
        reason=f"{first.kind.value} {first.memory_id or 'without an id'} {first.problem}{more}",
    )


def _tell(check: ChainCheck) -> None:
    """Log an error if the chain is broken."""
    if not check.ok:
        log.error("The %s of %s is broken at event %s: %s.", check.what, check.chain, check.first_bad, check.reason)
