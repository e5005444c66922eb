"""What the API says of itself: its index, and the server's version."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.acting import Acts
from memories.api.serializers.about import VersionResponse
from memories.api.views.base import ApiView, operation
from memoryhub import __version__

API_VERSION = "v1"
_COLLECTIONS = (
    *("messages", "context", "operations", "turns", "sessions", "recall", "memories", "items"),
    *("forget-proposals", "reviews", "runs", "looks", "audit", "export", "import", "me", "members", "tokens"),
    *("events", "webhooks", "tenant-audit", "policy", "erasures", "holds"),
)


class IndexView(ApiView):
    """Where everything is. It needs no token, and names nobody and no version."""

    authentication_classes = []
    permission_classes = [AllowAny]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """List the addresses that describe the API, and the collections."""
        places = {name: request.build_absolute_uri(reverse(f"api:{name}")) for name in ("schema", "version")}
        guides = {"docs": "console", "llms": "llms"}
        places |= {name: request.build_absolute_uri(reverse(view)) for name, view in guides.items()}
        collections = {name: request.build_absolute_uri(reverse(f"api:{name}")) for name in _COLLECTIONS}
        return Response({"api": API_VERSION, **places, "collections": collections})


class VersionView(ApiView):
    """The version of the server."""

    acts = Acts.FOR_EITHER

    @operation("version", (), gives=VersionResponse)
    def get(self) -> dict[str, Any]:
        """Read the versions of the API and of the server."""
        return {"api": API_VERSION, "server": __version__}
