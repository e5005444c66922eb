"""The app of tenants, users, memberships, tokens, search keys and the audit log. Never imports memories."""

from __future__ import annotations

from datetime import timedelta

from django.apps import AppConfig

from memoryhub import health, jobs
from memoryhub.elasticsearch import in_use
from memoryhub.jobs import Job, JobQueue

# The application refuses a revoked key at once; Elasticsearch refuses it after the next run of `revoke_waiting`.
JOBS = tuple(
    Job(f"tenants.{name}", f"tenants.search_keys.lifecycle.{function}", timedelta(seconds=every), JobQueue.KEYS, in_use)
    for name, function, every in (
        ("revoke_waiting", "revoke_waiting", 3),
        ("mint_waiting", "mint_waiting", 5),
        ("rotate_due", "rotate_due", 600),
        ("end_orphans", "end_orphans_now", 3600),
    )
)
JOBS += (Job("tenants.forget_limits", "memoryhub.limits.forget_unused", timedelta(hours=1), JobQueue.CHANGES),)


class TenantsConfig(AppConfig):
    """Registers the jobs of search keys; with Elasticsearch in use, also their system checks and health probe."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register jobs, checks and probe."""
        jobs.register(JOBS)
        if in_use():
            from tenants.search_keys import identities  # noqa: F401 - imports elasticsearch, which takes half a second

            health.register_probe("credentials", credentials_last)


def credentials_last() -> health.PartState:
    """Health probe: whether members' search keys are replaced before they expire."""
    from tenants.search_keys.lifecycle import keys_near_expiry

    return keys_near_expiry()
