"""Addresses for the tests of the middleware: one page that says who asks."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from tenants.middleware import TenantRequest


@csrf_exempt
@login_not_required
def answer(request: HttpRequest) -> HttpResponse:
    """The user and tenant of the principal, or "nobody"."""
    principal = cast("TenantRequest", request).principal
    if principal is None:
        return HttpResponse("nobody")
    text = f"{principal.user_id} in {principal.tenant_id}"
    return HttpResponse(text, headers={"X-Principal-Request-ID": principal.request_id})


urlpatterns = [path("tests/whoami", answer)]
