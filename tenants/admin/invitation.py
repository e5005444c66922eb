"""Invitations in the admin: made by administrators, sent by mail or copied, withdrawn."""

from __future__ import annotations

from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from tenants import invitation_mails, invitations
from tenants.admin.scoping import TenantScopedAdmin, acting, named, signed_in
from tenants.invitation_models import Invitation
from tenants.principal import Role


@admin.register(Invitation)
class InvitationAdmin(TenantScopedAdmin[Invitation]):
    """Open invitations to the tenants that the reader administers. Those that were accepted are gone."""

    empty_words = _("Invite people by e-mail, or with a link that you give them. Open invitations are listed here.")
    confirmed = True
    list_display = ["invited", "tenant", "role", "by", "expires_at"]
    list_select_related = ["tenant", "invited_by"]
    list_filter = ["role"]
    search_fields = ["email"]
    actions = ["withdraw"]
    fields = ["tenant", "email", "role"]

    @admin.display(description=_("invited"), ordering="email")
    def invited(self, invitation: Invitation) -> str:
        """The address, or that a link was made."""
        return invitation.email or str(_("whoever has the link"))

    @admin.display(description=_("by"))
    def by(self, invitation: Invitation) -> str | None:
        """Who invited."""
        return named(invitation.invited_by)

    def has_change_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        """True only without an object: actions need the permission, and an invitation is never edited."""
        return obj is None and self.may_enter(request)

    def get_form(self, request: HttpRequest, obj: Invitation | None = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002
        """The form; the e-mail address may be left out."""
        form: Any = super().get_form(request, obj, change, **kwargs)
        if "tenant" in form.base_fields:
            form.base_fields["email"].help_text = _("Empty: whoever gets the link from you.")
        return form

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        made = invitations.invite(
            tenant=obj.tenant, role=Role(obj.role), email=obj.email, by=signed_in(request), actor=acting(request)
        )
        obj.id, obj.expires_at = made.id, made.expires_at

    def response_add(self, request: HttpRequest, obj: Invitation, post_url_continue: str | None = None) -> HttpResponse:  # noqa: ARG002
        """Send the mail, and show the link."""
        if obj.email and settings.EMAIL_HOST:
            self._send(request, obj)
        return redirect("admin:tenants_invitation_change", obj.pk)

    def _send(self, request: HttpRequest, invitation: Invitation) -> None:
        try:
            invitation_mails.send(invitation, _link(request, invitation))
        except (OSError, SMTPException):
            self.message_user(request, _("The mail could not be sent. Copy the link instead."), messages.ERROR)
        else:
            self.message_user(request, _("The invitation was sent."))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of an invitation, with its link."""
        invitation = self.get_object(request, unquote(object_id)) if self.may_enter(request) else None
        if invitation is None:
            return super().change_view(request, object_id, form_url, extra_context)
        context = {**self.admin_site.each_context(request), "title": _("Invitation"), "opts": self.opts}
        context |= {"invitation": invitation, "link": _link(request, invitation), "mail": bool(settings.EMAIL_HOST)}
        context["over"] = invitation.expires_at <= timezone.now()
        return render(request, "admin/tenants/invitation/link.html", context)

    @admin.action(description=_("Withdraw: the link opens nothing any more"), permissions=["change"])
    def withdraw(self, request: HttpRequest, rows: QuerySet[Invitation]) -> None:
        for invitation in rows:
            invitations.withdraw(invitation, actor=acting(request))


def _link(request: HttpRequest, invitation: Invitation) -> str:
    return request.build_absolute_uri(invitations.invitation_path(invitation))
