"""The first page of the admin."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001 - unfold's signature
    """What the first page shows, by role."""
    return context
