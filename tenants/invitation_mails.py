"""Mails of invitations: one at once, or those that wait, by a job."""

from __future__ import annotations

import logging
from smtplib import SMTPException, SMTPRecipientsRefused

from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from memoryhub.jobs import JobResult
from tenants.invitation_models import Invitation
from tenants.invitations import invitation_path
from tenants.models import User

log = logging.getLogger(__name__)
# Mails that one run of the job sends before others get their turn.
_AT_ONCE = 100


def send(invitation: Invitation, link: str, connection: BaseEmailBackend | None = None) -> None:
    """Send one. Raises OSError, SMTPException."""
    with translation.override(_language_of(invitation)):
        text = render_to_string("registration/invitation_mail.txt", {"invitation": invitation, "link": link})
        subject = _("Invitation to %(name)s") % {"name": invitation.tenant.name}
    EmailMessage(" ".join(subject.split()), text, None, [invitation.email], connection=connection).send()


def _language_of(invitation: Invitation) -> str | None:
    """That of the recipient's account, else of whoever invites, else the active one."""
    theirs = User.objects.filter(email__iexact=invitation.email).exclude(language="").order_by("pk")
    by = User.objects.filter(pk=invitation.invited_by_id).values_list("language", flat=True)
    return theirs.values_list("language", flat=True).first() or by.first() or translation.get_language()


def send_waiting() -> JobResult:
    """The job: send what waits, over one connection; an address that the server refuses is not tried again."""
    rows = Invitation.objects.exclude(mail_origin="").select_related("tenant").filter(expires_at__gt=timezone.now())
    waiting = list(rows.order_by("created_at")[:_AT_ONCE])
    if not waiting:
        return JobResult.DONE
    connection = get_connection()
    try:
        for invitation in waiting:
            try:
                send(invitation, f"{invitation.mail_origin}{invitation_path(invitation)}", connection)
            except SMTPRecipientsRefused:
                log.warning("The mail server refused the address of invitation %s.", invitation.pk)
            Invitation.objects.filter(pk=invitation.pk).update(mail_origin="")
    except (OSError, SMTPException) as error:
        log.warning("Invitations wait: the mail server failed (%s).", type(error).__name__)
        return JobResult.DONE
    finally:
        connection.close()
    return JobResult.MORE if len(waiting) == _AT_ONCE else JobResult.DONE
