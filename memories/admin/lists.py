"""Lists of the admin that change nothing: members, runs, the queue of the index, erasures and legal holds.

They show ids, numbers, states and names, never a word of a member's memory. What a row leads to is a page of
`memories/staff`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import admin
from django.db.models import Model, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memories.models import (
    ConsolidationRun,
    ErasureRequest,
    LegalHold,
    MemberMemory,
    OutboxEntry,
    RunState,
)
from memories.presenting.markup import when
from memories.search import search_plane
from memories.selectors.staff.index_state import lag_by_tenant, lag_of
from memories.selectors.staff.inspecting import last_turn_of_member
from tenants.admin.scoping import TenantScopedAdmin, named, roles_held, signed_in, stamp
from tenants.models import Membership, Tenant, User
from tenants.principal import AUDITS, READS_MEMORY, Role

if TYPE_CHECKING:  # the theme's have no types
    from django.contrib.admin import FieldListFilter as FieldTextFilter
    from django.contrib.admin.views.main import ChangeList
else:
    from unfold.contrib.filters.admin import FieldTextFilter
    from unfold.views import ChangeList

Listed = TypeVar("Listed", bound=Model)


def named_link(address: str, words: str) -> SafeString:
    """A link in the colour of links; in its lists the theme draws links like text."""
    return format_html('<a class="font-medium text-primary-600 dark:text-primary-400" href="{}">{}</a>', address, words)


def choice_filter(title: str, parameter: str, choices: Mapping[str, tuple[str, Q]]) -> type[admin.SimpleListFilter]:
    """A filter with these choices: by the value in the address, the words, and the condition on the rows."""

    def lookups(self: admin.SimpleListFilter, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG001
        return [(value, words) for value, (words, _) in choices.items()]

    def queryset(self: admin.SimpleListFilter, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG001
        chosen = choices.get(self.value() or "")
        return rows.filter(chosen[1]) if chosen else rows

    columns = {"title": title, "parameter_name": parameter, "lookups": lookups, "queryset": queryset}
    return type("ChoiceFilter", (admin.SimpleListFilter,), columns)


def person_column(name: str) -> Any:
    """A column with the name of the person in a relation of the row, sorted by it."""

    @admin.display(description=name.replace("_", " "), ordering=f"{name}__username")
    def column(row: Model) -> str | None:
        return named(getattr(row, name))

    return staticmethod(column)


class ReadOnlyList(TenantScopedAdmin[Listed]):
    """A list without forms and actions."""

    show_full_result_count = False
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Listed | None = None) -> bool:  # noqa: ARG002
        return False

    def get_urls(self) -> list[URLPattern]:
        """The list alone."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name=f"{self.opts.app_label}_{self.opts.model_name}_changelist")]


class MemberChangeList(ChangeList):
    """A list whose rows lead to the inspector."""

    def url_for_result(self, result: Any) -> str:
        return reverse("staff:inspector", args=[result.pk])


@admin.register(MemberMemory)
class MemberMemoryAdmin(ReadOnlyList[MemberMemory]):
    """A list to choose a member from; what is theirs is behind it."""

    roles = READS_MEMORY
    list_display = ["member", "tenant", "role", "external_id", "last_conversation", "is_active"]
    preserve_filters = False
    list_filter = ["role", "is_active"]
    list_select_related = ["tenant", "user"]
    search_fields = ["user__username", "user__display_name", "=external_id"]
    ordering = ["user__username", "id"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return MemberChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[MemberMemory]:
        """With when each last said something."""
        return super().get_queryset(request).annotate(last_turn_at=last_turn_of_member())

    @admin.display(description="member", ordering="user__username")
    def member(self, row: MemberMemory) -> str | None:
        """Their name, which leads to what is remembered."""
        return named(row.user)

    @admin.display(description="last conversation", ordering="last_turn_at", empty_value="none yet")
    def last_conversation(self, row: MemberMemory) -> SafeString | str | None:
        """When they last said something."""
        moment: datetime | None = getattr(row, "last_turn_at", None)
        return when(moment) if moment else None


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
class ConsolidationRunAdmin(ReadOnlyList[ConsolidationRun]):
    """A list; each run opens under its member. Nothing is changed here."""

    roles = READS_MEMORY
    list_display = ["began", "member", "tenant", "outcome", "trigger", "extractor", "tokens", "cost", "fault"]
    list_display_links = None
    list_filter = [
        choice_filter(
            "state",
            "outcome",
            {state.value: (state.value, Q(state=state)) for state in RunState}
            | {"given_up": ("given up", Q(given_up=True))},
        ),
        ExtractorFilter,
        "trigger",
        ("user__username", FieldTextFilter),
        ("started_at", admin.DateFieldListFilter),
    ]
    list_filter_submit = True
    list_select_related = ["tenant", "user"]
    search_fields = ["user__username", "user__display_name", "=id"]
    search_help_text = "By member, or by the id of a run."
    ordering = ["-started_at", "id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsolidationRun]:
        theirs = Membership.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("user"))
        rows = super().get_queryset(request).defer("input", "output", "decisions")
        return rows.annotate(member_id=Subquery(theirs.values("pk")[:1]))

    @admin.display(description="began", ordering="started_at")
    def began(self, run: ConsolidationRun) -> SafeString:
        """When, as a link to its page; whoever left has none."""
        at = stamp(run.started_at)
        member_id = getattr(run, "member_id", None)
        return named_link(reverse("staff:run", args=[member_id, run.pk]), at) if member_id else at

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


@admin.register(OutboxEntry)
class OutboxEntryAdmin(ReadOnlyList[OutboxEntry]):
    """Above the list, how far the index is behind with each tenant."""

    empty_words = "Nothing waits: the index has every change."
    roles = READS_MEMORY
    list_display = ["waits_since", "member", "tenant", "kind", "operation", "version", "attempts", "last_error"]
    list_display_links = None
    list_filter = [
        choice_filter(
            "attempts",
            "tried",
            {"no": ("Not tried yet", Q(attempts=0)), "in_vain": ("Tried in vain", Q(attempts__gt=0))},
        ),
        "kind",
        "operation",
    ]
    list_before_template = "admin/memories/outboxentry/lag.html"
    search_fields = ["=memory_id"]
    search_help_text = "By the id of a memory."
    ordering = ["id"]

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

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """With the lag of all that is in scope, whatever the list is narrowed to."""
        entries = self.in_scope(request, OutboxEntry.objects.all()) if self.may_enter(request) else None
        lag = {} if entries is None else {"lag": lag_of(entries), "lags": lag_by_tenant(entries)}
        context = {"title": "Index and queue", "health": search_plane().health(), **lag}
        return super().changelist_view(request, {**(extra_context or {}), **context})

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
        return named_link(reverse("staff:index", args=[member_id]), str(name))

    @admin.display(description="tenant", empty_value="all")
    def tenant(self, entry: OutboxEntry) -> str | None:
        """Whose, by name."""
        return getattr(entry, "tenant_name", None)


@admin.register(ErasureRequest)
class ErasureRequestAdmin(ReadOnlyList[ErasureRequest]):
    """A list, and a page for each request with its receipt."""

    empty_words = "No erasure was asked for. An administrator does that on the page of a member, under “Erase or hold”."
    roles = AUDITS
    list_display = ["asked", "member", "tenant", "state", "erased", "asker", "decider", "finished_at"]
    list_display_links = None
    list_filter = ["state", ("tenant", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["tenant", "membership__user", "asked_by", "decided_by"]
    search_fields = ["membership__user__username", "=id", "=membership__id"]
    search_help_text = "By member, or by the id of an erasure."
    ordering = ["-asked_at", "id"]

    @admin.display(description="asked", ordering="asked_at")
    def asked(self, erasure: ErasureRequest) -> SafeString:
        """When, as a link to its page."""
        address = reverse("staff:erasure_request", args=[erasure.pk])
        return format_html('<a href="{}">{}</a>', address, stamp(erasure.asked_at))

    @admin.display(description="member")
    def member(self, erasure: ErasureRequest) -> str:
        """Whose memory; once it is erased, an id."""
        return named(erasure.membership.user) or ""

    asker, decider = person_column("asked_by"), person_column("decided_by")

    @admin.display(description="rows erased")
    def erased(self, erasure: ErasureRequest) -> str:
        """Altogether, so far."""
        return f"{sum(erasure.progress.values()):,}"


@admin.register(LegalHold)
class LegalHoldAdmin(ReadOnlyList[LegalHold]):
    """A list, a page for each hold, and one to hold a whole tenant."""

    empty_words = "No hold was placed. An administrator does that on the page of a member, under “Erase or hold”."
    roles = AUDITS
    list_display = ["placed", "whose", "tenant", "in_force", "reason", "placer", "released_at", "releaser"]
    list_display_links = None
    list_filter = [
        choice_filter(
            "state",
            "state",
            {"in_force": ("in force", Q(released_at=None)), "released": ("released", Q(released_at__isnull=False))},
        ),
        ("tenant", admin.RelatedOnlyFieldListFilter),
    ]
    list_select_related = ["tenant", "user", "placed_by", "released_by"]
    search_fields = ["user__username", "reason", "=id"]
    search_help_text = "By member, by the words of the reason, or by the id of a hold."
    ordering = ["-placed_at", "id"]
    change_list_template = "admin/memories/legalhold/list.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        user = signed_in(request)
        may_place = user.is_superuser or Role.ADMIN in roles_held(request)
        return super().changelist_view(request, {**(extra_context or {}), "may_place": may_place})

    @admin.display(description="placed", ordering="placed_at")
    def placed(self, hold: LegalHold) -> SafeString:
        """When, as a link to its page."""
        address = reverse("staff:legal_hold", args=[hold.pk])
        return format_html('<a href="{}">{}</a>', address, stamp(hold.placed_at))

    @admin.display(description="whose", ordering="user__username")
    def whose(self, hold: LegalHold) -> str:
        """A member, or everybody of the tenant."""
        return named(hold.user) or "everybody of the tenant"

    placer, releaser = person_column("placed_by"), person_column("released_by")

    @admin.display(description="in force", boolean=True)
    def in_force(self, hold: LegalHold) -> bool:
        """Whether it still holds."""
        return hold.released_at is None
