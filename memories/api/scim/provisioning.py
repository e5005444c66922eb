"""The one view of SCIM: a backend key of the tenant with the scope `people` calls it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from scim2_models import Error, PayloadTooLargeException, SCIMException
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import SCIM_MEDIA_TYPE, ScimResponse
from scim2_server.service import ScimService

from memories.api.acting import Acts
from memories.api.authentication import PEOPLE, TokenAuthentication
from memories.api.problems import MAX_BODY_BYTES, members_of, problem_in
from memories.api.scim.resources import PROVIDER
from memories.api.scim.storage import TenantStorage
from memories.api.views.base import ApiView
from memoryhub.env.limits import Bucket

_SERVICE = ScimService(PROVIDER)


@extend_schema(exclude=True)
class ScimView(ApiView):
    """Users, groups and the description of the service, under one address for all tenants: the key says which."""

    authentication_classes = [TokenAuthentication]
    acts = Acts.FOR_KEY
    schema = None  # type: ignore[assignment]  # SCIM describes itself

    def user_named(self, request: Request) -> None:
        """No header or body names a member here."""

    def get(self, request: Request, path: str) -> HttpResponseBase:
        """Read."""
        return self._served(request, path)

    def post(self, request: Request, path: str) -> HttpResponseBase:
        """Change."""
        return self._served(request, path)

    get.needs = post.needs = PEOPLE  # type: ignore[attr-defined]  # read by ApiView
    get.buckets, post.buckets = (Bucket.READS,), (Bucket.WRITES,)  # type: ignore[attr-defined]  # likewise
    put = patch = delete = post

    def _served(self, request: Request, path: str) -> HttpResponseBase:
        django = request._request
        body = django.read(MAX_BODY_BYTES + 1)
        asked = ScimRequest(
            method=str(request.method),
            base_url=django.build_absolute_uri("/scim/v2"),
            path=f"/{path}",
            query=django.GET.dict(),
            headers=dict(django.headers),
            body=body,
        )
        try:
            if len(body) > MAX_BODY_BYTES:
                raise PayloadTooLargeException(detail=f"The body is larger than {MAX_BODY_BYTES:,} bytes.")
            with PROVIDER.policy:
                answer = ScimHandler(_SERVICE, TenantStorage(self.key)).handle(asked)
        except SCIMException as error:
            answer = _SERVICE.error_response(error)
        return _rendered(answer)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: ARG002, FBT001, FBT002
        """Answer with JSON, whatever the client accepts."""
        return super().perform_content_negotiation(request, force=True)

    def get_exception_handler(self) -> Any:
        """Return the handler that renders errors as SCIM's."""
        return _refused


def _refused(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    problem = problem_in(error, context)
    detail = members_of(context["request"]._request, problem)["detail"]
    said = Error(status=problem.status, detail=detail).model_dump()
    return _rendered(ScimResponse(HTTPStatus(problem.status), said, problem.all_headers))


def _rendered(answer: ScimResponse) -> HttpResponse:
    headers = {"Cache-Control": "no-store", **answer.headers}
    content = b"" if answer.body is None else json.dumps(answer.body).encode()
    return HttpResponse(content, status=answer.status, headers=headers | {"Content-Type": SCIM_MEDIA_TYPE})


urlpatterns = [path("<path:path>/", ScimView.as_view(), name="scim")]
