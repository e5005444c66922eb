"""OpenAPI: the authentication schemes, the problems of each endpoint, and the view that serves the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar

from django.utils.http import http_date
from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter
from drf_spectacular.views import SpectacularAPIView

from memories.api.acting import APP_HEADER, USER_FIELD, USER_HEADER, Acts
from memories.api.authentication import HasRights, SessionAuthentication, TokenAuthentication
from memories.api.fields import ProblemSerializer, UserId
from memories.api.openapi import ContractSchema
from memories.api.problems import handle
from memories.constants import MAX_APP_CHARACTERS
from memoryhub.problem_details import CONTENT_TYPE
from tenants.end_users import MAX_ID_CHARACTERS
from tenants.principal import Right


def problems(*statuses: int) -> dict[tuple[int, str], type[ProblemSerializer]]:
    """Return the OpenAPI responses for these problems; `memories/api/openapi.py` adds those that all may meet."""
    return {(status, CONTENT_TYPE): ProblemSerializer for status in sorted(set(statuses))}


# What docs/api.md promises under "Stability".
_NOTICE = timedelta(days=183)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """An operation that will end: when that was said, its end, and the address of what replaces it.

    Raises ValueError if less than six months lie between.
    """

    since: date
    until: date
    instead: str

    def __post_init__(self) -> None:
        if self.until - self.since < _NOTICE:
            raise ValueError(f"An operation ends {_NOTICE.days} days after its deprecation or later.")

    def headers(self) -> dict[str, str]:
        """The headers of its answers: RFC 9745, RFC 8594."""
        since, until = (datetime.combine(day, time(), UTC).timestamp() for day in (self.since, self.until))
        link = f'<{self.instead}>; rel="successor-version"'
        return {"Deprecation": f"@{since:.0f}", "Sunset": http_date(until), "Link": link}


_USER = OpenApiParameter(
    USER_HEADER,
    location=OpenApiParameter.HEADER,
    description="The tenant's own id of the user that a backend key acts for; or "
    f"`{USER_FIELD}` in the query or the JSON body.",
)


_USER_IN_PATH = OpenApiParameter(
    USER_FIELD,
    type={"type": "string", "minLength": 1, "maxLength": MAX_ID_CHARACTERS, "pattern": UserId.pattern},
    location=OpenApiParameter.PATH,
)


_APP = OpenApiParameter(
    APP_HEADER,
    type={"type": "string", "maxLength": MAX_APP_CHARACTERS, "pattern": r"^(\S(.*\S)?)?$"},
    location=OpenApiParameter.HEADER,
    description="Which of the tenant's agents calls; or `app` in the JSON body.",
)


class MemberSchema(ContractSchema):
    """Names the headers by which a backend key names the user that it acts for, and a caller the agent."""

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters that the view's serializers do not describe."""
        if f"{{{USER_FIELD}}}" in self.path:
            return [_USER_IN_PATH]
        return [] if getattr(self.view, "acts", Acts.FOR_KEY) is Acts.FOR_KEY else [_USER, _APP]


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library is untyped there
    """OpenAPI security scheme for `Authorization: Bearer …`."""

    target_class = "memories.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        """Return the OpenAPI definition of the bearer scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An API token (`mh_…`) or a backend key (`mhb_…`)."}


class MemberSessionScheme(SessionScheme):  # type: ignore[no-untyped-call]  # likewise
    """Session cookie of a signed-in browser; requests other than reads need the header X-CSRFToken."""

    target_class = "memories.api.authentication.SessionAuthentication"
    name = "session"


class SchemaView(SpectacularAPIView):
    """Serves the OpenAPI schema as YAML or JSON, by `Accept`, to whoever may use the API."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [HasRights]
    rights: ClassVar[Mapping[str, tuple[Right, ...]]] = {"GET": ()}
    acts = Acts.FOR_KEY

    def get_exception_handler(self) -> Any:
        """Return the API's handler, so that errors here are problem details as well."""
        return handle
