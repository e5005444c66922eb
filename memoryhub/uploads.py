"""Files in forms. No view takes any unless it says so, for an upload of anybody would be written to a disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt


class _InMemory(MemoryFileUploadHandler):
    """Keeps the file in memory whatever its size; the server refuses larger requests before (settings.UPLOADS)."""

    def handle_raw_input(self, *args: Any, **kwargs: Any) -> None:
        super().handle_raw_input(*args, **kwargs)
        self.activated = True


def taking_a_file(checked: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """The view with a file in its form. `checked` must verify the CSRF token, as `admin_view` does.

    The handler is set before anything reads the form, hence before that check.
    """

    @csrf_exempt
    @wraps(checked)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.upload_handlers = [_InMemory(request)]
        return checked(request, *args, **kwargs)

    return view
