"""Verification of everything of a tenant with its certificate, and the check of an uploaded export or certificate.

An upload is read in memory and not stored. What it holds is read only after its signature fits, and only its manifest
is shown; a file of another tenant is refused before anything of it is shown.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memories.constants import MAX_CHECKED_BYTES
from memories.presenting.pdf import certificate_pdf
from memories.services.tenant_checks import (
    ask_check,
    certificate_of,
    export_certificate,
    failures_of,
    member_of_chain,
)
from memories.staff.audit_reports import AuditPage
from memories.staff.base import TenantObjectView
from memoryhub.languages import number
from memoryhub.signing.archive import NotGenuine, genuine
from memoryhub.uploads import taking_a_file
from tenants.admin.audit_event import alarms, download, one_tenant
from tenants.admin.scoping import PARAMETER, named, one_of
from tenants.audit.export import EVENTS_FILE, BadEvent, CheckedEvents, check_events
from tenants.audit.faults import fault_words
from tenants.audit.sentences import names_of_members
from tenants.auditors import TenantCheck
from tenants.errors import Forbidden, InvalidValue
from tenants.models import AuditEvent, AuditPayload, Checked, Tenant, User
from tenants.principal import AUDITS

_LISTED = 20
_MOST_UNPACKED = 512 * 1024 * 1024
# The directory of an archive of memoryhub has a handful of entries.
_MOST_DIRECTORY = 16 * 1024
_END = struct.Struct("<4s4H2LH")


class TenantChecks(AuditPage):
    """The button that verifies everything of a tenant, and the verifications that were made."""

    title = gettext_lazy("Verification")
    template_name = "admin/memories/audit/checks.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        scope = self.scope()
        found = TenantCheck.objects.filter(tenant=scope.chosen).select_related("asked_by").defer("results")
        return self.render(scope=scope, checks=_summaries(found[:_LISTED]))

    def post(self, request: HttpRequest) -> HttpResponse:
        scope = self.scope(request.POST)
        try:
            check = ask_check(self.staff, one_tenant(scope).pk)
        except (ImproperlyConfigured, InvalidValue) as error:
            self.refuse(_("Nothing was verified. %(why)s") % {"why": error})
            return HttpResponseRedirect(f"{reverse('staff:tenant_checks')}?{PARAMETER}={scope.address}")
        return HttpResponseRedirect(reverse("staff:tenant_check", args=[check.pk]))


class TenantCheckPage(TenantObjectView[TenantCheck]):
    """One verification: its progress, then its result."""

    roles = AUDITS
    title = gettext_lazy("Verification")
    template_name = "admin/memories/audit/check.html"
    context_object_name = "check"

    def rows(self) -> QuerySet[TenantCheck]:
        return TenantCheck.objects.select_related("tenant", "asked_by")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        check = self.object
        certificate = certificate_of(check) if check.finished_at else None
        log = certificate["audit_log"] if certificate else {"chains": 0, "anchored_chains": 0}
        return super().get_context_data(
            scope=one_of(self.request, AUDITS, {PARAMETER: str(check.tenant_id)}),
            done=len(check.results),
            certificate=certificate,
            unanchored=log["chains"] - log["anchored_chains"],
            failed=_failed(check),
            failures=failures_of(check)["failures"],
            alarms=_alarms(check),
            **kwargs,
        )


class Certificate(TenantObjectView[TenantCheck]):
    """POST: download the signed certificate."""

    roles = AUDITS
    http_method_names = ["post"]

    def rows(self) -> QuerySet[TenantCheck]:
        return TenantCheck.objects.exclude(finished_at=None).select_related("tenant", "asked_by")

    def post(self, request: HttpRequest, **__: object) -> HttpResponseBase:  # noqa: ARG002
        check = self.object
        try:
            pieces = export_certificate(check, staff=self.staff, actor=self.actor, render=self._pdf)
        except Forbidden as error:
            raise PermissionDenied from error
        except ImproperlyConfigured as error:
            self.refuse(_("Nothing was exported. %(why)s") % {"why": error})
            return HttpResponseRedirect(reverse("staff:tenant_check", args=[check.pk]))
        return download(pieces, f"certificate-{check.tenant.slug}")

    def _pdf(self, certificate: Mapping[str, Any], event: AuditEvent) -> bytes:
        return certificate_pdf(
            certificate,
            made_by=named(self.object.asked_by) or "memoryhub",
            made_at=event.created_at,
            recorded_as=f"{event.chain} #{event.sequence} ({event.digest})",
        )


def _summaries(checks: QuerySet[TenantCheck]) -> list[dict[str, Any]]:
    """The lines of the list. The event of a certificate has the verdict, so only results with failures are read."""
    certified = [each.certified_as for each in checks if each.certified_as]
    said = AuditPayload.objects.filter(event_id__in=certified)
    intact = {each.event_id for each in said if (each.data["after"] or {}).get("ok") is True}
    return [
        {
            "check": check,
            "url": reverse("staff:tenant_check", args=[check.pk]),
            "intact": check.certified_as in intact,
            **({} if check.finished_at is None or check.certified_as in intact else failures_of(check)),
        }
        for check in checks
    ]


def _failed(check: TenantCheck) -> list[dict[str, Any]]:
    """What did not verify, with the name of the owner and the page of the first bad event."""
    users = {member_of_chain(check.tenant_id, each["chain"]) for each in check.failed} - {""}
    names = names_of_members(check.tenant_id, sorted(users))
    ids = {UUID(each["event_id"]) for each in check.failed if each["event_id"]}
    there = set(AuditEvent.objects.filter(pk__in=ids, tenant_id=check.tenant_id).values_list("pk", flat=True))
    return [
        {
            "whose": names.get(member_of_chain(check.tenant_id, each["chain"]), _("The organisation's own affairs")),
            "what": _("Audit log") if each["what"] == Checked.AUDIT else _("Memories"),
            "first_bad": each["first_bad"],
            "url": reverse("admin:tenants_auditevent_change", args=[each["event_id"]])
            if each["event_id"] and UUID(each["event_id"]) in there
            else "",
            "reason": capfirst(fault_words(each["reason"])),
        }
        for each in check.failed
    ]


def _alarms(check: TenantCheck) -> list[str]:
    if not check.failed and not (check.finished_at and check.guards):
        return alarms([])
    counts = failures_of(check)
    if not counts["failures"]:
        words = ngettext(
            "%(number)s check could not be made", "%(number)s checks could not be made", counts["not_made"]
        )
        return [f"{words % {'number': number(counts['not_made'])}}."]
    return [_("Broken: something of this organisation was changed outside memoryhub."), *map(fault_words, check.guards)]


class CheckFile(AuditPage):
    """The form for an export or certificate, and the answer whether it is genuine."""

    title = gettext_lazy("Check a file")
    template_name = "admin/memories/audit/file.html"

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """Let the form have a file. `admin_view` checks the CSRF token."""
        return taking_a_file(super().as_view(**initkwargs))

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return self._shown({})

    def post(self, request: HttpRequest) -> HttpResponse:
        scope = self.scope(request.POST)
        file = request.FILES.get("file")
        if file is None:
            return self._shown(request.POST, fault=_("Choose a file: the .zip as it was downloaded."))
        try:
            answer = _checked(BytesIO(file.read()), scope.chosen)
        except (NotGenuine, BadEvent) as error:
            return self._shown(request.POST, refused=str(error), file_name=file.name)
        return self._shown(request.POST, answer=answer, file_name=file.name)

    def _shown(self, asked: Mapping[str, str], **context: Any) -> HttpResponse:
        return self.render(scope=self.scope(asked or None), most=MAX_CHECKED_BYTES // 1024**2, **context)


def _checked(source: IO[bytes], tenant: Tenant | None) -> dict[str, Any]:
    """What a genuine archive of the tenant says of itself. Raises NotGenuine, BadEvent."""
    _require_small_directory(source)
    events = CheckedEvents()
    with genuine(source, most_bytes=_MOST_UNPACKED, accept=lambda manifest: _require_own(manifest, tenant)) as opened:
        manifest = opened.manifest
        if any(entry.name == EVENTS_FILE for entry in opened.files):
            events = check_events(opened.lines(EVENTS_FILE), manifest["chains"])
    recorded = manifest["recorded_as"]
    there = AuditEvent.objects.filter(pk=recorded["id"], chain=recorded["chain"], digest=recorded["digest"])
    by = User.objects.filter(pk=manifest["by"]["id"]).first() if manifest["by"]["id"] else None
    return {
        "what": manifest["what"],
        "verdict": manifest.get("verdict", ""),
        "at": parse_datetime(manifest["at"]),
        "by": named(by) or manifest["by"]["kind"],
        "signed_with": manifest["signed_with"],
        "files": manifest["files"],
        "chains": manifest.get("chains", ()),
        "recorded": recorded,
        "event": there.first(),
        "events": events,
        "others": events.events - events.recomputed,
    }


def _require_small_directory(source: IO[bytes]) -> None:
    """Raise NotGenuine for what is no zip as memoryhub writes it, before any of its entries are read."""
    size = source.seek(0, 2)
    source.seek(max(0, size - _END.size))
    tail = source.read()
    source.seek(0)
    if len(tail) < _END.size or tail[:4] != b"PK\x05\x06":
        raise NotGenuine(_("This is no archive of memoryhub, or its end is missing."))
    directory, begins = _END.unpack(tail)[5:7]
    if directory > _MOST_DIRECTORY or begins + directory + _END.size != size:
        raise NotGenuine(_("This is no archive of memoryhub: its table of contents is another."))


def _require_own(manifest: Mapping[str, Any], tenant: Tenant | None) -> None:
    whose = manifest.get("whose")
    theirs = whose.get("tenant_id") if isinstance(whose, dict) else None
    if theirs != (str(tenant.pk) if tenant else None):
        raise NotGenuine(_("It is no export of this organisation, so nothing of it is shown here."))
