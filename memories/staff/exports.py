"""Exports as signed downloads: the whole memory of a member, and the chain of one fact or how-to.

`services/portability` checks the permission and writes the audit event before the first byte is sent.
"""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from memories.errors import NotFound
from memories.models import CHAINED_MODELS
from memories.services.portability import ChainExport, export_chain, export_member
from memories.staff.base import MemberView, StaffView
from memories.types import Kind
from memoryhub.signing.archive import TableFormat
from tenants.admin.audit_event import download
from tenants.errors import Forbidden
from tenants.middleware import request_id_of
from tenants.principal import AUDITS


class FormatsForm(forms.Form):
    """Check boxes for the table formats; no ticked box selects all of them."""

    csv = forms.BooleanField(required=False)
    jsonl = forms.BooleanField(required=False)

    @property
    def formats(self) -> list[TableFormat]:
        """The table formats to write."""
        ticked = [each for each in TableFormat if self.is_valid() and self.cleaned_data[each.value]]
        return ticked or list(TableFormat)


class Exporting(MemberView):
    """The form for an export of this member, with a description of the archive and of how to verify it."""

    roles = AUDITS
    tab = "exporting"
    title = "Export"
    template_name = "admin/memories/member/exporting.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return self.render()


class Export(MemberView):
    """POST: download the archive of a member's whole memory."""

    http_method_names = ["post"]
    roles = AUDITS

    def post(self, request: HttpRequest) -> HttpResponseBase:
        try:
            pieces = export_member(
                self.member,
                staff=self.staff,
                forms=FormatsForm(request.POST).formats,
                request_id=request_id_of(request),
            )
        except (ImproperlyConfigured, Forbidden) as error:
            self.refuse(f"Nothing was exported. {error}")
            return self.redirect("exporting")
        return download(pieces, "member")


class ChainExportView(StaffView):
    """POST: download the archive of the chain of a fact or how-to."""

    http_method_names = ["post"]

    def enter(self) -> None:
        """Skip the role check of the base class; `export_chain` checks the permission."""

    def post(self, request: HttpRequest, kind: str, memory_id: UUID) -> HttpResponseBase:
        if kind not in CHAINED_MODELS:
            raise Http404
        wanted = ChainExport(Kind(kind), memory_id)
        formats = FormatsForm(request.POST).formats
        try:
            pieces = export_chain(wanted, staff=self.staff, actor=self.actor, forms=formats)
        except NotFound as error:
            raise Http404 from error
        except Forbidden as error:
            raise PermissionDenied from error
        except ImproperlyConfigured as error:
            self.refuse(f"Nothing was exported. {error}")
            return HttpResponseRedirect(reverse("staff:history", args=[kind, memory_id]))
        return download(pieces, "history")
