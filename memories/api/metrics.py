"""The `/metrics` endpoint for Prometheus. Its figures cover all tenants.

Access needs MEMORYHUB_METRICS_TOKEN or a superuser session. Other requests get 401, or 404 if no token is configured.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from memories.metrics.exposition import CONTENT_TYPE, exposition
from memoryhub.db.scope import WideRole, acting_as
from tenants.models import User


@never_cache
@login_not_required
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """Respond with the metrics in the Prometheus text format."""
    if _has_token(request) or _runs_the_platform(request):
        with acting_as(WideRole.JOBS):
            return HttpResponse(exposition(), content_type=CONTENT_TYPE)
    if not settings.MEMORYHUB_METRICS_TOKEN:
        raise Http404
    answer = HttpResponse("Give the token: Authorization: Bearer …\n", status=401, content_type="text/plain")
    answer.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
    return answer


def _has_token(request: HttpRequest) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    token = settings.MEMORYHUB_METRICS_TOKEN
    return bool(token) and scheme.lower() == "bearer" and constant_time_compare(given.strip(), token)


def _runs_the_platform(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_active and request.user.is_superuser


urlpatterns = [path("metrics", metrics, name="metrics")]
