"""OpenAPI: the authentication schemes, the problems of each endpoint, and the view that serves the schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiResponse
from drf_spectacular.views import SpectacularAPIView

from memories.api.authentication import HasRights, SessionAuthentication, TokenAuthentication
from memories.api.fields import ProblemSerializer
from memories.api.problems import handle
from memoryhub.problem_details import CONTENT_TYPE
from tenants.principal import Right

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
    429: "Beyond a limit of use; `Retry-After` says how long to wait. Nothing was done or stored.",
    502: "The language model gave no whole answer. The turn is stored: see `session_id`, `turn`, `retryable`.",
}


def problems(*statuses: int) -> dict[tuple[int, str], OpenApiResponse]:
    """Return the OpenAPI responses for these problem statuses and those common to all endpoints."""
    everywhere = {401, 403, 411, 413, 415, 429} if _BAD_INPUT in statuses else {401, 403, 429}
    return {
        (status, CONTENT_TYPE): OpenApiResponse(ProblemSerializer, _SAID[status])
        for status in sorted(everywhere | set(statuses))
    }


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library is untyped there
    """OpenAPI security scheme for `Authorization: Bearer mh_…`."""

    target_class = "memories.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        """Return the OpenAPI definition of the bearer scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An API token (`mh_…`)."}


class MemberSessionScheme(SessionScheme):  # type: ignore[no-untyped-call]  # likewise
    """Session cookie of a signed-in browser; requests other than reads need the header X-CSRFToken."""

    target_class = "memories.api.authentication.SessionAuthentication"
    name = "session"


class SchemaView(SpectacularAPIView):
    """Serves the OpenAPI schema as YAML or JSON, by `Accept`, to whoever may use the API."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [HasRights]
    rights: ClassVar[Mapping[str, tuple[Right, ...]]] = {"GET": ()}

    def get_exception_handler(self) -> Any:
        """Return the API's handler, so that errors here are problem details as well."""
        return handle
