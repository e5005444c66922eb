"""The admin site, in the frame of all pages.

Settings name the functions that build its navigation and the context of its first page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.apps import AdminConfig
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from memoryhub.db.scope import WideRole, enter
from memoryhub.languages import gettext_lazy
from memoryhub.model_names import translate_names

View = Callable[..., HttpResponseBase]


class AskFirst(Exception):
    """Raised by a view of the admin: the reader must fill in a form before; `answer` is that form or leads to it."""

    def __init__(self, answer: HttpResponse) -> None:
        super().__init__(answer)
        self.answer = answer


class Site(admin.AdminSite):
    """The admin site of tenants and memories."""

    site_header = site_title = "memoryhub"
    index_title = gettext_lazy("What needs attention")

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002 - Django's signature
        """Let the page read as staff once permission is checked; AskFirst becomes its answer."""

        @wraps(view)
        def as_staff(*args: Any, **kwargs: Any) -> HttpResponseBase:
            enter(WideRole.STAFF)  # until the response is rendered
            response: HttpResponseBase = view(*args, **kwargs)
            return response

        return _asking_first(super().admin_view(as_staff, cacheable))

    def get_urls(self) -> list[Any]:
        """Leave out Django's `r/`, which redirects to an object's own page: unused, and it fails for bad ids."""
        return [pattern for pattern in super().get_urls() if getattr(pattern, "name", None) != "view_on_site"]

    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002
        """Redirect to the site's sign-in page, which checks the next address. Raises PermissionDenied."""
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            raise PermissionDenied(
                gettext("Your account cannot open the admin. Sign out, and in again as somebody who can.")
            )
        there = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
        return redirect(f"{reverse('login')}?{urlencode({REDIRECT_FIELD_NAME: there})}")

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # type: ignore[override]  # noqa: ARG002 - it redirects
        """Redirect to the page of all accounts."""
        return redirect("account_change_password")

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Add the groups of links beside every page."""
        return {
            **super().each_context(request),
            "sidebar_navigation": import_string(settings.ADMIN_NAVIGATION)(request),
        }

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """The first page: what needs attention."""
        context = import_string(settings.ADMIN_DASHBOARD)(request, extra_context or {})
        return super().index(request, context)


class MemoryhubAdminConfig(AdminConfig):
    """Configures Django's admin to use `Site`."""

    default_site = "memoryhub.admin_site.Site"

    def ready(self) -> None:
        """Find the pages, name them, and drop those of libraries, which change rows without roles and events."""
        super().ready()
        for model in [*admin.site._registry]:
            if model._meta.app_label not in {"memories", "tenants"}:
                admin.site.unregister(model)
            else:
                translate_names(model)


def _asking_first(view: View) -> View:
    @wraps(view)
    def asking(*args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(*args, **kwargs)
        except AskFirst as first:
            return first.answer

    return asking
