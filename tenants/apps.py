"""The app of tenants, users, memberships, tokens, search keys and the audit log. Never imports memories."""

from __future__ import annotations

from datetime import timedelta

from django.apps import AppConfig
from django.conf import settings
from django.db import DatabaseError

from memoryhub import health, jobs, middleware
from memoryhub.elasticsearch import in_use
from memoryhub.jobs import Job, JobQueue

# The application refuses a revoked key at once; Elasticsearch refuses it after the next run of `revoke_waiting`.
_KEYS = (
    Job(f"tenants.{name}", f"tenants.search_keys.lifecycle.{function}", timedelta(seconds=every), JobQueue.KEYS, in_use)
    for name, function, every in (
        ("revoke_waiting", "revoke_waiting", 3),
        ("mint_waiting", "mint_waiting", 5),
        ("rotate_due", "rotate_due", 600),
        ("end_orphans", "end_orphans_now", 3600),
    )
)


def _sends_mail() -> bool:
    return bool(settings.EMAIL_HOST)


JOBS = (
    *_KEYS,
    Job("tenants.forget_clients", "tenants.oauth.clients.forget_unused", timedelta(hours=1), JobQueue.ROUTINE),
    Job("tenants.forget_limits", "memoryhub.limits.forget_unused", timedelta(hours=1), JobQueue.ROUTINE),
    Job("tenants.clear_sessions", "tenants.session_rules.clear_expired", timedelta(hours=1), JobQueue.ROUTINE),
    Job("tenants.forget_invitations", "tenants.invitations.forget_ended", timedelta(hours=1), JobQueue.ROUTINE),
    Job(
        "tenants.send_invitations",
        "tenants.invitation_mails.send_waiting",
        timedelta(seconds=15),
        JobQueue.ROUTINE,
        _sends_mail,
    ),
    Job("tenants.anchor", "tenants.audit.verification.anchor_and_guard", timedelta(hours=1), JobQueue.ROUTINE),
)


class TenantsConfig(AppConfig):
    """Registers the jobs and probes; with Elasticsearch in use, also the system checks of search keys."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register jobs, checks and probe."""
        jobs.register(JOBS)
        health.register_probe("record", record_is_whole)
        from allauth.usersessions.models import UserSession

        from memoryhub import session_store
        from tenants import session_rules, signing_in  # noqa: F401 - their receivers
        from tenants.tokens import sender_of  # after the models

        middleware.register_token_check(sender_of)
        session_store.keep_digests(UserSession)
        if in_use():
            from tenants.search_keys import identities  # noqa: F401 - imports elasticsearch, which takes half a second

            health.register_probe("credentials", credentials_last)


def record_is_whole() -> health.PartState:
    """Health probe: whether the audit log's triggers are there and the latest proof of every chain found nothing."""
    from tenants.audit.triggers import missing_triggers
    from tenants.audit.verification import broken

    try:
        return health.PartState.BROKEN if missing_triggers() or broken().exists() else health.PartState.OK
    except DatabaseError:
        return health.PartState.UNAVAILABLE


def credentials_last() -> health.PartState:
    """Health probe: whether members' search keys are replaced before they expire."""
    from tenants.search_keys.lifecycle import keys_near_expiry

    return keys_near_expiry()
