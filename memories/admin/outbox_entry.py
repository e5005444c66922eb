"""What waits for the search plane, across the tenants in scope: counts, the oldest and the lag of each tenant.

Invariant: read-only, ids and numbers alone. What is shared by all tenants belongs to none, and is for the platform.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from memories.admin.links import named_link
from memories.models import OutboxEntry
from memories.search import search_plane
from memories.selectors.staff.index_state import lag_by_tenant, lag_of
from tenants.admin.scoping import TenantScopedAdmin, stamp
from tenants.models import Membership, Tenant, User
from tenants.principal import READS_MEMORY

INDEX = "admin:memories_membermemory_index"


class TriedFilter(admin.SimpleListFilter):
    """Whether it was tried in vain."""

    title = "attempts"
    parameter_name = "tried"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [("no", "Not tried yet"), ("in_vain", "Tried in vain")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[OutboxEntry]) -> QuerySet[OutboxEntry]:  # noqa: ARG002
        match self.value():
            case "no":
                return queryset.filter(attempts=0)
            case "in_vain":
                return queryset.filter(attempts__gt=0)
            case _:
                return queryset


@admin.register(OutboxEntry)
class OutboxEntryAdmin(TenantScopedAdmin[OutboxEntry]):
    """Above the list, how far the index is behind with each tenant."""

    empty_words = "Nothing waits: the index has every change."
    roles = READS_MEMORY
    list_display = ["waits_since", "member", "tenant", "kind", "operation", "version", "attempts", "last_error"]
    list_display_links = None
    list_filter = [TriedFilter, "kind", "operation"]
    list_before_template = "admin/memories/outboxentry/lag.html"
    show_full_result_count = False
    search_fields = ["=memory_id"]
    search_help_text = "By the id of a memory."
    ordering = ["id"]
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[OutboxEntry]:
        theirs = Membership.objects.filter(tenant=OuterRef("tenant_id"), user=OuterRef("user_id"))
        return (
            super()
            .get_queryset(request)
            .annotate(
                tenant_name=Subquery(Tenant.objects.filter(pk=OuterRef("tenant_id")).values("name")[:1]),
                member_name=Subquery(User.objects.filter(pk=OuterRef("user_id")).values("username")[:1]),
                member_id=Subquery(theirs.values("pk")[:1]),
            )
        )

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - changes write entries
        return False

    def has_change_permission(self, request: HttpRequest, obj: OutboxEntry | None = None) -> bool:  # noqa: ARG002
        return False

    def get_urls(self) -> list[URLPattern]:
        """The list alone."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="memories_outboxentry_changelist")]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """With the lag of all that is in scope, whatever the list is narrowed to."""
        entries = self.in_scope(request, OutboxEntry.objects.all()) if self.may_enter(request) else None
        lag = {} if entries is None else {"lag": lag_of(entries), "lags": lag_by_tenant(entries)}
        told = {"title": "Index and queue", "health": search_plane().health(), **lag}
        return super().changelist_view(request, {**(extra_context or {}), **told})

    @admin.display(description="waits since", ordering="id")
    def waits_since(self, entry: OutboxEntry) -> SafeString:
        """Since when."""
        return stamp(entry.created_at)

    @admin.display(description="member", empty_value="shared")
    def member(self, entry: OutboxEntry) -> SafeString | str | None:
        """Whose memory it is, as a link to all that waits of it."""
        name, member_id = getattr(entry, "member_name", None), getattr(entry, "member_id", None)
        if not member_id:
            return name
        return named_link(reverse(INDEX, args=[member_id]), str(name))

    @admin.display(description="tenant", empty_value="all")
    def tenant(self, entry: OutboxEntry) -> str | None:
        """Whose, by name."""
        return getattr(entry, "tenant_name", None)
