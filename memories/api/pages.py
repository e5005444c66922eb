"""Pages about the API: the console, and `/llms.txt` (llmstxt.org) for a language model that writes the program."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import path
from django.views.decorators.http import require_safe
from django.views.generic import TemplateView


class ConsoleView(TemplateView):
    """Swagger UI for whoever is signed in: requests are made with their session."""

    template_name = "api/console.html"


@login_not_required
@require_safe
def llms(request: HttpRequest) -> HttpResponse:
    """Respond with the text; it holds nobody's memory."""
    places = {name: request.build_absolute_uri(path) for name, path in (("root", "/api/v1"), ("mcp", "/mcp"))}
    text = render_to_string("api/llms.txt", places)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


urlpatterns = [
    path("api/v1/docs/", ConsoleView.as_view(), name="console"),
    path("llms.txt", llms, name="llms"),
]
