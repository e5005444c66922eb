"""System check of the service identities: in production none of them may do everything at the search cluster.

What the environment alone shows is in `memoryhub/env.py`; this asks the cluster who each of them is.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

from memoryhub.elasticsearch import Identity, in_use
from tenants.search_keys.identities import ClusterUnreachable, describe
from tenants.search_keys.policy import SERVICES

# A start waits no longer for a cluster that does not answer; `manage.py elasticsearch check` does.
SECONDS = 2.0


@register(Tags.security)
def identities_are_limited(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG001 - Django's signature
    """An error for an identity that is a superuser; a warning for one that is otherwise not as `setup` makes it."""
    if not (settings.PRODUCTION and in_use() and settings.ELASTICSEARCH_URLS):
        return []
    messages: list[CheckMessage] = []
    for identity in SERVICES:
        if not settings.ELASTICSEARCH_CREDENTIALS.get(identity.value):
            continue
        try:
            messages += _said_of(identity)
        except ClusterUnreachable:
            hint = "The search cluster does not answer, so nobody knows what the service identities may do."
            return [
                *messages,
                checks.Warning("The service identities could not be checked.", hint=hint, id="tenants.W001"),
            ]
    return messages


def _said_of(identity: Identity) -> list[CheckMessage]:
    report = describe(identity, seconds=SECONDS)
    variable = f"ELASTICSEARCH_{identity.name}"
    if report.is_superuser:
        hint = "Let `manage.py elasticsearch setup` make a user for it."
        return [Error(f"{variable} is a superuser at the search cluster.", hint=hint, id="tenants.E001")]
    if report.ok:
        return []
    hint = f"{' '.join(report.problems[:3])} See `manage.py elasticsearch check`."
    return [
        checks.Warning(f"{variable} is not as `manage.py elasticsearch setup` makes it.", hint=hint, id="tenants.W002")
    ]
