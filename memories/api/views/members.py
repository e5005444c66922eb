"""Views for a backend key that administers the members of its tenant (docs/adr/0026)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from memories.api.acting import Acts
from memories.api.authentication import MEMBERS
from memories.api.serializers.members import (
    AskedResponse,
    MemberChangeRequest,
    MemberRequest,
    MemberResponse,
    MembersQuery,
    MembersResponse,
    MemoriesErasedResponse,
    ReasonRequest,
)
from memories.api.views.base import ERASING_SECONDS, ApiView, StreamRenderer, operation, paged
from memories.errors import Conflict, existing
from memories.models import ErasureRequest, ExportRequest
from memories.selectors.erasure import latest_request
from memories.selectors.exports import to_take
from memories.selectors.paging import page_of
from memories.services.erasure.forget_all import forget_all
from memories.services.erasure.requests import ask_erasure
from memories.services.portability import ask_export, export_member
from memoryhub.signing.archive import TableFormat
from tenants.audit.export import file_name
from tenants.end_users import end_users, find_end_user, provision_end_user, rename_end_user
from tenants.errors import NoMembership
from tenants.models import Membership
from tenants.principal import Right
from tenants.principals import principal_of_key
from tenants.services import activate, deactivate

_ERASE = (Right.MEMBERS, Right.ERASE)
_EXPORT = (Right.MEMBERS, Right.READ)
_ARCHIVE = "application/zip"


class KeyView(ApiView):
    """Base of the views for backend keys alone."""

    acts = Acts.FOR_KEY

    def member(self, user_id: str) -> Membership:
        """The member with this id, active or not. Raises NotFound."""
        return existing(find_end_user(self.key.tenant_id, user_id), "member")


class MembersView(KeyView):
    """The members of the tenant."""

    @operation("members_list", MEMBERS, query=MembersQuery, gives=MembersResponse)
    def get(self, *, active: bool | None, **wanted: Any) -> dict[str, Any]:
        """List the members that backend keys act for, oldest first."""
        rows = end_users(self.key.tenant_id)
        page = page_of(rows if active is None else rows.filter(is_active=active), **wanted)
        return paged(page, [_shown(each) for each in page.rows])

    @operation("members_create", MEMBERS, takes=MemberRequest, gives=MemberResponse, statuses=(200, 201))
    def post(self, *, user_id: str, name: str) -> Response:
        """Make a member. 201: they are new; 200: the id was known, and nothing changed."""
        member, new = provision_end_user(self.key.tenant_id, user_id, name=name, actor=self.key.actor)
        return Response(_shown(member), status=201 if new else 200)


class MemberItemView(KeyView):
    """One member."""

    @operation("members_read", MEMBERS, gives=MemberResponse)
    def get(self, user_id: str) -> dict[str, Any]:
        """Read a member, active or deactivated."""
        return _shown(self.member(user_id))

    @operation("members_change", MEMBERS, takes=MemberChangeRequest, gives=MemberResponse)
    def patch(self, *, user_id: str, name: str | None = None, active: bool | None = None) -> dict[str, Any]:
        """Rename, deactivate or reactivate a member. A deactivated one keeps their memory, and nobody acts for them."""
        member = self.member(user_id)
        if name is not None:
            rename_end_user(member, name=name, actor=self.key.actor)
        if active is not None and active != member.is_active:
            (activate if active else deactivate)(member, actor=self.key.actor)
        return _shown(member)


class MemberMemoriesView(KeyView):
    """Everything that is remembered of one member."""

    @operation("members_forget_all", _ERASE, gives=MemoriesErasedResponse, refuses=(409,))
    def delete(self, user_id: str) -> Any:
        """Erase all conversations and memories permanently; the member stays.

        Large memories take several requests: repeat it until `complete` is true.
        """
        try:
            principal = principal_of_key(self.key, self.member(user_id))
        except NoMembership:
            raise Conflict("This member is deactivated: reactivate them, or ask for their erasure.") from None
        principal = replace(principal, rights=principal.rights | {Right.READ, Right.WRITE})
        return forget_all(principal, seconds=ERASING_SECONDS)


class EraseMemberView(KeyView):
    """The erasure of a member, with their name."""

    @operation("members_erase", _ERASE, takes=ReasonRequest, gives=AskedResponse, statuses=(202,), refuses=(409,))
    def post(self, *, user_id: str, reason: str) -> ErasureRequest:
        """Ask for the erasure of everything kept of a member.

        It begins after the tenant's delay, once an administrator approved it; where the tenant has none, it is approved
        at once. 409: it was asked for before.
        """
        return ask_erasure(self.key, membership_id=self.member(user_id).pk, reason=reason)

    @operation("members_erasure", _ERASE, gives=AskedResponse)
    def get(self, user_id: str) -> ErasureRequest:
        """Read the latest request to erase the member."""
        return existing(latest_request(self.member(user_id).pk), "erasure")


class ArchiveRenderer(StreamRenderer):
    """For the archive of an export."""

    media_type = _ARCHIVE
    format = "zip"


class ExportMemberView(KeyView):
    """The export of everything that is kept of a member."""

    renderer_classes = [JSONRenderer, ArchiveRenderer]

    @operation("members_export", _EXPORT, takes=ReasonRequest, gives=AskedResponse, statuses=(202,), refuses=(409,))
    def post(self, *, user_id: str, reason: str) -> ExportRequest:
        """Ask for the whole memory of a member, a signed archive; an administrator approves it, where there is one."""
        return ask_export(self.key, membership_id=self.member(user_id).pk, reason=reason)

    @operation(
        "members_download",
        _EXPORT,
        gives=OpenApiResponse(OpenApiTypes.BINARY, "A ZIP archive."),
        refuses=(409,),
        media=_ARCHIVE,
    )
    def get(self, user_id: str) -> Any:
        """Download the archive of an approved request, once, within a day of its approval."""
        request = to_take(self.key, timezone.now()).filter(membership=self.member(user_id)).first()
        if request is None:
            raise Conflict("No export waits for this key: ask for one, and for its approval.")
        try:
            pieces = export_member(request, by=self.key, forms=list(TableFormat), request_id=self.key.request_id)
        except (ImproperlyConfigured, NoMembership) as error:
            raise Conflict(f"Nothing was exported. {error}") from None
        named = {"Content-Disposition": f'attachment; filename="{file_name("member")}"'}
        return StreamingHttpResponse(pieces, content_type=_ARCHIVE, headers=named)


def _shown(member: Membership) -> dict[str, Any]:
    shown = {"user_id": member.external_id, "name": member.user.speaker, "active": member.is_usable}
    return shown | {"created_at": member.created_at}
