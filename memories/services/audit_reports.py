"""Records that a report of a tenant's audit log was made. The report itself is read again whenever it is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from memories.errors import InvalidInput
from tenants.audit.chain import EventDraft
from tenants.audit.listing import REPORTED, tell_tenant
from tenants.errors import Forbidden
from tenants.models import AuditEvent, User
from tenants.principal import AUDITS, Actor
from tenants.selectors import has_role

_LONGEST = timedelta(days=3 * 366)


def make_report(staff: User, actor: Actor, tenant_id: UUID, *, since: datetime, until: datetime) -> AuditEvent:
    """Record a report of a period; the event is its identity. A period that goes on ends now.

    Raises Forbidden, InvalidInput.
    """
    require_auditor(staff, tenant_id)
    until = min(until, timezone.now())
    if since >= until:
        raise InvalidInput("until", _("The end must come after the beginning, which must not lie ahead."))
    if until - since > _LONGEST:
        raise InvalidInput("until", _("A report covers three years at most."))
    period = {"since": since.astimezone(UTC).isoformat(), "until": until.astimezone(UTC).isoformat()}
    return tell_tenant(actor, tenant_id, EventDraft(REPORTED, "tenant", tenant_id, after=period))


def period_of(report: AuditEvent) -> tuple[datetime, datetime] | None:
    """The period of a report; None if its event cannot be read any more."""
    payload = getattr(report, "payload", None)
    said = (payload.data["after"] if payload else None) or {}
    try:
        return datetime.fromisoformat(said["since"]), datetime.fromisoformat(said["until"])
    except (KeyError, TypeError, ValueError):  # changed by SQL; the verification of the chain finds it
        return None


def require_auditor(staff: User, tenant_id: UUID) -> None:
    """Raise Forbidden unless `staff` audits the tenant."""
    if not (staff.is_active and (staff.is_superuser or has_role(staff, tenant_id, AUDITS))):
        raise Forbidden(_("Only auditors and administrators of the organisation may do this."))
