"""A file of people in the admin: uploaded, shown row by row as it would be, and then done by the code of the command.

The check is the import in a transaction that is rolled back. The form that confirms holds the text again, which is
checked again, so nothing is stored meanwhile.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memoryhub.reauthentication import ask_password
from tenants.admin.scoping import acting, signed_in, tenants_within
from tenants.invitations import invitation_path, invite_members
from tenants.models import Membership, Tenant
from tenants.people_import import PeopleReport, import_people
from tenants.principal import Role
from tenants.provider_models import IdentityProvider

# The form that confirms is sent encoded, and a request has at most 1.1 MB.
MAX_BYTES = 500_000


class PeopleFileForm(forms.Form):
    """A tenant, and the text of a CSV: from a file, or as the form that confirms repeats it."""

    tenant = forms.ModelChoiceField(Tenant.objects.none(), label=gettext_lazy("Organisation"), empty_label=None)
    file = forms.FileField(label=gettext_lazy("CSV file"), required=False)
    text = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)
    invite = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """Read the file."""
        cleaned: dict[str, Any] = super().clean() or {}
        if (file := cleaned.get("file")) is not None:
            if file.size > MAX_BYTES:
                size = MAX_BYTES // 1000
                self.add_error("file", _("The file is larger than %d kB. Use the command or SCIM for more.") % size)
                return cleaned
            try:
                cleaned["text"] = file.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", _("The file is not UTF-8. Save it as “CSV UTF-8”."))
        elif not cleaned.get("text"):
            self.add_error("file", _("Choose a file."))
        return cleaned


def people_file(request: HttpRequest) -> HttpResponse:
    """The page: the form; then what its file would do; then what it did."""
    tenants = tenants_within(signed_in(request), [Role.ADMIN]).filter(is_active=True)
    if not tenants:
        raise PermissionDenied
    asked = tenants.filter(slug=request.GET.get("tenant", "")).first() or tenants.first()
    form = PeopleFileForm(request.POST or None, request.FILES or None, initial={"tenant": asked})
    form.fields["tenant"].queryset = tenants  # type: ignore[attr-defined]  # a field of choices
    if request.method != "POST" or not form.is_valid():
        return _page(request, form=form)
    tenant, text = form.cleaned_data["tenant"], form.cleaned_data["text"]
    confirmed = form.cleaned_data["file"] is None
    if confirmed and (question := ask_password(request)) is not None:
        return question
    report = import_people(tenant.pk, text, dry_run=not confirmed, actor=acting(request))
    if report.faults or not confirmed:
        return _page(request, form=form, tenant=tenant, report=report, text=text, mayinvite=_may_invite(tenant))
    return _done(request, tenant, report, invite=form.cleaned_data["invite"] and _may_invite(tenant))


def _may_invite(tenant: Tenant) -> bool:
    """Whether an account with a password opens the tenant."""
    return not IdentityProvider.objects.filter(tenant=tenant, is_active=True, passwords_off=True).exists()


def _done(request: HttpRequest, tenant: Tenant, report: PeopleReport, *, invite: bool) -> HttpResponse:
    by_mail = bool(settings.EMAIL_HOST)
    made = []
    members = [row.membership for row in report.rows if row.membership]
    if invite:
        origin = request.build_absolute_uri("/").rstrip("/") if by_mail else ""
        made = invite_members(tenant, members, by=signed_in(request), actor=acting(request), mail_origin=origin)
    said = _("Added: %(added)d. Changed: %(changed)d. As before: %(unchanged)d.") % {
        name: getattr(report, name) for name in ("added", "changed", "unchanged")
    }
    messages.success(request, said)
    if invite and (left := _without_address(members)):
        messages.warning(request, _left_words(left))
    if made and not by_mail:
        links = [(each.email, request.build_absolute_uri(invitation_path(each))) for each in made]
        return _page(request, tenant=tenant, links=links)
    if made:
        sent = ngettext("%d invitation is being sent.", "%d invitations are being sent.", len(made)) % len(made)
        messages.success(request, sent)
    return redirect(f"{reverse('admin:tenants_membership_changelist')}?tenant__id__exact={tenant.pk}")


def _without_address(members: list[UUID]) -> int:
    """How many of the imported members have neither an e-mail address nor a password."""
    rows = Membership.objects.filter(pk__in=members, is_active=True, user__email="").select_related("user")
    return sum(not member.user.has_usable_password() for member in rows)


def _left_words(left: int) -> str:
    words = ngettext(
        "%d person without an e-mail address was not invited. If they sign in here, open their account under Users and "
        "make them a link to set a password.",
        "%d people without an e-mail address were not invited. If they sign in here, open their accounts under Users "
        "and make each a link to set a password.",
        left,
    )
    return words % left


def _page(request: HttpRequest, **context: Any) -> HttpResponse:
    context |= {**admin.site.each_context(request), "title": _("Upload a file of people"), "most": MAX_BYTES // 1000}
    return render(request, "admin/tenants/membership/people_file.html", context)
