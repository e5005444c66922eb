"""Read-only admin lists: members, consolidation runs, index changes, erasures and legal holds.

The lists show ids, numbers, states and names, never the text of a member's memory. Their rows link to pages in
`memories/staff`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from django_stubs_ext import StrOrPromise

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
from memoryhub.languages import gettext_lazy, number
from tenants.admin.scoping import ScopedChangeList, TenantScopedAdmin, by_name, named, roles_held, signed_in, stamp
from tenants.models import Membership, Tenant, User
from tenants.principal import AUDITS, READS_MEMORY, Role

Listed = TypeVar("Listed", bound=Model)


def named_link(address: str, words: str) -> SafeString:
    """A link in a list."""
    return format_html('<a href="{}">{}</a>', address, words)


def choice_filter(
    title: str, parameter: str, choices: Mapping[str, tuple[StrOrPromise, Q]]
) -> type[admin.SimpleListFilter]:
    """A list filter from `choices`: URL value to (label, condition on the rows)."""

    def lookups(self: admin.SimpleListFilter, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG001
        return [(value, str(words)) for value, (words, __) in choices.items()]

    def queryset(self: admin.SimpleListFilter, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG001
        chosen = choices.get(self.value() or "")
        return rows.filter(chosen[1]) if chosen else rows

    columns = {"title": title, "parameter_name": parameter, "lookups": lookups, "queryset": queryset}
    return type("ChoiceFilter", (admin.SimpleListFilter,), columns)


def person_column(name: str) -> Any:
    """A column with the name of the user in the relation `name`, sortable by it."""

    @admin.display(description=gettext_lazy(name.replace("_", " ")), ordering=by_name(name))
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
        """Only the URL of the list."""
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name=f"{self.opts.app_label}_{self.opts.model_name}_changelist")]


class MemberChangeList(ScopedChangeList):
    """A list whose rows link to the inspector."""

    def url_for_result(self, result: Any) -> str:
        return reverse("staff:inspector", args=[result.pk])


@admin.register(MemberMemory)
class MemberMemoryAdmin(ReadOnlyList[MemberMemory]):
    """The members; each row links to that member's memory."""

    roles = READS_MEMORY
    list_display = ["member", "tenant", "role", "external_id", "last_conversation", "is_active"]
    preserve_filters = False
    list_filter = ["role", "is_active"]
    list_select_related = ["tenant", "user"]
    search_fields = ["user__username", "user__display_name", "=external_id"]
    ordering = [by_name("user"), "id"]  # type: ignore[list-item]  # Django takes expressions, too

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return MemberChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[MemberMemory]:
        """Add `last_turn_at`, the time of the member's last turn."""
        return super().get_queryset(request).annotate(last_turn_at=last_turn_of_member())

    @admin.display(description=gettext_lazy("member"), ordering=by_name("user"))
    def member(self, row: MemberMemory) -> str | None:
        """The member's name, which links to the inspector."""
        return named(row.user)

    @admin.display(
        description=gettext_lazy("last conversation"),
        ordering="last_turn_at",
        empty_value=cast("str", pgettext_lazy("conversation", "none yet")),
    )
    def last_conversation(self, row: MemberMemory) -> SafeString | str | None:
        """The time of the member's last turn."""
        moment: datetime | None = getattr(row, "last_turn_at", None)
        return when(moment) if moment else None


class ExtractorFilter(admin.SimpleListFilter):
    """Filters by extractor, the rules or a model; offers only those that ran in the tenants in scope."""

    title = gettext_lazy("extractor")
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
    """The consolidation runs; each links to its page under the member."""

    roles = READS_MEMORY
    list_display = ["began", "member", "tenant", "outcome", "trigger", "extractor", "tokens", "cost", "fault"]
    list_display_links = None
    list_filter = [
        choice_filter(
            gettext_lazy("state"),
            "outcome",
            {state.value: (state.label, Q(state=state)) for state in RunState}
            | {"given_up": (gettext_lazy("given up"), Q(given_up=True))},
        ),
        ExtractorFilter,
        "trigger",
        ("started_at", admin.DateFieldListFilter),
    ]
    list_select_related = ["tenant", "user"]
    search_fields = ["user__username", "user__display_name", "=id"]
    search_help_text = gettext_lazy("By member, or by the id of a run.")
    ordering = ["-started_at", "id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsolidationRun]:
        theirs = Membership.objects.filter(tenant=OuterRef("tenant"), user=OuterRef("user"))
        rows = super().get_queryset(request).defer("input", "output", "decisions")
        return rows.annotate(member_id=Subquery(theirs.values("pk")[:1]))

    @admin.display(description=gettext_lazy("began"), ordering="started_at")
    def began(self, run: ConsolidationRun) -> SafeString:
        """The start time, as a link to the run's page; plain text if the user has no membership any more."""
        at = stamp(run.started_at)
        member_id = getattr(run, "member_id", None)
        return named_link(reverse("staff:run", args=[member_id, run.pk]), at) if member_id else at

    @admin.display(description=gettext_lazy("member"), ordering=by_name("user"))
    def member(self, run: ConsolidationRun) -> str | None:
        """The member whose episodes the run read."""
        return named(run.user)

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def outcome(self, run: ConsolidationRun) -> str:
        """The state of the run."""
        return _("given up") if run.given_up else run.get_state_display()

    @admin.display(description=gettext_lazy("tokens in / out"), ordering="input_tokens")
    def tokens(self, run: ConsolidationRun) -> str:
        """The tokens that the model read and wrote."""
        return f"{number(run.input_tokens)} / {number(run.output_tokens)}"

    @admin.display(description=gettext_lazy("error"), ordering="error", empty_value="")
    def fault(self, run: ConsolidationRun) -> str | None:
        """The error of a failed run."""
        return run.error or None


@admin.register(OutboxEntry)
class OutboxEntryAdmin(ReadOnlyList[OutboxEntry]):
    """The pending index changes; above the list, the index lag of each tenant."""

    empty_words = gettext_lazy("No pending changes: the index is up to date.")
    roles = READS_MEMORY
    list_display = [
        "waits_since",
        "member",
        "tenant",
        "kind",
        "operation",
        "version",
        "attempts",
        "last_error",
        "set_aside_at",
    ]
    list_display_links = None
    list_filter = [
        choice_filter(
            gettext_lazy("attempts"),
            "tried",
            {
                "no": (gettext_lazy("Not tried yet"), Q(attempts=0)),
                "in_vain": (gettext_lazy("Failed"), Q(attempts__gt=0)),
                "set_aside": (gettext_lazy("Set aside"), Q(set_aside_at__isnull=False)),
            },
        ),
        "kind",
        "operation",
    ]
    list_before_template = "admin/memories/outboxentry/lag.html"
    search_fields = ["=memory_id"]
    search_help_text = gettext_lazy("By the id of a memory.")
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
        """Add the lag of all tenants in scope, which ignores the filters of the list."""
        entries = self.in_scope(request, OutboxEntry.objects.all()) if self.may_enter(request) else None
        lag = {} if entries is None else {"lag": lag_of(entries), "lags": lag_by_tenant(entries)}
        context = {"title": _("Index and queue"), "health": search_plane().health(), **lag}
        return super().changelist_view(request, {**(extra_context or {}), **context})

    @admin.display(description=gettext_lazy("pending since"), ordering="id")
    def waits_since(self, entry: OutboxEntry) -> SafeString:
        """The time at which the change was queued."""
        return stamp(entry.created_at)

    @admin.display(description=gettext_lazy("member"), empty_value=gettext_lazy("shared"))
    def member(self, entry: OutboxEntry) -> SafeString | str | None:
        """The owner, as a link to all of their pending changes."""
        name, member_id = getattr(entry, "member_name", None), getattr(entry, "member_id", None)
        if not member_id:
            return name
        return named_link(reverse("staff:index", args=[member_id]), str(name))

    @admin.display(description=gettext_lazy("tenant"), empty_value=gettext_lazy("all"))
    def tenant(self, entry: OutboxEntry) -> str | None:
        """The tenant's name; None for memory that all tenants share."""
        return getattr(entry, "tenant_name", None)


@admin.register(ErasureRequest)
class ErasureRequestAdmin(ReadOnlyList[ErasureRequest]):
    """The erasure requests; each links to its page with the receipt."""

    empty_words = gettext_lazy(
        "No erasure was asked for. An administrator does that on the page of a member, under “Erase or hold”."
    )
    roles = AUDITS
    list_display = ["asked", "member", "tenant", "state", "erased", "asker", "decider", "finished_at"]
    list_display_links = None
    list_filter = ["state", ("tenant", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["tenant", "membership__user", "asked_by", "decided_by"]
    search_fields = ["membership__user__username", "=id", "=membership__id"]
    search_help_text = gettext_lazy("By member, or by the id of an erasure.")
    ordering = ["-asked_at", "id"]

    @admin.display(description=gettext_lazy("asked"), ordering="asked_at")
    def asked(self, erasure: ErasureRequest) -> SafeString:
        """The time of the request, as a link to its page."""
        address = reverse("staff:erasure_request", args=[erasure.pk])
        return format_html('<a href="{}">{}</a>', address, stamp(erasure.asked_at))

    @admin.display(description=gettext_lazy("member"))
    def member(self, erasure: ErasureRequest) -> str:
        """The member to erase; a short id after the erasure."""
        return named(erasure.membership.user) or ""

    asker, decider = person_column("asked_by"), person_column("decided_by")

    @admin.display(description=gettext_lazy("rows erased"))
    def erased(self, erasure: ErasureRequest) -> str:
        """The number of rows erased so far."""
        return number(sum(erasure.progress.values()))


@admin.register(LegalHold)
class LegalHoldAdmin(ReadOnlyList[LegalHold]):
    """The legal holds; each links to its page."""

    empty_words = gettext_lazy(
        "No hold was placed. An administrator does that on the page of a member, under “Erase or hold”."
    )
    roles = AUDITS
    list_display = ["placed", "whose", "tenant", "in_force", "reason", "placer", "released_at", "releaser"]
    list_display_links = None
    list_filter = [
        choice_filter(
            gettext_lazy("state"),
            "state",
            {
                "in_force": (gettext_lazy("in force"), Q(released_at=None)),
                "released": (gettext_lazy("released"), Q(released_at__isnull=False)),
            },
        ),
        ("tenant", admin.RelatedOnlyFieldListFilter),
    ]
    list_select_related = ["tenant", "user", "placed_by", "released_by"]
    search_fields = ["user__username", "reason", "=id"]
    search_help_text = gettext_lazy("By member, by the words of the reason, or by the id of a hold.")
    ordering = ["-placed_at", "id"]
    change_list_template = "admin/memories/legalhold/list.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        user = signed_in(request)
        may_place = user.is_superuser or Role.ADMIN in roles_held(request)
        return super().changelist_view(request, {**(extra_context or {}), "may_place": may_place})

    @admin.display(description=gettext_lazy("placed"), ordering="placed_at")
    def placed(self, hold: LegalHold) -> SafeString:
        """The time at which the hold was placed, as a link to its page."""
        address = reverse("staff:legal_hold", args=[hold.pk])
        return format_html('<a href="{}">{}</a>', address, stamp(hold.placed_at))

    @admin.display(description=gettext_lazy("whose"), ordering=by_name("user"))
    def whose(self, hold: LegalHold) -> str:
        """The member under hold, or everybody of the tenant."""
        return named(hold.user) or _("everybody of the tenant")

    placer, releaser = person_column("placed_by"), person_column("released_by")

    @admin.display(description=gettext_lazy("in force"), boolean=True)
    def in_force(self, hold: LegalHold) -> bool:
        """Whether the hold has not been released."""
        return hold.released_at is None
