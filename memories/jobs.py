"""The background jobs of memories. `memoryhub/jobs.py` defines `Job`; docs/tasks.md describes each job."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

from memoryhub.elasticsearch import in_use
from memoryhub.jobs import Job, JobQueue

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


def _consolidates() -> bool:
    return bool(settings.MEMORYHUB_CONSOLIDATE != "off")


def _tunes() -> bool:
    return bool(settings.MEMORYHUB_TUNE_RECALL != "off")


JOBS = (
    # Every commit that changes a memory wakes this job. The schedule catches entries that were deferred and those whose
    # wake-up was lost.
    Job("memories.drain_outbox", "memories.search.outbox.drain_some", timedelta(seconds=2), JobQueue.CHANGES),
    Job(
        "memories.expire_sessions",
        "memories.services.sessions.sessions.expire_sessions",
        _HOUR,
        JobQueue.ROUTINE,
    ),
    Job("memories.forget_old_keys", "memories.services.idempotency.forget_old_keys", _HOUR, JobQueue.ROUTINE),
    # Runs more often than samples are stored, so that a small delay never skips one.
    Job("memories.sample_metrics", "memories.metrics.sampling.sample_metrics", timedelta(minutes=1), JobQueue.ROUTINE),
    Job(
        "memories.send_webhooks", "memories.services.webhooks.sending.send_due", timedelta(seconds=2), JobQueue.WEBHOOKS
    ),
    Job("memories.forget_old_events", "memories.services.webhooks.sending.forget_old", _HOUR, JobQueue.ROUTINE),
    Job("memories.collect", "memories.services.retention.collection.collect_daily", _DAY, JobQueue.UPKEEP),
    Job("memories.tune_recall", "memories.services.policies.tune_daily", _DAY, JobQueue.UPKEEP, _tunes),
    Job("memories.erase", "memories.services.erasure.stages.carry_out_due", timedelta(seconds=10), JobQueue.UPKEEP),
    Job("memories.forget", "memories.services.erasure.proposals.finish_due", timedelta(seconds=5), JobQueue.ROUTINE),
    Job("memories.scan_hygiene", "memories.services.retention.hygiene_run.scan_daily", _DAY, JobQueue.UPKEEP),
    Job("memories.prove_chains", "memories.services.chain_proofs.prove_daily", _DAY, JobQueue.UPKEEP),
    Job("memories.check_tenants", "memories.services.tenant_checks.run_due", timedelta(seconds=10), JobQueue.UPKEEP),
    Job(
        "memories.consolidate",
        "memories.services.consolidation.operations.learn_due",
        timedelta(minutes=1),
        JobQueue.UPKEEP,
        _consolidates,
    ),
    # Once nothing is left, it looks again only in a new process.
    Job("memories.reembed", "memories.search.reembedding.embed_some", timedelta(minutes=1), JobQueue.UPKEEP),
    Job("memories.expunge", "memories.search.checking.expunge_index", _HOUR, JobQueue.ROUTINE, in_use),
)
