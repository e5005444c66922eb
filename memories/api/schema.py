"""The OpenAPI description: how callers authenticate, which problems an address answers with, where it is served."""

from __future__ import annotations

from typing import Any

from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiResponse
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from memories.api.fields import ProblemSerializer
from memories.api.problems import CONTENT_TYPE, handle

_BAD_INPUT = 400
_SAID = {
    400: "Bad input: which field, and why. Nothing was stored.",
    401: "No token and no session, or one that is not valid.",
    403: "The token lacks a scope, or the CSRF token is missing.",
    404: "No such thing, or not yours: the two look the same.",
    409: "It is no longer in the state that the request assumes.",
    411: "The body comes without a Content-Length.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "It holds what is not stored, such as a key or a card number: see `spots`. Nothing was stored.",
    502: "The language model gave no whole answer. The turn is stored: see `session_id`, `turn`, `retryable`.",
}


def problems(*statuses: int) -> dict[tuple[int, str], OpenApiResponse]:
    """The problems of an address, with those that every address has."""
    everywhere = {401, 403, 411, 413, 415} if _BAD_INPUT in statuses else {401, 403}
    return {
        (status, CONTENT_TYPE): OpenApiResponse(ProblemSerializer, _SAID[status])
        for status in sorted(everywhere | set(statuses))
    }


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library is untyped there
    """`Authorization: Bearer mh_…`."""

    target_class = "memories.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        """An API token."""
        return {"type": "http", "scheme": "bearer", "description": "An API token (`mh_…`)."}


class MemberSessionScheme(SessionScheme):  # type: ignore[no-untyped-call]  # likewise
    """A signed-in browser; anything but reading needs the header X-CSRFToken."""

    target_class = "memories.api.authentication.SessionAuthentication"
    name = "session"


class SchemaView(SpectacularAPIView):
    """The description itself, as YAML or JSON by `Accept`. It tells nothing about anybody, so anybody may read it."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def get_exception_handler(self) -> Any:
        """Errors are problem details here too."""
        return handle
