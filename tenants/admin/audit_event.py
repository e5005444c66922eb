"""The audit trail in the admin, read-only. It says who did what to which memory, never what the memory says."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from tenants.admin.scoping import TenantScopedAdmin
from tenants.models import AuditEvent
from tenants.principal import Role


@admin.register(AuditEvent)
class AuditEventAdmin(TenantScopedAdmin[AuditEvent]):
    """For auditors and admins, of their own tenants. Payloads and digests are not shown."""

    roles = (Role.AUDITOR, Role.ADMIN)
    list_display = ["created_at", "action", "actor_kind", "actor_id", "target_kind", "target_id", "owner_id"]
    list_filter = ["actor_kind", "target_kind"]
    date_hierarchy = "created_at"
    ordering = ["-created_at", "-sequence"]
    search_fields = ["=action", "=target_id", "=request_id"]
    fields = [
        "created_at",
        "sequence",
        "action",
        "actor_kind",
        "actor_id",
        "target_kind",
        "target_id",
        "tenant_id",
        "owner_id",
        "request_id",
    ]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEvent | None = None) -> bool:  # noqa: ARG002
        return False
