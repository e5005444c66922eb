"""Legal holds across the tenants in scope: in force and released, with who placed them and why.

Invariant: administrators place and release, auditors read. A hold on one member is placed on the member's pages
(`members/erasure.py`), one on a whole tenant here.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memories.errors import MemoriesError, NotFound
from memories.models import LegalHold
from memories.services.erasure.holds import place_hold, release_hold
from tenants.admin.scoping import TenantScopedAdmin, acting, named, signed_in, stamp
from tenants.errors import TenantsError
from tenants.models import Tenant
from tenants.principal import ADMINISTERS, AUDITS
from tenants.selectors import has_role, tenant_ids_of

ADDRESS = "admin:memories_legalhold_"


class InForceFilter(admin.SimpleListFilter):
    """In force, or released."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [("in_force", "in force"), ("released", "released")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[LegalHold]) -> QuerySet[LegalHold]:  # noqa: ARG002
        if self.value() in ("in_force", "released"):
            return queryset.filter(released_at__isnull=self.value() == "in_force")
        return queryset


@admin.register(LegalHold)
class LegalHoldAdmin(TenantScopedAdmin[LegalHold]):
    """A list, a page for each hold, and one to hold a whole tenant."""

    empty_words = "No hold was placed. An administrator does that on the page of a member, under “Erase or hold”."
    roles = AUDITS
    list_display = ["placed", "whose", "tenant", "in_force", "reason", "placer", "released_at", "releaser"]
    list_display_links = None
    list_filter = [InForceFilter, ("tenant", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["tenant", "user", "placed_by", "released_by"]
    show_full_result_count = False
    search_fields = ["user__username", "reason", "=id"]
    search_help_text = "By member, by the words of the reason, or by the id of a hold."
    ordering = ["-placed_at", "id"]
    actions = None
    change_list_template = "admin/memories/legalhold/list.html"

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - see `place`
        return False

    def has_change_permission(self, request: HttpRequest, obj: LegalHold | None = None) -> bool:  # noqa: ARG002
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[LegalHold]:
        return super().get_queryset(request).select_related(*self.list_select_related)

    def get_urls(self) -> list[URLPattern]:
        """The list, the page of one hold, and what is done about holds."""
        view, name = self.admin_site.admin_view, "memories_legalhold_"
        place = require_http_methods(["GET", "POST"])(self.place)
        return [
            path("", view(self.changelist_view), name=f"{name}changelist"),
            path("place/", view(place), name=f"{name}place"),
            path("<uuid:hold_id>/", view(require_GET(self.page)), name=f"{name}change"),
            path("<uuid:hold_id>/release/", view(require_POST(self.release)), name=f"{name}release"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context = {**(extra_context or {}), "may_place": self._tenants(request).exists()}
        return super().changelist_view(request, context)

    def page(self, request: HttpRequest, hold_id: UUID) -> HttpResponse:
        """A hold, and whether the reader may release it."""
        hold = self._row(request, hold_id)
        return self._render(request, "hold", hold=hold, may_release=self._may_decide(request, hold))

    def place(self, request: HttpRequest) -> HttpResponse:
        """Hold everything of a tenant that the reader administers."""
        tenants = self._tenants(request)
        if not tenants.exists():
            raise PermissionDenied("Only an administrator places a legal hold.")
        if request.method == "GET":
            return self._render(request, "place", tenants=tenants, reason="")
        wanted = request.POST.get("tenant", "")
        chosen = next((each for each in tenants if str(each.pk) == wanted), None)
        if chosen is None:
            raise Http404("No such tenant.")
        reason = request.POST.get("reason", "")
        try:
            hold = place_hold(acting(request), tenant_id=chosen.pk, reason=reason)
        except (MemoriesError, TenantsError) as error:
            self.message_user(request, str(error), messages.ERROR)
            return self._render(request, "place", status=400, tenants=tenants, reason=reason, chosen=chosen)
        self.message_user(request, "From now on nothing of this tenant is erased or expires.", messages.SUCCESS)
        return HttpResponseRedirect(reverse(f"{ADDRESS}change", args=[hold.pk]))

    def release(self, request: HttpRequest, hold_id: UUID) -> HttpResponse:
        """End a hold."""
        hold = self._row(request, hold_id)
        if not self._may_decide(request, hold):
            raise PermissionDenied("Only an administrator releases a legal hold.")
        try:
            release_hold(acting(request), hold_id=hold.pk, reason=request.POST.get("reason", ""))
            self.message_user(request, "The hold is released.", messages.SUCCESS)
        except NotFound as error:
            raise Http404(str(error)) from error
        except (MemoriesError, TenantsError) as error:
            self.message_user(request, str(error), messages.ERROR)
        return HttpResponseRedirect(reverse(f"{ADDRESS}change", args=[hold.pk]))

    @admin.display(description="placed", ordering="placed_at")
    def placed(self, hold: LegalHold) -> SafeString:
        """When, as a link to its page."""
        address = reverse(f"{ADDRESS}change", args=[hold.pk])
        return format_html('<a href="{}">{}</a>', address, stamp(hold.placed_at))

    @admin.display(description="whose", ordering="user__username")
    def whose(self, hold: LegalHold) -> str:
        """A member, or everybody of the tenant."""
        return named(hold.user) or "everybody of the tenant"

    @admin.display(description="placed by", ordering="placed_by__username")
    def placer(self, hold: LegalHold) -> str | None:
        """Who placed it."""
        return named(hold.placed_by)

    @admin.display(description="released by", ordering="released_by__username")
    def releaser(self, hold: LegalHold) -> str | None:
        """Who released it."""
        return named(hold.released_by)

    @admin.display(description="in force", boolean=True)
    def in_force(self, hold: LegalHold) -> bool:
        """Whether it still holds."""
        return hold.released_at is None

    def _render(self, request: HttpRequest, name: str, *, status: int = 200, **context: Any) -> HttpResponse:
        frame = {**self.admin_site.each_context(request), "title": "Legal hold", "is_fullwidth": "1"}
        return TemplateResponse(request, f"admin/memories/legalhold/{name}.html", {**frame, **context}, status=status)

    def _row(self, request: HttpRequest, hold_id: UUID) -> LegalHold:
        if not self.may_enter(request):
            raise PermissionDenied
        found = self.get_queryset(request).filter(pk=hold_id).first()
        if found is None:
            raise Http404("No such legal hold.")
        return found

    def _tenants(self, request: HttpRequest) -> QuerySet[Tenant]:
        user = signed_in(request)
        tenants = Tenant.objects.order_by("name")
        return tenants if user.is_superuser else tenants.filter(pk__in=tenant_ids_of(user, ADMINISTERS))

    def _may_decide(self, request: HttpRequest, hold: LegalHold) -> bool:
        user = signed_in(request)
        return user.is_superuser or has_role(user, hold.tenant_id, ADMINISTERS)
