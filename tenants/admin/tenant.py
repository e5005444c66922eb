"""Tenants in the admin: the platform's staff make them; a tenant's own admins see their own."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from tenants import services
from tenants.admin.scoping import TenantScopedAdmin, acting, signed_in
from tenants.models import Tenant


@admin.register(Tenant)
class TenantAdmin(TenantScopedAdmin[Tenant]):
    """A slug is part of addresses and commands, so it stays as it was made."""

    tenant_lookup = "id"
    list_display = ["name", "slug", "is_active", "created_at"]
    search_fields = ["name", "slug"]
    fields = ["name", "slug", "is_active"]
    readonly_fields = ["is_active"]
    actions = ["deactivate", "activate"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return signed_in(request).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """An existing tenant is only switched on and off, by actions."""
        return obj is None and signed_in(request).is_superuser

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        made = services.create_tenant(name=obj.name, slug=obj.slug, actor=acting(request))
        obj.id = made.id

    @admin.action(description="Deactivate: turn away all members and tokens", permissions=["change"])
    def deactivate(self, request: HttpRequest, rows: QuerySet[Tenant]) -> None:
        for tenant in rows:
            services.deactivate_tenant(tenant, actor=acting(request))

    @admin.action(description="Activate", permissions=["change"])
    def activate(self, request: HttpRequest, rows: QuerySet[Tenant]) -> None:
        for tenant in rows:
            services.activate_tenant(tenant, actor=acting(request))
