"""The audit log in the admin, read-only: a list of sentences, a page for each event, verification and exports.

The list shows the log of one tenant that the reader audits; other tenants answer as unknown ones. The list shows no
text of a memory. An event's page does, and records the read before it shows the text. Other apps offer links from an
event; a reader sees only links to pages that they may open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from memoryhub.languages import gettext_lazy
from memoryhub.redirects import next_address
from memoryhub.signing.archive import TableFormat
from tenants.admin.scoping import PARAMETER, TenantScope, TenantScopedAdmin, acting, address_of, one_of, signed_in
from tenants.audit import verification
from tenants.audit.actions import CountedAction, action_words, counted_actions, grouped, target_words, unknown_action
from tenants.audit.chain import PLATFORM_CHAIN, owner_chain, tenant_chain
from tenants.audit.export import export_audit, file_name
from tenants.audit.faults import fault_words
from tenants.audit.listing import (
    LAST_AUDIT,
    AuditFilter,
    end_of_last_report,
    member_in_words,
    note_event_read,
    owner_of_event,
    page_of_events,
    read_filter,
)
from tenants.audit.saved_views import FIELDS, delete_view, save_view, views_of
from tenants.audit.sentences import Sentence, differences, names_of_members, sentences
from tenants.audit.triggers import missing_triggers
from tenants.audit.verification import SeenChain
from tenants.auditors import SavedView
from tenants.errors import InvalidValue
from tenants.models import AuditEvent, AuditHead, ChainCheck, Checked, Membership, Tenant, User
from tenants.principal import AUDITS, ActorKind, Role
from tenants.selectors import role_in


@dataclass(frozen=True, slots=True)
class AuditLink:
    """A link's text and address."""

    words: str
    url: str


May = Callable[[Sequence[Role]], bool]
Offer = Callable[[AuditEvent, May], Iterable[AuditLink]]
MemberOffer = Callable[[Membership, May], Iterable[AuditLink]]
_offers: list[Offer] = []
_member_offers: list[MemberOffer] = []
Purpose = Callable[[HttpRequest, Membership], str]
_purposes: list[Purpose] = []


def offer_links(offer: Offer) -> None:
    """Register `offer` as a source of links for every event.

    Its `may` says whether the reader has one of some roles.
    """
    if offer not in _offers:
        _offers.append(offer)


def offer_member_links(offer: MemberOffer) -> None:
    """Register `offer` as a source of links for every member whose audit log is shown."""
    if offer not in _member_offers:
        _member_offers.append(offer)


def ask_purpose(purpose: Purpose) -> None:
    """Register a source of why the reader looks at a member's events; it may raise AskFirst."""
    if purpose not in _purposes:
        _purposes.append(purpose)


@dataclass(frozen=True, slots=True)
class Badge:
    """The latest verification of a chain (None: never verified) and the address that runs another (empty: not allowed).

    `bad_event_url` is the page of the first bad event, if the reader may open it; `back` is the page to return to.
    `seen` is the verification for this page, if the chain was verified for it; `states` counts the states that the page
    shows and that were verified for it.
    """

    what: Checked
    check: ChainCheck | None
    verify_url: str = ""
    bad_event_url: str = ""
    back: str = ""
    of: str = ""
    seen: SeenChain | None = None
    states: int | None = None

    @property
    def title(self) -> str:
        """The name of the chain on the page."""
        return (self.of or _("Audit log")) if self.what is Checked.AUDIT else _("Supersession")

    @property
    def in_part(self) -> bool:
        """Whether events before those that the page shows were not verified just now."""
        return self.seen is not None and self.seen.after > 0 and self.seen.check.ok

    @property
    def alarm(self) -> str:
        """The finding as a sentence for the top of the page; empty if there is none."""
        if self.check is None or self.check.ok:
            return ""
        at = self.check.first_bad
        words = _("%(chain)s broken at event %(number)s: %(why)s.") if at else _("%(chain)s broken: %(why)s.")
        return words % {"chain": self.title, "why": self.why, "number": at}

    @property
    def why(self) -> str:
        """Why verification failed; empty if it did not."""
        return fault_words(self.check.reason) if self.check else ""

    @property
    def state(self) -> str:
        """A CSS class: good, partial, bad or unknown."""
        if self.in_part:
            return "partial"
        if self.check is None:
            return "unknown" if self.states is None else "good"
        return "good" if self.check.ok else "bad"

    @property
    def counted(self) -> str:
        """The number of verified rows, such as `12 events`."""
        count = self.check.count if self.check else 0
        if self.what is Checked.AUDIT:
            return ngettext("%(count)s event", "%(count)s events", count) % {"count": count}
        return ngettext("%(count)s memory", "%(count)s memories", count) % {"count": count}


_ADDRESS = "admin:tenants_auditevent_"
_ASKED = ("member", "actor", "actor_kind", "action", "request", "target", "since", "until")
# The page's labels for the fields, used in messages about a field.
_LABELS = {
    "member": gettext_lazy("Member"), "actor": gettext_lazy("Actor"), "actor_kind": gettext_lazy("Actor type"),
    "action": gettext_lazy("Action"), "since": gettext_lazy("From"), "until": gettext_lazy("To"),
    "request": gettext_lazy("Request"), "target": gettext_lazy("Target ID"), "cursor": gettext_lazy("Page"),
}  # fmt: skip
# Failed chains shown in a tenant's list; a separate page shows all.
_MOST_BROKEN = 5


@admin.register(AuditEvent)
class AuditEventAdmin(TenantScopedAdmin[AuditEvent]):
    """The audit log, for auditors and admins of their own tenants."""

    roles = AUDITS

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEvent | None = None) -> bool:  # noqa: ARG002
        return False

    def get_urls(self) -> list[URLPattern]:
        """The list, an event, export and verify. Django's forms are left out: nothing is edited here."""
        view = self.admin_site.admin_view
        return [
            path("", view(require_safe(self.listing)), name="tenants_auditevent_changelist"),
            path("export/", view(require_POST(self.export)), name="tenants_auditevent_export"),
            path("verify/", view(require_POST(self.verify)), name="tenants_auditevent_verify"),
            path("views/", view(require_POST(self.save_view)), name="tenants_auditevent_save_view"),
            path("views/<uuid:pk>/delete/", view(require_POST(self.drop_view)), name="tenants_auditevent_delete_view"),
            path("<uuid:event_id>/change/", view(require_safe(self.event)), name="tenants_auditevent_change"),
        ]

    def listing(self, request: HttpRequest) -> HttpResponse:
        """List events as sentences, filtered by the query string. A filter that is none is named beside its field."""
        scope = self._scope(request, request.GET)
        page, fault, wanted = None, None, AuditFilter(_tenant_id(scope))
        try:
            wanted = read_filter(wanted.tenant, _asked(request.GET))
            page = page_of_events(wanted, cursor=request.GET.get("cursor", ""))
        except InvalidValue as error:
            fault = error
        actions = counted_actions(wanted)
        if page and not page.events:
            everything = counted_actions(AuditFilter(wanted.tenant, member=wanted.member))
            if unknown := unknown_action(wanted, everything):
                page, fault = None, InvalidValue("action", unknown)
        params = {PARAMETER: scope.address} | {n: v for n, v in _asked(request.GET).items() if v}
        badge = self._badge(wanted, scope.address, back=request.get_full_path())
        faults = verification.faults_of(page.events) if page else {}
        context = {
            "title": _("Audit log"),
            "scope": scope,
            "asked": {**_asked(request.GET), **_member_asked(wanted)},
            "narrowed_to": params,
            "is_narrowed": len(params) > 1,
            "fault": _said(fault) if fault else "",
            "fault_field": fault.field if fault else "",
            "lines": [_line(sentence, params, faults) for sentence in sentences(page.events)] if page else [],
            "alarms": alarms([badge], len(faults)),
            "page": page,
            "next": _address(params, cursor=page.next_cursor) if page and page.next_cursor else "",
            "newest": _address(params) if request.GET.get("cursor") else "",
            "kinds": list(ActorKind),
            "actions": grouped(actions),
            "asked_words": ", ".join(map(action_words, wanted.actions)),
            "listed_actions": {name for group, each in grouped(actions) for name in _names(group, each)},
            "views": saved_views(request, scope, SavedView.Page.AUDIT),
            "last_audit": _address({PARAMETER: scope.address}, since=LAST_AUDIT) if _has_report(scope) else "",
            "badge": badge,
            "broken": self._broken(wanted, scope.address),
            "links": self._member_links(request, wanted),
        }
        return self._render(request, "list", context)

    def event(self, request: HttpRequest, event_id: UUID) -> HttpResponse:
        """Show one event with its payload, after recording the read."""
        event = self._found(request, event_id)
        member = owner_of_event(event)
        purpose = next((why for ask in _purposes if member is not None and (why := ask(request, member))), "")
        note_event_read(signed_in(request), acting(request), event, purpose=purpose)
        payload = getattr(event, "payload", None)
        said: Mapping[str, Any] = payload.data if payload else {}
        (sentence,) = sentences([event])
        whose = address_of(Tenant.objects.get(pk=event.tenant_id) if event.tenant_id else None)
        params = {PARAMETER: whose}
        wanted = AuditFilter(event.tenant_id, member=event.owner_id)
        may = partial(self._may, request, event.tenant_id)
        beside = AuditEvent.objects.filter(chain=event.chain, sequence__in=[event.sequence - 1, event.sequence + 1])
        neighbours = {row.sequence: row for row in beside}
        badge = self._badge(wanted, whose, back=request.get_full_path())
        faults = verification.faults_of([event])
        context = {
            "title": _("Event of the audit log"),
            "event": event,
            "owner": member,
            "line": _line(sentence, params),
            "about": target_words(event.target_kind),
            "alarms": alarms([badge], len(faults)),
            "erased": payload is None,
            "reason": said.get("reason", ""),
            "differences": differences(said.get("before"), said.get("after")),
            "has_before": bool(said.get("before")),
            "head": AuditHead.objects.filter(chain=event.chain).first(),
            "before": neighbours.get(event.sequence - 1),
            "after": neighbours.get(event.sequence + 1),
            "fault": fault_words(faults.get(event.pk, "")),
            "links": [link for offer in _offers for link in offer(event, may)],
            "list_url": _address(params),
            "badge": badge,
        }
        return self._render(request, "event", context)

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """Download all events that match the filter as a signed archive."""
        scope = self._scope(request, request.POST)
        try:
            wanted = read_filter(_tenant_id(scope), _asked(request.POST))
            forms = [TableFormat.CSV] if request.POST.get("csv") else []
            pieces = export_audit(signed_in(request), acting(request), wanted, forms)
        except InvalidValue as error:
            return HttpResponse(_("Nothing was exported. %(why)s") % {"why": _said(error)}, "text/plain", status=400)
        except ImproperlyConfigured as error:
            self.message_user(request, _("Nothing was exported. %(why)s") % {"why": error}, messages.ERROR)
            return HttpResponseRedirect(_address({PARAMETER: scope.address}))
        return download(pieces, f"audit-{scope.address}")

    def verify(self, request: HttpRequest) -> HttpResponse:
        """Verify the chain of a member or of the tenant, then redirect to the page that asked."""
        scope = self._scope(request, request.GET)
        try:
            wanted = read_filter(_tenant_id(scope), {"member": request.GET.get("member", "")})
        except InvalidValue as error:
            raise Http404 from error
        verification.prove(_chain(wanted), signed_in(request))
        verification.prove_guards()
        return HttpResponseRedirect(next_address(request, _address({PARAMETER: scope.address}), name="back"))

    def save_view(self, request: HttpRequest) -> HttpResponse:
        """Save the filters of the audit log or of histories as a view, and return to the list."""
        scope = self._scope(request, request.POST)
        page = SavedView.Page.HISTORY if request.POST.get("page") == SavedView.Page.HISTORY else SavedView.Page.AUDIT
        asked = {name: str(request.POST[name]) for name in FIELDS[page] if name in request.POST}
        try:
            name = request.POST.get("view_name", "")
            view = save_view(signed_in(request), one_tenant(scope), page, name=name, asked=asked)
        except InvalidValue as error:
            self.message_user(request, _("Nothing was saved. %(why)s") % {"why": error.reason}, messages.ERROR)
            return HttpResponseRedirect(_list_of(page, {PARAMETER: scope.address, **asked}))
        self.message_user(request, _("Saved as “%(name)s”. Only you see it.") % {"name": view.name}, messages.SUCCESS)
        return HttpResponseRedirect(view_address(view, scope.address))

    def drop_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Delete a view of the reader."""
        if not self.may_enter(request):
            raise PermissionDenied
        view = delete_view(signed_in(request), pk)
        if view is None:
            raise Http404
        self.message_user(request, _("“%(name)s” was deleted.") % {"name": view.name}, messages.SUCCESS)
        return HttpResponseRedirect(_list_of(view.page, {PARAMETER: address_of(view.tenant)}))

    def _scope(self, request: HttpRequest, asked: Mapping[str, str]) -> TenantScope:
        """The requested tenant, if this user may read its audit log. Raises Http404, PermissionDenied."""
        if not self.may_enter(request):
            raise PermissionDenied
        return one_of(request, AUDITS, asked)

    def _found(self, request: HttpRequest, event_id: UUID) -> AuditEvent:
        if not self.may_enter(request):
            raise PermissionDenied
        event = self.get_queryset(request).select_related("payload", "erasure").filter(pk=event_id).first()
        if event is None:
            raise Http404
        return event

    def _may(self, request: HttpRequest, tenant_id: UUID | None, roles: Sequence[Role]) -> bool:
        staff: User = signed_in(request)
        return staff.is_superuser or (tenant_id is not None and role_in(staff, tenant_id) in roles)

    def _member_links(self, request: HttpRequest, wanted: AuditFilter) -> list[AuditLink]:
        """Links for the member whose audit log is shown; none if they have left the tenant."""
        if wanted.tenant is None or wanted.member is None:
            return []
        member = Membership.objects.filter(tenant_id=wanted.tenant, user_id=wanted.member).first()
        may = partial(self._may, request, wanted.tenant)
        return [link for offer in _member_offers for link in offer(member, may)] if member else []

    def _badge(self, wanted: AuditFilter, whose: str, *, back: str) -> Badge:
        chain = _chain(wanted)
        seen = verification.seen_now(chain)
        check = seen.check
        params = {PARAMETER: whose} | ({"member": str(wanted.member)} if wanted.member else {})
        bad = check.event_id
        if bad and not AuditEvent.objects.filter(pk=bad, chain=chain).exists():
            bad = None
        return Badge(
            what=Checked.AUDIT,
            check=check,
            verify_url=f"{reverse(f'{_ADDRESS}verify')}?{urlencode(params)}",
            bad_event_url=reverse(f"{_ADDRESS}change", args=[bad]) if bad else "",
            back=back,
            of=_whose_affairs(wanted),
            seen=seen,
        )

    def _broken(self, wanted: AuditFilter, whose: str) -> list[tuple[str, str]]:
        """Name and audit log address of members whose chain failed its last verification."""
        if wanted.tenant is None or wanted.member:
            return []
        prefix = owner_chain(wanted.tenant, wanted.tenant).rpartition(":")[0] + ":"
        broken = verification.broken(Checked.AUDIT).filter(chain__startswith=prefix)[:_MOST_BROKEN]
        found = [check.chain.removeprefix(prefix) for check in broken]
        names = names_of_members(wanted.tenant, found) if found else {}
        return [(names[member], _address({PARAMETER: whose, "member": member})) for member in found]

    def _render(self, request: HttpRequest, name: str, context: Mapping[str, Any]) -> TemplateResponse:
        frame = {**self.admin_site.each_context(request), "is_fullwidth": "1", "opts": self.opts}
        return TemplateResponse(request, f"admin/tenants/auditevent/{name}.html", {**frame, **context})


def download(pieces: Any, what: str) -> StreamingHttpResponse:
    """Serve an archive as a download that no proxy stores."""
    return StreamingHttpResponse(
        pieces,
        content_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="{file_name(what)}"',
            "Cache-Control": "no-store",
        },
    )


def one_tenant(scope: TenantScope) -> Tenant:
    """The chosen tenant. Raises InvalidValue for the platform."""
    if scope.chosen is None:
        raise InvalidValue("tenant", _("Choose an organisation."))
    return scope.chosen


def saved_views(request: HttpRequest, scope: TenantScope, page: SavedView.Page) -> dict[str, Any]:
    """Template context of the reader's views of a list with their addresses, and of the form that saves one."""
    found = views_of(signed_in(request), scope.chosen, page)
    asked = {name: request.GET[name] for name in FIELDS[page] if request.GET.get(name)}
    return {
        "all": [(view, view_address(view, scope.address)) for view in found],
        "form": {"page": page.value, PARAMETER: scope.address, **asked} if asked and scope.chosen else {},
    }


def view_address(view: SavedView, tenant: str) -> str:
    """The address of the list with the filters of a view."""
    return f"{_list_of(view.page, {PARAMETER: tenant})}&{view.query}"


def _list_of(page: str, params: Mapping[str, str]) -> str:
    name = "staff:histories" if page == SavedView.Page.HISTORY else f"{_ADDRESS}changelist"
    return f"{reverse(name)}?{urlencode(params)}"


def _has_report(scope: TenantScope) -> bool:
    return scope.chosen is not None and end_of_last_report(scope.chosen.pk) is not None


def _names(group: CountedAction, actions: Iterable[CountedAction]) -> Iterator[str]:
    yield from (group.action, *(each.action for each in actions))


def _said(fault: InvalidValue) -> str:
    """The fault of a filter, with the page's label of the field."""
    return f"{_LABELS.get(fault.field, fault.field)}: {fault.reason}"


def _tenant_id(scope: TenantScope) -> UUID | None:
    return scope.chosen.pk if scope.chosen else None


def _asked(given: Mapping[str, str]) -> dict[str, str]:
    return {name: given.get(name, "").strip() for name in _ASKED}


def _member_asked(wanted: AuditFilter) -> dict[str, str]:
    """The member of the filter as their field shows them; links name members by id."""
    return {"member": member_in_words(wanted.tenant, wanted.member)} if wanted.tenant and wanted.member else {}


def _address(params: Mapping[str, str], **more: str) -> str:
    return f"{reverse(f'{_ADDRESS}changelist')}?{urlencode({**params, **more})}"


def _chain(wanted: AuditFilter) -> str:
    if wanted.tenant is None:
        return PLATFORM_CHAIN
    return owner_chain(wanted.tenant, wanted.member) if wanted.member else tenant_chain(wanted.tenant)


def _whose_affairs(wanted: AuditFilter) -> str:
    """The title of the verified chain, if the list shows more: a tenant's list also shows its members' events."""
    if wanted.member:
        return ""
    return _("Audit log of the tenant's own affairs") if wanted.tenant else _("Audit log of the platform's own affairs")


def alarms(badges: Iterable[Badge], faults: int = 0) -> list[str]:
    """The head of an alarm and its sentences, for a page with something that does not verify; empty if all does."""
    found = [badge.alarm for badge in badges if badge.alarm]
    if faults and not found:
        told = ngettext(
            "%(count)s of the events on this page does not verify.",
            "%(count)s of the events on this page do not verify.",
            faults,
        )
        found = [told % {"count": faults}]
    altered = _("Do not rely on this page: what it shows was changed outside memoryhub, or its proof was.")
    head = altered if found else ""
    if gone := missing_triggers():
        head = head or _("The database does not guard what this page shows.")
        missing = {"triggers": ", ".join(gone)}
        found.append(_("Triggers of the database are missing or disabled: %(triggers)s.") % missing)
    return [head, *found] if found else []


def _line(sentence: Sentence, params: Mapping[str, str], faults: Mapping[UUID, str] | None = None) -> dict[str, Any]:
    """Template context of a sentence: its event, its fault, and the addresses that filter the list by its parts."""
    event = sentence.event
    narrowed = {
        "actor": str(event.actor_id) if event.actor_id else event.actor_kind,
        "member": str(whose) if (whose := sentence.of_id or event.owner_id) else "",
        "action": event.action,
        "request": event.request_id,
        "target": str(event.target_id) if event.target_id else "",
    }
    return {
        "sentence": sentence,
        "event": event,
        "fault": fault_words((faults or {}).get(event.pk, "")),
        "url": reverse(f"{_ADDRESS}change", args=[event.pk]),
        "by": {name: _address({**params, name: value}) for name, value in narrowed.items() if value},
    }
