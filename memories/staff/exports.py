"""Exports as signed downloads: the whole memory of a member, and the chain of one fact or how-to.

`services/portability` checks the permission and writes the audit event before the first byte is sent. A whole memory is
asked for with a reason, and approved.
"""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.models import CHAINED_MODELS, ExportRequest, RequestState
from memories.selectors.exports import asked_lately, exports_of, to_take
from memories.services.admin_requests import REASON_CHARACTERS
from memories.services.approvals import approve, needs_second, refuse, staff_rules
from memories.services.portability import ChainExport, ask_export, export_chain, export_member
from memories.staff.base import MemberView, StaffView, TenantObjectView
from memories.types import Kind
from memoryhub.languages import gettext_lazy
from memoryhub.signing.archive import TableFormat
from tenants.admin.audit_event import download
from tenants.admin.scoping import address_of
from tenants.errors import Forbidden
from tenants.middleware import request_id_of
from tenants.principal import ADMINISTERS, AUDITS

_LISTED = 20


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
    """What leaves of this member, and how: the audit log for auditors, the whole memory for administrators."""

    roles = AUDITS
    tab = "exporting"
    title = gettext_lazy("Export")
    template_name = "admin/memories/member/exporting.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        may_take = self.may(ADMINISTERS)
        found = list(exports_of(self.member.pk)[:_LISTED]) if may_take else []
        rules = staff_rules(self.member.tenant_id)
        return self.render(
            may_take=may_take,
            exports=found,
            mine=set(to_take(self.staff, timezone.now()).filter(membership=self.member).values_list("pk", flat=True)),
            second=needs_second(self.member.tenant_id, self.staff),
            daily=rules.exports_daily,
            left=max(0, rules.exports_daily - asked_lately(self.staff)),
            most=REASON_CHARACTERS,
            tenant_address=address_of(self.member.tenant),
        )


class AskExport(MemberView):
    """POST: ask for the whole memory of a member."""

    http_method_names = ["post"]
    roles = ADMINISTERS
    confirmed = True

    def post(self, request: HttpRequest) -> HttpResponse:
        with self.refusals_shown():
            reason = request.POST.get("reason", "")
            asked = ask_export(self.actor, membership_id=self.member.pk, reason=reason)
            waits = asked.state == RequestState.ASKED
            self.success(
                _("The export is asked for; a second person approves it.") if waits else _("You can download it now.")
            )
        return self.redirect("exporting")


class ExportRequestView(TenantObjectView[ExportRequest]):
    """Base of what is done with a request for a whole memory."""

    http_method_names = ["post"]
    roles = ADMINISTERS
    confirmed = True

    def rows(self) -> QuerySet[ExportRequest]:
        return ExportRequest.objects.select_related("membership")

    def back(self) -> HttpResponse:
        """Redirect to the member's page of exports."""
        return HttpResponseRedirect(reverse("staff:exporting", args=[self.object.membership_id]))


class DecideExport(ExportRequestView):
    """POST: approve a request for a whole memory, or withdraw it."""

    def post(self, request: HttpRequest, **__: object) -> HttpResponse:
        with self.refusals_shown():
            match request.POST.get("decision"):
                case "approve":
                    approve(self.actor, ExportRequest, self.object.pk)
                    self.success(_("The export is approved; who asked for it can download it once, for a day."))
                case "refuse":
                    refuse(self.actor, ExportRequest, self.object.pk)
                    self.success(_("The export is refused; nothing left."))
                case _:
                    self.refuse(_("Nothing was decided: approve or refuse."))
        return self.back()


class Export(ExportRequestView):
    """POST: download the archive of a member's whole memory, once."""

    def post(self, request: HttpRequest, **__: object) -> HttpResponseBase:
        try:
            pieces = export_member(
                self.object,
                by=self.staff,
                forms=FormatsForm(request.POST).formats,
                request_id=request_id_of(request),
            )
        except (ImproperlyConfigured, Forbidden) as error:
            self.refuse(_("Nothing was exported. %(why)s") % {"why": error})
            return self.back()
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
        except Forbidden as error:
            raise PermissionDenied from error
        except ImproperlyConfigured as error:
            self.refuse(_("Nothing was exported. %(why)s") % {"why": error})
            return HttpResponseRedirect(reverse("staff:history", args=[kind, memory_id]))
        return download(pieces, "history")
