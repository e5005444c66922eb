"""A member's whole memory as a download: what is in it, and how to check it later."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase

from memories.admin.exporting import chosen_forms
from memories.admin.members.page import Looking, MemberPage
from memories.services.portability import export_member
from tenants.admin.audit_event import download
from tenants.errors import Forbidden
from tenants.middleware import request_id_of
from tenants.principal import AUDITS


def shown(looking: Looking) -> HttpResponse:
    """What will be in it."""
    return looking.render("admin/memories/member/exporting.html", title="Export", export_url=looking.url("export"))


def export(looking: Looking) -> HttpResponseBase:
    """The archive; the member's trail tells of it first."""
    try:
        pieces = export_member(
            looking.membership,
            staff=looking.staff,
            forms=chosen_forms(looking.request.POST),
            request_id=request_id_of(looking.request),
        )
    except (ImproperlyConfigured, Forbidden) as error:
        messages.error(looking.request, f"Nothing was exported. {error}")
        return HttpResponseRedirect(looking.url("exporting"))
    return download(pieces, "member")


PAGES = (
    MemberPage("exporting", "export/", shown, roles=AUDITS, tab="Export"),
    MemberPage("export", "export/download/", export, roles=AUDITS, methods=("POST",)),
)
