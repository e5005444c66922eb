"""What the workers do for memories: they carry the outbox to the search plane, and look after what is stored.

Every task may run twice, late, or beside itself: entries are leased, and a version is delivered once.
"""

from __future__ import annotations

import logging

from memories.constants import OUTBOX_BATCH
from memories.errors import SearchUnavailable
from memories.metrics import sampling
from memories.search import expunging, outbox
from memories.services import chain_proofs, tuning
from memories.services.consolidation import sweeping
from memories.services.erasure import stages
from memories.services.retention import collection, hygiene_run
from memories.services.sessions import expiry
from memoryhub.celery import DRAIN_OUTBOX, PROVE_CHAINS, SCAN_HYGIENE, TASK_SECONDS, BrokerAway, send, task

log = logging.getLogger(__name__)

# One task delivers so many and asks for the next, so that other tasks have their turn and several workers can share.
ENTRIES = 8 * OUTBOX_BATCH
# A scan, or the proof of chains, ends well before the worker would be ended.
SCAN_SECONDS = TASK_SECONDS / 2


@task(DRAIN_OUTBOX)
def drain_outbox() -> None:
    """Deliver what is due. What a failing plane does not take waits in the outbox."""
    report = outbox.drain(limit=ENTRIES)
    if report.delivered + report.failed >= ENTRIES and report.delivered:
        try:
            send(DRAIN_OUTBOX)
        except BrokerAway as error:
            log.warning("%s The scheduled drain goes on.", error)


@task("memories.consolidate")
def consolidate() -> None:
    """Consolidate who is due, for a while; leases keep two of these tasks off the same owner."""
    sweeping.sweep()


@task("memories.collect")
def collect() -> None:
    """Evict, archive and erase the memories whose time is over, unless another process is at it."""
    collection.collect_daily()


@task(SCAN_HYGIENE)
def scan_hygiene() -> None:
    """Scan what is stale, contradicted or should not be stored, for a while; what is left is another task."""
    if not hygiene_run.scan_daily(seconds=SCAN_SECONDS):
        try:
            send(SCAN_HYGIENE)
        except BrokerAway as error:
            log.warning("%s The next daily scan goes on where this one was.", error)


@task(PROVE_CHAINS)
def prove_chains() -> None:
    """Prove the chains that were not proven today, for a while; what is left is another task."""
    if not chain_proofs.prove_daily(seconds=SCAN_SECONDS):
        try:
            send(PROVE_CHAINS)
        except BrokerAway as error:
            log.warning("%s The next daily proof goes on where this one was.", error)


@task("memories.tune_recall")
def tune_recall() -> None:
    """Propose recall thresholds from recorded use, if the settings ask for it."""
    tuning.tune_daily()


@task("memories.expire_sessions")
def expire_sessions() -> None:
    """End the sessions whose time is over: what mattered is proposed as memory, their working parts are erased."""
    expiry.expire_sessions()


@task("memories.sample_metrics")
def sample_metrics() -> None:
    """Store the metrics of these five minutes, unless they are stored."""
    sampling.sample_metrics()


@task("memories.erase")
def erase() -> None:
    """Erase the members whose erasure is approved; leases keep two of these tasks off the same one."""
    stages.carry_out_due()


@task("memories.expunge")
def expunge() -> None:
    """Take what was removed off the disk of the search cluster."""
    try:
        expunging.expunge()
    except SearchUnavailable as error:
        log.warning("What was removed is still on the disk of the search cluster: %s", error)
