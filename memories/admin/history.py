"""Histories in the admin: browse what changed, open a chain by any of its states, and have it proven on the spot.

Invariant: nothing is changed here; a proof adds to the record of proofs alone. What a page shows is in reach of the
reader's role, and told to the trail of whose words they are before they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_safe

from memories.admin.broken_chains import broken_page
from memories.admin.exporting import export_history
from memories.admin.history_access import Looked, Opened, kind_of, look, may_see, open_history, owner_of
from memories.admin.history_list import chain_address, listing_of
from memories.admin.story_page import Around, view_of
from memories.admin.unread import Damage, damage_in
from memories.models import History
from memories.selectors.history.chains import chain_of_owner
from memories.selectors.history.listing import NOTHING
from memories.selectors.history.stories import Elsewhere, Story, StoryWords, words_of
from memories.services.chain_proofs import prove_supersession
from memories.types import Kind, Owner
from memoryhub.db.raw_rows import READING_FAILS
from tenants.admin.audit_event import Badge, why_broken
from tenants.admin.scoping import TenantScopedAdmin, signed_in
from tenants.audit.sentences import actor_names
from tenants.audit.verification import latest, latest_of, prove
from tenants.models import ChainCheck, Checked, User
from tenants.principal import AUDITS, READS_HISTORY, READS_MEMORY


@admin.register(History)
class HistoryAdmin(TenantScopedAdmin[History]):
    """For support, auditors and administrators; only the latter two have chains proven."""

    roles = READS_HISTORY

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - what happened is not added
        return False

    def has_change_permission(self, request: HttpRequest, obj: History | None = None) -> bool:  # noqa: ARG002
        return False

    def get_urls(self) -> list[URLPattern]:
        """The list, a chain, its export and its proof; none of Django's forms."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.list_view), name="memories_history_changelist"),
            path("broken/", view(require_safe(self.broken_view)), name="memories_history_broken"),
            path("<str:kind>/<uuid:memory_id>/", view(self.chain_view), name="memories_history_chain"),
            path("<str:kind>/<uuid:memory_id>/export/", view(export_history), name="memories_history_export"),
            path("<str:kind>/<uuid:memory_id>/verify/", view(self.verify_view), name="memories_history_verify"),
        ]

    def list_view(self, request: HttpRequest) -> HttpResponse:
        """What changed, newest first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        listing = listing_of(request)
        context = {"listing": listing, "title": "History", "refused": listing.refused}
        return self._page(request, "list", context, status=400 if listing.refused else 200)

    def broken_view(self, request: HttpRequest) -> HttpResponse:
        """The chains whose latest proof failed, for whoever audits."""
        return self._page(request, "broken", broken_page(request))

    def chain_view(self, request: HttpRequest, kind: str, memory_id: UUID) -> HttpResponse:
        """One chain, with the state of the address marked; without what cannot be read, if that is in its way."""
        wanted, opened = kind_of(kind), None
        try:
            opened = open_history(request, wanted, memory_id)
            return self._chain(request, opened).render()
        except READING_FAILS:
            owner = owner_of(request, wanted, memory_id)
            damage = damage_in(owner.tenant_id)
            if damage is None or (opened is None and memory_id not in damage.ids):
                raise
        if opened is not None and memory_id not in damage.ids:
            return self._chain(request, opened, damage)
        badges = self._badges(request, Story(wanted, owner, memory_id, (), (), (), (), {}), memory_id)
        context = {"title": "A state that cannot be read", "unread": damage.sentences, "badges": badges}
        return self._page(request, "unread", context)

    def _chain(self, request: HttpRequest, opened: Opened, damage: Damage | None = None) -> TemplateResponse:
        wanted, memory_id = opened.kind, opened.memory_id
        looked = look(opened, without=damage.without if damage else NOTHING)
        story = looked.story
        badges = self._badges(request, story, memory_id)
        events = [event for told in story.events.values() for event in told]
        events += [each.event for each in story.erased if each.event]
        nothing = StoryWords({}, {})
        around = Around(
            names=actor_names(story.owner.tenant_id, events),
            words=words_of(looked.principal, story) if looked.principal and story.rows else nothing,
            address=partial(chain_address, wanted),
            elsewhere_address=partial(_elsewhere_address, signed_in(request), wanted),
            bad=frozenset(badge.check.event_id for badge in badges if badge.check and badge.check.event_id),
        )
        context = {
            "title": "History of a fact" if wanted is Kind.SEMANTIC else "History of a how-to",
            "unread": damage.sentences if damage else (),
            "story": story,
            "view": view_of(_in_reach(story, signed_in(request)), around),
            "kind": wanted,
            "member": looked.member,
            "shared": story.owner.user_id is None,
            "badges": badges,
            "permalink": request.build_absolute_uri(chain_address(wanted, memory_id)),
            "inspector_url": _inspector(signed_in(request), looked, memory_id),
            "may_audit": may_see(signed_in(request), story.owner, AUDITS),
            "exported": story.rows[-1].pk if story.rows else None,
        }
        return self._page(request, "chain", context)

    def verify_view(self, request: HttpRequest, kind: str, memory_id: UUID) -> HttpResponse:
        """Prove the audit trail of a chain, or its supersession, now; then back to where one came from."""
        wanted = kind_of(kind)
        owner = owner_of(request, wanted, memory_id)
        staff = signed_in(request)
        if not may_see(staff, owner, AUDITS):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        for check in _proven(request.POST.get("what", ""), owner, staff):
            self.message_user(request, _result(check), messages.SUCCESS if check.ok else messages.ERROR)
        return HttpResponseRedirect(chain_address(wanted, memory_id))

    def _badges(self, request: HttpRequest, story: Story, memory_id: UUID) -> list[Badge]:
        """Of the owner's trail, of others that tell of what is shared, and of supersession."""
        staff = signed_in(request)
        own = chain_of_owner(story.owner)
        may = may_see(staff, story.owner, AUDITS)
        address = reverse("admin:memories_history_verify", args=[story.kind.value, memory_id]) if may else ""
        checks = latest_of([own, *story.chains])
        badges = [Badge(Checked.AUDIT, checks.get(own), address)]
        badges += [Badge(Checked.AUDIT, check) for chain, check in sorted(checks.items()) if chain != own]
        badges.append(Badge(Checked.SUPERSESSION, latest(own, Checked.SUPERSESSION), address))
        return [replace(badge, bad_event_url=_event_url(badge.check) if may else "") for badge in badges]

    def _page(
        self, request: HttpRequest, name: str, context: Mapping[str, object], status: int = 200
    ) -> TemplateResponse:
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "is_fullwidth": "1"}
        return TemplateResponse(request, f"admin/memories/history/{name}.html", {**frame, **context}, status=status)


def _proven(what: str, owner: Owner, staff: User) -> list[ChainCheck]:
    """What was asked for, or both."""
    audit = [] if what == Checked.SUPERSESSION else [prove(chain_of_owner(owner), staff)]
    return audit if what == Checked.AUDIT else [*audit, prove_supersession(owner, staff)]


def _result(check: ChainCheck) -> str:
    """In a sentence."""
    what = "The audit trail" if check.what == Checked.AUDIT else "The supersession"
    if check.ok:
        return f"{what} was verified: {check.count} good, in {check.took_ms:.0f} ms."
    at = f" at event {check.first_bad} (id {check.event_id})" if check.event_id else ""
    return f"{what} is broken{at}: {why_broken(check)}."


def _in_reach(story: Story, staff: User) -> Story:
    """Without what a promotion links in a tenant that the reader may not see; of what all share, that it is there."""
    known = tuple(each for each in story.elsewhere if each.owner.tenant_id is None or may_see(staff, each.owner))
    return replace(story, elsewhere=known)


def _elsewhere_address(staff: User, kind: Kind, each: Elsewhere) -> str:
    return chain_address(kind, each.id) if may_see(staff, each.owner) else ""


def _inspector(staff: User, looked: Looked, memory_id: UUID) -> str:
    """The record of this memory in the member's inspector, for roles that may read there."""
    if looked.member is None or not may_see(staff, looked.story.owner, READS_MEMORY):
        return ""
    there = any(row.pk == memory_id for row in looked.story.rows)
    name, rest = ("record", [memory_id]) if there else ("change", [])
    return reverse(f"admin:memories_membermemory_{name}", args=[looked.member.pk, *rest])


def _event_url(check: ChainCheck | None) -> str:
    return reverse("admin:tenants_auditevent_change", args=[check.event_id]) if check and check.event_id else ""
