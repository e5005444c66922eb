"""Times in lists and fields of the admin, as Django's own columns beside them write theirs."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString


def written(moment: datetime) -> str:
    """In the reader's zone, such as `2026-03-03 14:05 CET` (memoryhub/formats/)."""
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")


def stamp(moment: datetime) -> SafeString:
    """The same for a page, with the seconds in a tooltip."""
    exact = date_format(timezone.localtime(moment), "Y-m-d H:i:s T")
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, written(moment))
