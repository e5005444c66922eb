"""Consolidation runs across the tenants in scope: which failed, what they cost, and the way to each.

Invariant: the list shows numbers, states and sentences for staff, never words of a member; those are on the page of the
run, under its member, where that somebody looks is told to their trail.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from memories.admin.links import named_link
from memories.models import ConsolidationRun, RunState
from tenants.admin.scoping import TenantScopedAdmin, stamp
from tenants.models import Membership
from tenants.principal import READS_MEMORY

if TYPE_CHECKING:
    from django.contrib.admin import FieldListFilter as FieldTextFilter  # the theme's has no types
else:
    from unfold.contrib.filters.admin import FieldTextFilter

RUN = "admin:memories_membermemory_run"


class OutcomeFilter(admin.SimpleListFilter):
    """How runs ended; `given up` are the failed ones whose events wait for somebody."""

    title = "state"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [*((state.value, state.value) for state in RunState), ("given_up", "given up")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ConsolidationRun]) -> QuerySet[ConsolidationRun]:  # noqa: ARG002
        match self.value():
            case None:
                return queryset
            case "given_up":
                return queryset.filter(given_up=True)
            case state:
                return queryset.filter(state=state)


class ExtractorFilter(admin.SimpleListFilter):
    """Who read: the rules, or which model. Only what was in use in the tenants in scope is offered."""

    title = "extractor"
    parameter_name = "extractor"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterator[tuple[str, str]]:
        names = model_admin.in_scope(
            request, ConsolidationRun.objects.unscoped("staff look at their tenants")
        ).order_by("extractor")
        return ((name, name) for name in names.values_list("extractor", flat=True).distinct())

    def queryset(self, request: HttpRequest, queryset: QuerySet[ConsolidationRun]) -> QuerySet[ConsolidationRun]:  # noqa: ARG002
        return queryset.filter(extractor=self.value()) if self.value() else queryset


@admin.register(ConsolidationRun)
class ConsolidationRunAdmin(TenantScopedAdmin[ConsolidationRun]):
    """A list; each run opens under its member. Nothing is changed here."""

    roles = READS_MEMORY
    list_display = ["began", "member", "tenant", "outcome", "trigger", "extractor", "tokens", "cost", "fault"]
    list_display_links = None
    list_filter = [
        OutcomeFilter,
        ExtractorFilter,
        "trigger",
        ("user__username", FieldTextFilter),
        ("started_at", admin.DateFieldListFilter),
    ]
    list_filter_submit = True
    list_select_related = ["tenant", "user"]
    show_full_result_count = False
    search_fields = ["user__username", "user__display_name", "=id"]
    search_help_text = "By member, or by the id of a run."
    ordering = ["-started_at", "id"]
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsolidationRun]:
        theirs = Membership.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("user"))
        rows = super().get_queryset(request).defer("input", "output", "decisions")
        return rows.annotate(member_id=Subquery(theirs.values("pk")[:1]))

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - runs come of themselves, or of a rerun
        return False

    def has_change_permission(self, request: HttpRequest, obj: ConsolidationRun | None = None) -> bool:  # noqa: ARG002
        return False

    def get_urls(self) -> list[URLPattern]:
        """The list alone; a run has its page under its member."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="memories_consolidationrun_changelist")]

    @admin.display(description="began", ordering="started_at")
    def began(self, run: ConsolidationRun) -> SafeString:
        """When, as a link to its page; whoever left has none."""
        at = stamp(run.started_at)
        member_id = getattr(run, "member_id", None)
        return named_link(reverse(RUN, args=[member_id, run.pk]), at) if member_id else at

    @admin.display(description="member", ordering="user__username")
    def member(self, run: ConsolidationRun) -> str:
        """Whose episodes it read."""
        return f"{run.user.speaker} ({run.user})"

    @admin.display(description="state", ordering="state")
    def outcome(self, run: ConsolidationRun) -> str:
        """How it ended."""
        return "given up" if run.given_up else run.state

    @admin.display(description="tokens in / out", ordering="input_tokens")
    def tokens(self, run: ConsolidationRun) -> str:
        """What the model read and wrote."""
        return f"{run.input_tokens:,} / {run.output_tokens:,}"

    @admin.display(description="error", ordering="error", empty_value="")
    def fault(self, run: ConsolidationRun) -> str | None:
        """Why it failed, in a sentence."""
        return run.error or None
