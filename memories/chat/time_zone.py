"""Times are shown in the reader's own zone, which their browser names in a cookie; without one, in the site's."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

TIME_ZONE_COOKIE = "tz"
_ZONE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]{0,31}(/[A-Za-z0-9_+\-]{1,31}){0,2}", re.ASCII)


class TimeZoneMiddleware:
    """Activate the zone of the cookie; a name that is none is ignored."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer in the reader's zone."""
        with timezone.override(zone_named(request.COOKIES.get(TIME_ZONE_COOKIE, ""))):
            return self.get_response(request)


def zone_named(name: str) -> zoneinfo.ZoneInfo | None:
    """The zone of that name; None (the site's own) if there is none."""
    if not _ZONE_NAME.fullmatch(name):
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        return None
