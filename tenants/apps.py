"""The app that knows who: tenants, users, memberships, tokens and the audit trail."""

from __future__ import annotations

from collections.abc import Callable

from django.apps import AppConfig

from memoryhub import background, health
from memoryhub.elasticsearch import in_use


class TenantsConfig(AppConfig):
    """`tenants` never imports `memories`."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the thread that looks after the members' keys; where a cluster is searched, its checks and probe."""
        background.register("search keys", start_key_sweeper)
        if in_use():
            from tenants import checks  # noqa: F401 - and Elasticsearch with it, half a second

            health.register_probe("credentials", credentials_last)


def start_key_sweeper() -> Callable[[], None]:
    """Make, replace and end keys from now on, where no Celery does."""
    from tenants.key_sweeps import serve

    return serve()


def credentials_last() -> health.State:
    """Whether the members' search keys are replaced in time."""
    from tenants.search_keys.ending import keys_near_expiry

    return keys_near_expiry()
