"""The application of tenants: who."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants, users, memberships, tokens and the audit trail."""

    name = "tenants"
    verbose_name = "tenants"
