"""Base views of the staff pages: permissions, the member that a page is about, and the admin frame.

A page about a member writes a read event to that member's audit log before it shows memory.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.generic.base import ContextMixin, TemplateResponseMixin, View
from django.views.generic.detail import SingleObjectMixin

from memories.constants import PURPOSE_HOLDS
from memories.errors import InvalidInput, MemoriesError, NotFound, existing
from memories.models import Fact
from memories.presenting.memory import MemoryView, memory_views
from memories.selectors.history.rows import READING_FAILS, unreadable_rows
from memories.selectors.memories import Memory
from memories.selectors.paging import Page, page_of
from memories.selectors.policies import wants_reason
from memories.selectors.staff.index_state import unindexed
from memories.selectors.staff.inspecting import change_token, times_used
from memories.services.admin_requests import READINGS, REASON_CHARACTERS, asked_reason, note_reading, note_refresh
from memories.types import Kind
from memoryhub.admin_site import AskFirst
from memoryhub.languages import gettext_lazy
from memoryhub.reauthentication import NOT_POSTED, ask_password
from memoryhub.redirects import next_address
from tenants.admin.audit_event import Badge, alarms
from tenants.admin.scoping import acting, role_here, roles_held, signed_in, tenants_here
from tenants.audit.chain import owner_chain
from tenants.audit.fields import field_words
from tenants.audit.verification import broken
from tenants.errors import InvalidValue, TenantsError
from tenants.middleware import request_id_of
from tenants.models import Checked, Membership, User
from tenants.principal import ADMINISTERS, AUDITS, READS_HISTORY, READS_MEMORY, Actor, Principal, Role
from tenants.principals import reading_principal, staff_principal
from tenants.selectors import has_role

Listed = TypeVar("Listed", bound=Model)
# The errors of services whose messages are fit to show to people.
REFUSALS = (MemoriesError, TenantsError)


class StaffView(TemplateResponseMixin, ContextMixin, View):
    """A page in the admin frame, for staff who hold one of `roles` in any tenant.

    A POST to a `confirmed` page wants a password that was given in the last minutes. NotFound becomes a 404.
    """

    http_method_names = ["get", "head", "post"]
    roles: Sequence[Role] = READS_HISTORY
    title: str | Promise = ""
    confirmed = False

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """Wrap the view in the admin site's check, which redirects anonymous users to the login page."""
        return admin.site.admin_view(super().as_view(**initkwargs))

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        method = str(request.method).lower()
        if method not in self.http_method_names or not hasattr(self, method):
            return self.http_method_not_allowed(request, *args, **kwargs)
        self.staff = signed_in(request)
        try:
            self.enter()
            asked = ask_password(request) if self.confirmed and method == "post" else None
            return asked or super().dispatch(request, *args, **self.kwargs)
        except NotFound as error:
            raise Http404(str(error)) from error

    def enter(self) -> None:
        """Check the reader's permission. Raises PermissionDenied, Http404 or NotFound."""
        if not (self.staff.is_superuser or not roles_held(self.request).isdisjoint(self.roles)):
            raise PermissionDenied

    @property
    def actor(self) -> Actor:
        """The reader as the actor of audit events."""
        return acting(self.request)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        frame = admin.site.each_context(self.request)
        return super().get_context_data(**{**frame, "title": self.title, "is_fullwidth": "1", **kwargs})

    def render(self, *, status: int = 200, **context: Any) -> TemplateResponse:
        """Render the page; `context` overrides entries of `get_context_data`."""
        return TemplateResponse(
            self.request, self.get_template_names(), self.get_context_data(**context), status=status
        )

    @contextmanager
    def refusals_shown(self) -> Iterator[None]:
        """Turn a service's refusal into a message on the next page, but for NotFound."""
        try:
            yield
        except NotFound:
            raise
        except REFUSALS as error:
            self.refuse(error)

    def success(self, sentence: str) -> None:
        """Queue a success message for the next page."""
        messages.success(self.request, sentence)

    def refuse(self, error: Exception | str) -> None:
        """Queue an error message for the next page, with its first letter in upper case."""
        messages.error(self.request, refusal_words(error))


class TenantObjectView(SingleObjectMixin[Listed], StaffView):
    """A page about one row of a tenant, `self.object`; a row of a tenant out of the reader's reach gives a 404."""

    def enter(self) -> None:
        super().enter()
        self.object = self.get_object()

    def get_queryset(self) -> QuerySet[Listed]:
        """The rows of the tenants in which the reader holds one of `roles`; all rows for a superuser."""
        rows = self.rows()
        return rows if self.staff.is_superuser else rows.filter(tenant_id__in=tenants_here(self.request, self.roles))

    @abstractmethod
    def rows(self) -> QuerySet[Listed]:
        """The rows of all tenants; `get_queryset` limits them."""

    def get(self, request: HttpRequest, **_: object) -> HttpResponse:  # noqa: ARG002
        return self.render()


class MemberView(StaffView):
    """A page about one member at `membermemory/<uuid:member_id>/…`, for staff of the member's tenant.

    `reads` is the name of the page in the audit log; an empty one writes no event here, because the page shows no
    memory or writes its own event. A `live` page refreshes itself, and its refreshes count as one read. `tab` is the
    name of the open tab. A member of another tenant gives a 404.
    """

    roles = READS_MEMORY
    reads = ""
    live = False
    tab = ""

    def enter(self) -> None:
        found = existing(_members(self.request).filter(pk=self.kwargs.pop("member_id")).first(), "member")
        self.member: Membership = found
        self.role = role_here(self.request, found.tenant_id)
        if not self.may(self.roles):
            raise PermissionDenied
        shows_memory = self.roles == READS_MEMORY
        purpose = purpose_of(self.request, found, live=self.live) if shows_memory else ""
        self.principal: Principal = reading_principal(
            found, staff=self.staff, request_id=request_id_of(self.request), purpose=purpose
        )
        if self.reads:
            (note_refresh if self.live else note_reading)(self.principal, self.reads)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Render the page; if unreadable rows made that fail, list them instead."""
        if self.live or request.method == "POST":
            return super().dispatch(request, *args, **kwargs)
        try:
            answer = super().dispatch(request, *args, **kwargs)
            return answer.render() if isinstance(answer, SimpleTemplateResponse) else answer
        except READING_FAILS:
            unread = unreadable_rows(self.member.tenant_id) if hasattr(self, "member") else ()
            if not unread:
                raise
        self.template_name = "admin/memories/member/unread.html"
        context = MemberView.get_context_data(self, title=_("Memory that cannot be read"), unread=unread)
        return self.render_to_response(context)

    def may(self, roles: Sequence[Role]) -> bool:
        """Whether the reader has one of `roles` in this tenant; always true for superusers."""
        return self.staff.is_superuser or self.role in roles

    def acting_principal(self) -> Principal:
        """A principal that lets an administrator act on the member's memory. Raises Forbidden, NoMembership."""
        return staff_principal(self.member, staff=self.staff, request_id=request_id_of(self.request))

    def note(
        self, page: str, *, target_kind: str = "", target_id: UUID | None = None, case: UUID | None = None
    ) -> None:
        """Write another read event to the member's audit log."""
        note_reading(self.principal, page, target_kind=target_kind, target_id=target_id, case=case)

    def url(self, name: str, *args: object) -> str:
        """The URL of another page of this member."""
        return reverse(f"staff:{name}", args=[self.member.pk, *args])

    def redirect(self, name: str, *args: object) -> HttpResponseRedirect:
        """Redirect to another page of this member."""
        return HttpResponseRedirect(self.url(name, *args))

    def record_url(self, kind: Kind | str, memory_id: UUID) -> str:
        """The URL of one memory or item of this member; every kind of memory has the same page."""
        return self.url("item" if kind == Kind.ITEM else "record", memory_id)

    def page(self, rows: QuerySet[Listed], *, limit: int) -> Page[Listed]:
        """The page of `rows` that the address names. Raises Http404 if its cursor cannot be read."""
        try:
            return page_of(rows, limit=limit, cursor=self.request.GET.get("cursor", ""))
        except InvalidInput as error:
            raise Http404 from error

    def view(self, row: Memory) -> MemoryView:
        """The view of one memory with a link to its page; runs no query."""
        return MemoryView(row, self.url("record", row.pk))

    def counted_views(self, rows: Sequence[Memory]) -> tuple[MemoryView, ...]:
        """Views of memories with recall counts and a flag for a pending index change; at most five queries."""
        ids = [row.pk for row in rows]
        counted = [row.pk for row in rows if not isinstance(row, Fact)]
        return memory_views(
            self.principal,
            rows,
            address=self.record_url,
            use_counts=times_used(self.principal, counted) if counted else {},
            waiting=unindexed(self.principal, ids) if ids else frozenset(),
        )

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        tabs = [(words, self.url(name), name == self.tab) for name, words, roles in TABS if self.may(roles)]
        frame = {"member": self.member, "member_tabs": tabs, "alarms": alarms_of(self.member)}
        return super().get_context_data(**{**frame, **kwargs})


class LiveMemberView(MemberView):
    """A page with a part that the browser reloads when the member's change token changes.

    Subclasses provide the context of that part in `get_part`. The token is read before the part, so that a change
    between the two reads causes another reload.
    """

    part_template = ""
    refresh_url = ""

    @abstractmethod
    def get_part(self) -> Mapping[str, Any]:
        """The context of the reloaded part."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:  # noqa: ARG002
        token = change_token(self.principal, ignoring=READINGS)
        context = {"pulse": token, "pulse_url": self.url("pulse"), "live_url": self.live_url(), **self.get_part()}
        if self.live:
            return render(self.request, self.part_template, {"member": self.member, **context})
        return self.render(**context)

    def live_url(self) -> str:
        """The URL that serves only the reloaded part."""
        return self.url(self.refresh_url)


class Pulse(MemberView):
    """The change token as JSON. It reveals only that something changed, so it writes no read event."""

    live = True

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return JsonResponse({"pulse": change_token(self.principal, ignoring=READINGS)})


# The tabs in order: URL name, label, and the roles that may open it.
TABS: tuple[tuple[str, str, Sequence[Role]], ...] = (
    ("inspector", gettext_lazy("Memory"), READS_MEMORY),
    ("items", gettext_lazy("Items"), READS_MEMORY),
    ("conversations", gettext_lazy("Conversations"), READS_MEMORY),
    ("beside", gettext_lazy("Side by side"), READS_MEMORY),
    ("ask", gettext_lazy("Ask"), READS_MEMORY),
    ("as_of", gettext_lazy("As of"), READS_MEMORY),
    ("runs", gettext_lazy("Runs"), READS_MEMORY),
    ("index", gettext_lazy("Index"), READS_MEMORY),
    ("search_key", gettext_lazy("Search key"), ADMINISTERS),
    ("erasure", gettext_lazy("Erase or hold"), ADMINISTERS),
    ("exporting", gettext_lazy("Export"), AUDITS),
)


def alarms_of(member: Membership) -> list[str]:
    """The alarm for the top of a page that shows a member's memory; empty unless their chain is broken."""
    found = broken().filter(chain=owner_chain(member.tenant_id, member.user_id))
    badges = [Badge(Checked(check.what), check) for check in found]
    return alarms(badges) if badges else []


def refusal_words(error: Exception | str) -> str:
    """A refusal as a sentence; the field that it is about comes first, in the words of pages."""
    if isinstance(error, InvalidInput | InvalidValue):
        return f"{capfirst(field_words(error.field))}: {error.reason}"
    return capfirst(str(error))


def first_page_of(rows: QuerySet[Any], cursor: str, *, limit: int) -> tuple[Page[Any], str]:
    """The page after `cursor`; for an invalid cursor, the first page and an error message."""
    try:
        return page_of(rows, limit=limit, cursor=cursor), ""
    except InvalidInput as error:
        return page_of(rows, limit=limit), refusal_words(error)


def may_see(user: User, tenant_id: UUID | None, roles: Sequence[Role] = READS_HISTORY) -> bool:
    """Whether `user` has one of `roles` in the tenant. None means shared with all tenants: superusers only."""
    return user.is_superuser or (tenant_id is not None and has_role(user, tenant_id, roles))


_PURPOSES = "purposes"
_WITH_FORM = "purpose_"


def purpose_of(request: HttpRequest, member: Membership, *, live: bool = False) -> str:
    """Why the reader looks at this member's memory, as they stated within the hour; empty if nobody asks.

    Raises AskFirst if the tenant's policy asks and nothing was stated; PermissionDenied instead for the refresh of a
    `live` page. A form that was posted meanwhile is asked for again together with the reason.
    """
    if member.user_id == signed_in(request).pk or not wants_reason(member.tenant):
        return ""
    why, until = request.session.get(_PURPOSES, {}).get(str(member.pk), ("", 0.0))
    if until > time.time():
        return str(why)
    if live:
        raise PermissionDenied
    if request.method in ("GET", "HEAD"):
        back = urlencode({"next": request.get_full_path()})
        raise AskFirst(HttpResponseRedirect(f"{reverse('staff:purpose', args=[member.pk])}?{back}"))
    page = PurposePage()
    page.setup(request, member_id=member.pk)
    page.staff = signed_in(request)
    page.enter()
    return page.given_with_form()


def state_purpose(request: HttpRequest, member: Membership, why: str, ticket: str = "") -> None:
    """Remember in the session why the reader looks, for PURPOSE_HOLDS. Raises InvalidInput."""
    now = time.time()
    if ticket := asked_reason(ticket, required=False):
        why = _("Ticket %(ticket)s: %(why)s") % {"ticket": ticket, "why": why} if why.strip() else ""
    stated = {pk: each for pk, each in request.session.get(_PURPOSES, {}).items() if each[1] > now}
    stated[str(member.pk)] = (asked_reason(why), now + PURPOSE_HOLDS.total_seconds())
    request.session[_PURPOSES] = stated


class PurposePage(MemberView):
    """The form for why the reader looks at this member's memory; it leads back to the page that asked.

    When the reason ran out before a POST, the form is shown at the address of that POST and posts both there.
    """

    roles = READS_HISTORY
    title = gettext_lazy("Why are you opening this memory?")
    template_name = "admin/memories/member/purpose.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show([("next", request.GET.get("next", ""))])

    def show(self, posted: Sequence[tuple[str, str]], *, prefix: str = "", status: int = 200) -> TemplateResponse:
        """Render the form, which posts `posted` along; its own fields begin with `prefix`."""
        action = self.request.get_full_path() if prefix else self.url("purpose")
        return self.render(action=action, posted=posted, prefix=prefix, most=REASON_CHARACTERS, status=status)

    def given_with_form(self) -> str:
        """The reason that was posted along with a form. Raises AskFirst if there is none."""
        given = self.request.POST.copy()
        why, ticket = ("".join(given.pop(f"{_WITH_FORM}{name}", [])) for name in ("reason", "ticket"))
        if given != self.request.POST:
            try:
                state_purpose(self.request, self.member, why, ticket)
            except InvalidInput as error:
                self.refuse(error)
            else:
                self.request.POST = given  # type: ignore[assignment]  # what the view reads was never meant to hold it
                return purpose_of(self.request, self.member)
        posted = [(name, value) for name, values in given.lists() for value in values if name not in NOT_POSTED]
        raise AskFirst(self.show(posted, prefix=_WITH_FORM, status=403))

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            state_purpose(request, self.member, request.POST.get("reason", ""), request.POST.get("ticket", ""))
        except InvalidInput as error:
            self.refuse(error)
            return self.show([("next", request.POST.get("next", ""))], status=400)
        return HttpResponseRedirect(
            next_address(request, self.url("inspector") if self.may(READS_MEMORY) else reverse("admin:index"))
        )


def _members(request: HttpRequest) -> QuerySet[Membership]:
    """The members of the tenants in which the reader has any staff role; all members for a superuser."""
    rows = Membership.objects.select_related("tenant__memory_policy", "user")
    if signed_in(request).is_superuser:
        return rows
    return rows.filter(tenant_id__in=tenants_here(request, READS_HISTORY))
