"""The page of metrics: which alerts hold, and how the numbers went. Numbers alone, no memory of anybody."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from memories.admin.metrics_page import Scope, page
from memories.metrics.charting import FRAME, SPANS, USUAL_SPAN
from memories.models import MetricSample
from tenants.admin.scoping import TenantScopedAdmin, signed_in
from tenants.models import Tenant
from tenants.principal import Role
from tenants.selectors import tenant_ids_of


@admin.register(MetricSample)
class MetricSampleAdmin(TenantScopedAdmin[MetricSample]):
    """One page in the place of the list. Tenant staff see their tenants, the platform's staff all."""

    roles = (Role.ADMIN, Role.AUDITOR, Role.SUPPORT)

    def get_urls(self) -> list[URLPattern]:
        """No sample has a page of its own."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_changelist"
        return [path("", self.admin_site.admin_view(self.metrics), name=name)]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: MetricSample | None = None) -> bool:  # noqa: ARG002
        return False

    @method_decorator(require_safe)
    def metrics(self, request: HttpRequest) -> TemplateResponse:
        """`?tenant=` its slug, `?span=` one of SPANS."""
        if not self.may_enter(request):
            raise PermissionDenied
        scope = self._scope(request)
        span = SPANS.get(request.GET.get("span", ""), USUAL_SPAN)
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": "Metrics",
            "opts": self.opts,
            "scope": scope,
            "span": span,
            "spans": list(SPANS.values()),
            "frame": FRAME,
            "page": page(scope, span, timezone.localtime()),
        }
        return TemplateResponse(request, "admin/memories/metrics.html", context)

    def _scope(self, request: HttpRequest) -> Scope:
        """A tenant of others is as one that does not exist."""
        user = signed_in(request)
        tenants = Tenant.objects.filter(is_active=True)
        if not user.is_superuser:
            tenants = tenants.filter(id__in=tenant_ids_of(user, self.roles))
        named = tuple(tenants)
        slug = request.GET.get("tenant", "")
        chosen = next((tenant for tenant in named if tenant.slug == slug), None)
        if slug and chosen is None:
            raise Http404
        if chosen is None and len(named) == 1 and not user.is_superuser:
            (chosen,) = named
        return Scope(named, everything=user.is_superuser, chosen=chosen)
