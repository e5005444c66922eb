"""The app that knows who: tenants, users, memberships, tokens and the audit trail."""

from __future__ import annotations

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """`tenants` never imports `memories`."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"
