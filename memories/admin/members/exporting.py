"""A member's whole memory as a download: what is in it, and how to check it later."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponseRedirect
from django.http.response import HttpResponseBase

from memories.admin.exporting import chosen_forms
from memories.admin.members.page import Looking, MemberPage
from memories.services.portability import export_member
from tenants.admin.audit_event import download
from tenants.middleware import request_id_of
from tenants.principal import AUDITS


def export(looking: Looking) -> HttpResponseBase:
    """GET says what will be in it; POST sends it, and the member's trail tells of it first."""
    if looking.request.method != "POST":
        return looking.render("admin/memories/member/export.html", title="Export")
    try:
        pieces = export_member(
            looking.membership,
            staff=looking.staff,
            forms=chosen_forms(looking.request.POST),
            request_id=request_id_of(looking.request),
        )
    except ImproperlyConfigured as error:
        messages.error(looking.request, f"Nothing was exported. {error}")
        return HttpResponseRedirect(looking.url("export"))
    return download(pieces, "member")


PAGES = (MemberPage("export", "export/", export, roles=AUDITS, tab="Export", methods=("GET", "POST")),)
