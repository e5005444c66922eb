"""The sign-in page and the error pages of the whole site.

Debug pages (MEMORYHUB_DEBUG) hide credentials in settings and local variables: Django hides names that contain KEY,
PASS, SECRET and the like, and `Filter` hides more. A missing object and another owner's get the same page.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView
from types import FrameType
from typing import Any

from csp.constants import UNSAFE_EVAL
from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.debug import SafeExceptionReporterFilter
from django.views.defaults import page_not_found

from memoryhub.db.scope import WideRole, enter


class Filter(SafeExceptionReporterFilter):
    """Hides settings and local variables with more names than Django does."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|CREDENTIAL|ENCODED|BROKER|DATABASE_URL|^ENV$",
        re.IGNORECASE,
    )

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: FrameType) -> ItemsView[str, Any]:
        """The variables of a frame, with secrets replaced."""
        found = super().get_traceback_frame_variables(request, tb_frame)
        return {name: self.cleanse_setting(name, value) for name, value in found}.items()


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """The 404 page: in the admin's layout for staff under the admin's URL, else the site's."""
    if not request.path.startswith(reverse("admin:index")) or not admin.site.has_permission(request):
        return page_not_found(request, exception)
    enter(WideRole.STAFF)
    context = {**admin.site.each_context(request), "title": "Nothing here"}
    answer: HttpResponse = render(request, "admin/404.html", context, status=404)
    answer._csp_update = {"script-src": [UNSAFE_EVAL]}  # type: ignore[attr-defined]  # as of all pages of the admin
    return answer


class SignIn(LoginView):
    """Redirects members to their chat after sign-in, and superusers without a membership to the admin."""

    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        """The page after sign-in if the request named none."""
        user = self.request.user
        if user.is_authenticated and user.is_superuser and not user.memberships.exists():
            return reverse("admin:index")
        return super().get_default_redirect_url()
