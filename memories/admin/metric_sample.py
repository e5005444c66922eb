"""The page of metrics: which alerts hold, and how the numbers went. Numbers alone, no memory of anybody."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe

from memories.admin.metrics_page import page
from memories.metrics.charting import FRAME, SPANS, USUAL_SPAN
from memories.models import MetricSample
from tenants.admin.scoping import TenantScopedAdmin, scope_of
from tenants.principal import Role


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
        scope = scope_of(request, self.roles)
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
