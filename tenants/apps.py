"""The app of tenants, users, memberships, tokens, search keys and the audit log. It never imports memories."""

from __future__ import annotations

from django.apps import AppConfig

from memoryhub import health, jobs
from memoryhub.elasticsearch import in_use


class TenantsConfig(AppConfig):
    """Registers the jobs of search keys; where a cluster is searched, its checks and its probe."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register them."""
        from tenants.jobs import JOBS

        jobs.register(JOBS)
        if in_use():
            from tenants.search_keys import identities  # noqa: F401 - and Elasticsearch with it, half a second

            health.register_probe("credentials", credentials_last)


def credentials_last() -> health.PartState:
    """Whether the members' search keys are replaced in time."""
    from tenants.search_keys.ending import keys_near_expiry

    return keys_near_expiry()
