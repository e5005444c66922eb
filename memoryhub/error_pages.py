"""What a page with source and settings (MEMORYHUB_DEBUG) may show: no credential, neither as a setting nor as a local.

Django hides names that hold KEY, PASS, SECRET and the like; ours go by other names as well.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView
from types import FrameType
from typing import Any

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class Filter(SafeExceptionReporterFilter):
    """Hides the values of more names, among settings and among the variables of each frame."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|CREDENTIAL|ENCODED|BROKER|DATABASE_URL|^ENV$",
        re.IGNORECASE,
    )

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: FrameType) -> ItemsView[str, Any]:
        """The variables of a frame, without secrets."""
        found = super().get_traceback_frame_variables(request, tb_frame)
        return {name: self.cleanse_setting(name, value) for name, value in found}.items()
