"""Switches a session to another of the user's tenants. Tenants of others answer 404, as unknown ones do."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import path
from django.views.decorators.http import require_POST

from memoryhub.db.scope import WideRole, acting_as
from memoryhub.redirects import next_address
from tenants.errors import NoMembership
from tenants.middleware import remember_tenant
from tenants.models import User
from tenants.selectors import membership_in


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Takes the tenant's id in `tenant`, and in `next` a page of this site to redirect to (default: the first page)."""
    if not isinstance(request.user, User):
        raise Http404
    try:
        with acting_as(WideRole.SIGN_IN):  # the session's tenant would hide the others
            membership = membership_in(UUID(request.POST.get("tenant", "")), request.user)
    except (ValueError, NoMembership) as error:
        raise Http404("No such tenant.") from error
    remember_tenant(request, membership)
    return HttpResponseRedirect(next_address(request, resolve_url(settings.LOGIN_REDIRECT_URL)))


app_name = "tenants"

urlpatterns = [path("tenant/switch/", switch, name="switch")]
