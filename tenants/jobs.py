"""The background jobs of search keys. The application refuses a revoked key at once, the cluster after a job."""

from __future__ import annotations

from datetime import timedelta

from memoryhub.elasticsearch import in_use
from memoryhub.jobs import Job, JobQueue

JOBS = (
    Job("tenants.revoke_waiting", "tenants.search_keys.revoke_waiting", timedelta(seconds=3), JobQueue.KEYS, in_use),
    Job("tenants.mint_waiting", "tenants.search_keys.mint_waiting", timedelta(seconds=5), JobQueue.KEYS, in_use),
    Job("tenants.rotate_due", "tenants.search_keys.rotate_due", timedelta(minutes=10), JobQueue.KEYS, in_use),
    Job("tenants.end_orphans", "tenants.search_keys.ending.end_orphans_now", timedelta(hours=1), JobQueue.KEYS, in_use),
)
