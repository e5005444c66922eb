"""The history page of one fact or how-to: its chain, and the verification of the chain on demand.

The id of any state of a chain opens it. A state of another tenant gives the same 404 as an unknown id. Before anything
is shown, a read event goes to the owner's audit log, or to the tenant's for shared memory. The pages write nothing else
but the results of verifications.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from memories.models import CHAINED_MODELS
from memories.presenting.markup import duration
from memories.selectors.history.chains import ChainsReport, chain_of_owner, verify_rows
from memories.selectors.history.rows import READING_FAILS, owner_of_row, unreadable_rows
from memories.selectors.history.stories import (
    Elsewhere,
    Story,
    StoryWords,
    erased_state,
    find_state,
    story_of,
    story_of_erased,
    words_of,
)
from memories.services.admin_requests import note_reading, note_shared_reading
from memories.services.chain_proofs import prove_supersession
from memories.staff.base import StaffView, may_see, purpose_of
from memories.staff.chain_page import ChainContext, view_of
from memories.types import Kind, Owner
from memoryhub.languages import number
from tenants.admin.audit_event import Badge, alarms
from tenants.audit.faults import fault_words
from tenants.audit.sentences import actor_names
from tenants.audit.verification import latest, latest_of, prove, prove_guards, seen_now
from tenants.middleware import request_id_of
from tenants.models import AuditEvent, ChainCheck, Checked, Membership, User
from tenants.principal import AUDITS, READS_MEMORY, Principal
from tenants.principals import reading_principal


def history_url(kind: Kind, memory_id: UUID) -> str:
    """The permanent URL of one state in its chain."""
    return reverse("staff:history", args=[kind.value, memory_id])


def member_of(owner: Owner) -> Membership | None:
    """The membership of the owner, active or not; None for shared memory and for former members."""
    if owner.user_id is None or owner.tenant_id is None:
        return None
    found = Membership.objects.filter(tenant_id=owner.tenant_id, user_id=owner.user_id)
    return found.select_related("user", "tenant").first()


class ChainPage(StaffView):
    """Base of the pages of one chain: finds the owner and the state, or the audit event of the state's erasure."""

    def enter(self) -> None:
        """Raise Http404 if the state is unknown or belongs to a tenant that the reader may not see."""
        word, self.memory_id = self.kwargs.pop("kind"), self.kwargs.pop("memory_id")
        if word not in CHAINED_MODELS:
            raise Http404
        self.kind = Kind(word)
        self.state: Any = None
        try:
            self.state = find_state(self.kind, self.memory_id) or erased_state(self.kind, self.memory_id)
            owner = _owner_of(self.state)
        except READING_FAILS:
            owner = owner_of_row(self.kind, self.memory_id)
        if owner is None or not may_see(self.staff, owner.tenant_id):
            raise Http404
        self.owner: Owner = owner


class HistoryPage(ChainPage):
    """One chain, with the state of the URL marked."""

    template_name = "admin/memories/history/chain.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        try:
            return self._chain().render()
        except READING_FAILS:
            unread = unreadable_rows(self.owner.tenant_id)
            if not unread:
                raise
        self.template_name = "admin/memories/history/unread.html"
        story = Story(self.kind, self.owner, self.memory_id, (), (), (), (), {})
        badges = self._badges(story)
        return self.render(title=_("A state that cannot be read"), unread=unread, badges=badges, alarms=alarms(badges))

    def _chain(self) -> TemplateResponse:
        if self.state is None:
            raise ValueError("The state cannot be read.")
        member, principal = self._open()
        state = self.state
        story = story_of_erased(self.kind, state) if isinstance(state, AuditEvent) else story_of(state)
        faults = self._faults(story)
        badges = self._badges(story, faults)
        events = [event for each in story.events.values() for event in each]
        events += [each.event for each in story.erased if each.event]
        around = ChainContext(
            names=actor_names(story.owner.tenant_id, events),
            words=words_of(principal, story) if principal and story.rows else StoryWords({}, {}),
            address=partial(history_url, self.kind),
            elsewhere_address=self._elsewhere_url,
            bad=frozenset(badge.check.event_id for badge in badges if badge.check and badge.check.event_id),
            faults={each.memory_id: each.problem for each in reversed(faults.faults) if each.memory_id},
        )
        return self.render(
            title=_("History of a fact") if self.kind is Kind.SEMANTIC else _("History of a how-to"),
            story=story,
            view=view_of(self._in_reach(story), around),
            kind=self.kind,
            member=member,
            shared=story.owner.user_id is None,
            badges=badges,
            alarms=alarms(badges),
            permalink=self.request.build_absolute_uri(history_url(self.kind, self.memory_id)),
            inspector_url=self._inspector_url(story, member),
            may_audit=may_see(self.staff, story.owner.tenant_id, AUDITS),
            exported=story.rows[-1].pk if story.rows else None,
        )

    def _open(self) -> tuple[Membership | None, Principal | None]:
        """Write the read event; return the owner's membership and a principal that reads for them, if there is one."""
        member = member_of(self.owner)
        target = {"target_kind": self.kind.value, "target_id": self.memory_id}
        if member is None:
            note_shared_reading(self.actor, self.owner.tenant_id, "history", **target)
            return None, None
        principal = reading_principal(
            member,
            staff=self.staff,
            request_id=request_id_of(self.request),
            purpose=purpose_of(self.request, member),
        )
        note_reading(principal, "history", **target)
        return member, principal

    def _faults(self, story: Story) -> ChainsReport:
        """Verify the states of the page against the audit log."""
        return verify_rows(self.kind, story.owner, [row.pk for row in story.rows])

    def _badges(self, story: Story, shown: ChainsReport | None = None) -> list[Badge]:
        """Badges for the owner's audit log, for other audit logs with events on shared memory, and for supersession.

        The owner's log and the `shown` states are verified for this page; a fault among them is stored as a check.
        """
        own = chain_of_owner(story.owner)
        may = may_see(self.staff, story.owner.tenant_id, AUDITS)
        address = reverse("staff:history_verify", args=[self.kind.value, self.memory_id]) if may else ""
        others, seen = latest_of(set(story.chains) - {own}), seen_now(own)
        badges = [Badge(Checked.AUDIT, seen.check, address, seen=seen)]
        badges += [Badge(Checked.AUDIT, check) for _, check in sorted(others.items())]
        supersession = latest(own, Checked.SUPERSESSION)
        if shown is not None and not shown.ok and (supersession is None or supersession.ok):
            supersession = prove_supersession(story.owner, self.staff)
        badges.append(Badge(Checked.SUPERSESSION, supersession, address, states=shown.rows if shown else None))
        return [replace(badge, bad_event_url=_event_url(badge.check) if may else "") for badge in badges]

    def _in_reach(self, story: Story) -> Story:
        """The story without promotions into tenants that the reader may not see; copies for all tenants stay."""
        known = [each for each in story.elsewhere if each.owner.tenant_id is None or self._may_open(each)]
        return replace(story, elsewhere=tuple(known))

    def _may_open(self, each: Elsewhere) -> bool:
        return may_see(self.staff, each.owner.tenant_id)

    def _elsewhere_url(self, each: Elsewhere) -> str:
        return history_url(self.kind, each.id) if self._may_open(each) else ""

    def _inspector_url(self, story: Story, member: Membership | None) -> str:
        """The page of this memory under its member; empty for roles that may not read it."""
        if member is None or not may_see(self.staff, story.owner.tenant_id, READS_MEMORY):
            return ""
        if any(row.pk == self.memory_id for row in story.rows):
            return reverse("staff:record", args=[member.pk, self.memory_id])
        return reverse("staff:inspector", args=[member.pk])


class VerifyForm(forms.Form):
    """The verification to run; an empty choice runs both."""

    what = forms.ChoiceField(required=False, choices=[(each.value, each.value) for each in Checked])


class VerifyHistory(ChainPage):
    """POST: verify the audit log of a chain, its supersession, or both, and return to the chain."""

    http_method_names = ["post"]

    def enter(self) -> None:
        super().enter()
        if not may_see(self.staff, self.owner.tenant_id, AUDITS):
            raise PermissionDenied

    def post(self, request: HttpRequest) -> HttpResponse:
        form = VerifyForm(request.POST)
        what = form.cleaned_data["what"] if form.is_valid() else ""
        for check in _verified(what, self.owner, self.staff):
            (self.success if check.ok else self.refuse)(_result(check))
        return HttpResponseRedirect(history_url(self.kind, self.memory_id))


def _owner_of(state: Any) -> Owner | None:
    if state is None:
        return None
    owner: Owner = Owner(state.tenant_id, state.owner_id) if isinstance(state, AuditEvent) else state.owner
    return owner


def _verified(what: str, owner: Owner, staff: User) -> list[ChainCheck]:
    """Run the requested verification, or both, and return the stored results."""
    prove_guards()
    audit = [] if what == Checked.SUPERSESSION else [prove(chain_of_owner(owner), staff)]
    return audit if what == Checked.AUDIT else [*audit, prove_supersession(owner, staff)]


def _result(check: ChainCheck) -> str:
    """The result of a verification in a sentence."""
    what = _("The audit log") if check.what == Checked.AUDIT else _("The supersession")
    if check.ok:
        done = {"what": what, "count": number(check.count), "took": duration(check.took_ms)}
        return _("%(what)s was verified: %(count)s good, in %(took)s.") % done
    broken = {"what": what, "why": fault_words(check.reason), "number": check.first_bad, "id": check.event_id}
    if check.event_id:
        return _("%(what)s is broken at event %(number)s (id %(id)s): %(why)s.") % broken
    return _("%(what)s is broken: %(why)s.") % broken


def _event_url(check: ChainCheck | None) -> str:
    return reverse("admin:tenants_auditevent_change", args=[check.event_id]) if check and check.event_id else ""
