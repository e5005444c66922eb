"""The report of a tenant and a period: supersessions, looks at memories, exports, erasures and failed verifications.

It reads the audit log up to the moment at which it was made, and shows no text of a memory. Reasons are those that
staff gave for a look, an export or an erasure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memories.selectors.history.superseded import ENDED_ACTIONS
from memories.selectors.looks import LOOKS_AT_MEMORY
from memories.selectors.staff.attention import chains_of
from memoryhub.db.statements import in_statements
from tenants.audit.faults import fault_words
from tenants.audit.sentences import names_of_members, sentences
from tenants.models import AuditEvent, ChainCheck, Checked

MOST_LISTED = 500
"""Events that a section lists; it counts all."""

# Title, and the actions of the section; `*` matches any verb.
_SECTIONS: tuple[tuple[str | Promise, tuple[str, ...]], ...] = (
    (gettext_lazy("Supersessions"), ENDED_ACTIONS),
    (gettext_lazy("Looks at memories"), LOOKS_AT_MEMORY),
    (gettext_lazy("Events of the audit log opened"), ("audit.read",)),
    (gettext_lazy("Exports"), ("memory.exported", "chain.exported", "audit.exported", "export.*")),
    (
        gettext_lazy("Erasures and deletions"),
        ("erasure.*", "hold.*", "fact.forgotten", "playbook.forgotten", "episode.forgotten", "session.forgotten",
         "fact.erased", "playbook.erased", "episode.erased", "memory.erased", "member.memories_erased",
         "member.names_erased"),
    ),
    (gettext_lazy("Failed sign-ins"), ("user.sign_in_failed",)),
)  # fmt: skip
# Subjects of actions whose reason staff gave; other reasons may quote a memory.
_REASON_OF_STAFF = frozenset({"memory", "audit", "review", "chain", "export", "erasure", "hold"})


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One event or failed check: a sentence, the reason that staff gave, the place in its chain, the event's id."""

    at: datetime
    text: str
    why: str = ""
    place: str = ""
    event_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report; `total` counts the lines, of which at most MOST_LISTED are listed, oldest first."""

    title: str
    lines: tuple[ReportLine, ...]
    total: int

    @property
    def left_out(self) -> int:
        """The number of lines that are not listed."""
        return self.total - len(self.lines)


def report_of(tenant_id: UUID, *, since: datetime, until: datetime, made_at: datetime) -> list[ReportSection]:
    """The sections of the report from `since` inclusive to `until` exclusive, as far as recorded before `made_at`."""
    period = {"created_at__gte": since, "created_at__lt": min(until, made_at)}
    found = []
    for title, actions in _SECTIONS:
        fits = Q(action__in=[action for action in actions if not action.endswith("*")])
        for action in actions:
            fits |= Q(action__startswith=action[:-1]) if action.endswith("*") else Q()
        rows = AuditEvent.objects.filter(fits, tenant_id=tenant_id, **period).order_by("created_at", "sequence", "id")
        events = list(rows.select_related("payload")[:MOST_LISTED])
        total = len(events) if len(events) < MOST_LISTED else rows.count()
        found.append(ReportSection(str(title), tuple(_lines(events)), total))
    return [*found, _failures(tenant_id, since, min(until, made_at))]


def _lines(events: Sequence[AuditEvent]) -> Iterator[ReportLine]:
    for some in in_statements(events):
        for said in sentences(some):
            event = said.event
            payload = getattr(event, "payload", None)
            stated = payload is not None and event.action.partition(".")[0] in _REASON_OF_STAFF
            why = payload.data["reason"] if payload and stated else ""
            place = _("event #%(number)s") % {"number": event.sequence}
            yield ReportLine(event.created_at, said.text, "" if why == said.because else why, place, event.pk)


def _failures(tenant_id: UUID, since: datetime, until: datetime) -> ReportSection:
    """The verifications of the tenant's chains that failed."""
    rows = ChainCheck.objects.filter(chains_of([tenant_id]), ok=False, checked_at__gte=since, checked_at__lt=until)
    checks = list(rows.order_by("checked_at", "id")[:MOST_LISTED])
    members = {check.chain.rpartition(":")[2] for check in checks if check.chain.startswith("owner:")}
    names = names_of_members(tenant_id, sorted(members))
    lines = []
    for check in checks:
        whose = names.get(check.chain.rpartition(":")[2], _("the organisation's own affairs"))
        what = _("the audit log") if check.what == Checked.AUDIT else _("the memories")
        text = _("%(what)s of %(whose)s did not verify: %(why)s.") % {
            "what": capfirst(what), "whose": whose, "why": fault_words(check.reason),
        }  # fmt: skip
        place = _("event #%(number)s") % {"number": check.first_bad} if check.first_bad else ""
        lines.append(ReportLine(check.checked_at, text, "", place, check.event_id))
    total = len(lines) if len(lines) < MOST_LISTED else rows.count()
    return ReportSection(_("Failed verifications"), tuple(lines), total)
