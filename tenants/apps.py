"""The app of tenants, users, memberships, tokens, search keys and the audit log. It never imports memories."""

from __future__ import annotations

from datetime import timedelta

from django.apps import AppConfig

from memoryhub import health, jobs
from memoryhub.elasticsearch import in_use
from memoryhub.jobs import Job, JobQueue

# The application refuses a revoked key at once, the cluster after a job.
JOBS = tuple(
    Job(f"tenants.{name}", f"tenants.search_keys.lifecycle.{function}", timedelta(seconds=every), JobQueue.KEYS, in_use)
    for name, function, every in (
        ("revoke_waiting", "revoke_waiting", 3),
        ("mint_waiting", "mint_waiting", 5),
        ("rotate_due", "rotate_due", 600),
        ("end_orphans", "end_orphans_now", 3600),
    )
)


class TenantsConfig(AppConfig):
    """Registers the jobs of search keys; where a cluster is searched, its checks and its probe."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register them."""
        jobs.register(JOBS)
        if in_use():
            from tenants.search_keys import identities  # noqa: F401 - and Elasticsearch with it, half a second

            health.register_probe("credentials", credentials_last)


def credentials_last() -> health.PartState:
    """Whether the members' search keys are replaced in time."""
    from tenants.search_keys.lifecycle import keys_near_expiry

    return keys_near_expiry()
