"""What all views of the API share: JSON in and out, a principal, no caching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.api.authentication import HasRights, SessionAuthentication, TokenAuthentication
from memories.api.fields import StrictSerializer
from memories.api.problems import JsonParser, LengthRequired, handle
from tenants.principal import Principal, Right


class ApiView(APIView):
    """A subclass has a method for each verb: parse, call a service or selector, render."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [HasRights]
    parser_classes = [JsonParser]
    renderer_classes = [JSONRenderer]
    http_method_names = ["get", "head", "post", "patch", "delete"]
    rights: ClassVar[Mapping[str, tuple[Right, ...]]] = {}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse a body of unannounced length, which would be read as none. Raises LengthRequired."""
        super().initial(request, *args, **kwargs)
        if "Transfer-Encoding" in request.headers and not request.headers.get("Content-Length"):
            raise LengthRequired

    def get_exception_handler(self) -> Any:
        """Errors are problem details."""
        return handle

    @property
    def principal(self) -> Principal:
        """Who calls."""
        return cast("Principal", self.request.auth)

    def body(self, shape: type[StrictSerializer]) -> dict[str, Any]:
        """The body of the request, checked. Raises ValidationError."""
        return _checked(shape, self.request.data)

    def query(self, shape: type[StrictSerializer]) -> dict[str, Any]:
        """The query of the address, checked; of a parameter given twice, the last. Raises ValidationError."""
        return _checked(shape, dict(self.request.query_params.items()))

    def finalize_response(self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any) -> Any:
        """Forbid caches: an answer holds somebody's memory."""
        response.headers.setdefault("Cache-Control", "no-store")
        return super().finalize_response(request, cast("Response", response), *args, **kwargs)


def _checked(shape: type[StrictSerializer], data: object) -> dict[str, Any]:
    serializer = shape(data=data)
    serializer.is_valid(raise_exception=True)
    return cast("dict[str, Any]", serializer.validated_data)


@extend_schema(exclude=True)
class NowhereView(ApiView):
    """The answer at every address that does not exist, for any caller."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the framework's signature
        """Answer 404 to every method."""
        raise Http404
