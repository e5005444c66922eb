"""The error pages of the whole site.

Debug pages (MEMORYHUB_DEBUG) hide credentials in settings and local variables: Django hides names that contain KEY,
PASS, SECRET and the like, and `Filter` hides more. A missing object and another owner's get the same page.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView
from types import FrameType
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.debug import SafeExceptionReporterFilter
from django.views.defaults import page_not_found, permission_denied

from memoryhub.db.scope import WideRole, enter
from memoryhub.languages import speak


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
    speak(getattr(request.user, "language", ""), request)  # no view was found, so nobody has looked up the reader
    return _in_admin(request, gettext("Page not found"), 404) or page_not_found(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """The 403 page, likewise; in the admin it lists the pages that are open to the reader."""
    return _in_admin(request, gettext("Permission denied"), 403, str(exception)) or permission_denied(
        request, exception
    )


def _in_admin(request: HttpRequest, title: str, status: int, reason: str = "") -> HttpResponse | None:
    """The page of an error in the admin's layout; None elsewhere, and for people who may not enter the admin."""
    if not request.path.startswith(reverse("admin:index")) or not admin.site.has_permission(request):
        return None
    enter(WideRole.STAFF)
    context = {**admin.site.each_context(request), "title": title, "reason": reason}
    return render(request, f"admin/{status}.html", context, status=status)
