"""What the pages of staff share: who may open them, whose memory they are about, and the frame of the admin.

Every page about a member writes a read event to that member's audit log before it reads anything.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import reverse
from django.views.generic.base import ContextMixin, TemplateResponseMixin, View
from django.views.generic.detail import SingleObjectMixin

from memories.errors import InvalidInput, MemoriesError, NotFound
from memories.models import Fact
from memories.presenting.memory import MemoryView, memory_views
from memories.selectors.history.rows import READING_FAILS, unreadable_rows
from memories.selectors.memories import Memory
from memories.selectors.paging import Page, page_of
from memories.selectors.staff.index_state import unindexed
from memories.selectors.staff.inspecting import change_token, times_recalled
from memories.services.admin_requests import READINGS, note_reading, note_refresh
from memories.types import Kind
from tenants.admin.scoping import acting, role_here, roles_held, signed_in, tenants_here
from tenants.errors import TenantsError
from tenants.middleware import request_id_of
from tenants.models import Membership, User
from tenants.principal import ADMINISTERS, AUDITS, READS_HISTORY, READS_MEMORY, Actor, Principal, Role
from tenants.principals import reading_principal, staff_principal
from tenants.selectors import has_role

Listed = TypeVar("Listed", bound=Model)
# What a service refuses, in a sentence for people.
REFUSALS = (MemoriesError, TenantsError)


class StaffView(TemplateResponseMixin, ContextMixin, View):
    """A page in the frame of the admin, for staff with one of `roles` in any tenant."""

    http_method_names = ["get", "head", "post"]
    roles: Sequence[Role] = READS_HISTORY
    title = ""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view behind the door of the admin site, which asks strangers to sign in."""
        return admin.site.admin_view(super().as_view(**initkwargs))

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        method = str(request.method).lower()
        if method not in self.http_method_names or not hasattr(self, method):
            return self.http_method_not_allowed(request, *args, **kwargs)
        self.staff = signed_in(request)
        self.enter()
        return super().dispatch(request, *args, **self.kwargs)

    def enter(self) -> None:
        """Let the reader in, or raise PermissionDenied or Http404."""
        if not (self.staff.is_superuser or not roles_held(self.request).isdisjoint(self.roles)):
            raise PermissionDenied

    @property
    def actor(self) -> Actor:
        """The reader, for the audit log."""
        return acting(self.request)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        frame = admin.site.each_context(self.request)
        return super().get_context_data(**{**frame, "title": self.title, "is_fullwidth": "1", **kwargs})

    def render(self, *, status: int = 200, **context: Any) -> TemplateResponse:
        """The page; `context` joins what `get_context_data` gives."""
        return TemplateResponse(
            self.request, self.get_template_names(), self.get_context_data(**context), status=status
        )

    @contextmanager
    def refusals_shown(self) -> Iterator[None]:
        """Show on the next page what a service refuses; what is not there is answered as an unknown page."""
        try:
            yield
        except NotFound as error:
            raise Http404(str(error)) from error
        except REFUSALS as error:
            self.refuse(error)

    def success(self, sentence: str) -> None:
        """Show this on the next page."""
        messages.success(self.request, sentence)

    def refuse(self, error: Exception | str) -> None:
        """Show on the next page why nothing was done."""
        sentence = str(error)
        messages.error(self.request, sentence[:1].upper() + sentence[1:])


class TenantObjectView(SingleObjectMixin[Listed], StaffView):
    """A page about one row of a tenant, which is `self.object`; rows of tenants of others do not exist."""

    def enter(self) -> None:
        super().enter()
        self.object = self.get_object()

    def get_queryset(self) -> QuerySet[Listed]:
        """The rows of the reader's tenants."""
        rows = self.rows()
        return rows if self.staff.is_superuser else rows.filter(tenant_id__in=tenants_here(self.request, self.roles))

    @abstractmethod
    def rows(self) -> QuerySet[Listed]:
        """The rows of all tenants."""

    def get(self, request: HttpRequest, **_: object) -> HttpResponse:  # noqa: ARG002
        return self.render()


class MemberView(StaffView):
    """A page about one member at `membermemory/<uuid:member_id>/…`, for staff of the member's tenant.

    `reads` is what the audit log calls the page (empty: it shows nothing of the memory, or writes its own event); a
    `live` page refreshes itself, which counts as one look. `tab` names the tab that is open. A member of another tenant
    is answered as one that does not exist.
    """

    roles = READS_MEMORY
    reads = ""
    live = False
    tab = ""

    def enter(self) -> None:
        found = _members(self.request).filter(pk=self.kwargs.pop("member_id")).first()
        if found is None:
            raise Http404
        self.member: Membership = found
        self.role = role_here(self.request, found.tenant_id)
        if not self.may(self.roles):
            raise PermissionDenied
        self.principal: Principal = reading_principal(found, staff=self.staff, request_id=request_id_of(self.request))
        if self.reads:
            (note_refresh if self.live else note_reading)(self.principal, self.reads)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The page; in its place the rows that cannot be read, if that is why it failed."""
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
        context = MemberView.get_context_data(self, title="Memory that cannot be read", unread=unread)
        return self.render_to_response(context)

    def may(self, roles: Sequence[Role]) -> bool:
        """Whether the reader has one of `roles` in this tenant; platform staff may do everything."""
        return self.staff.is_superuser or self.role in roles

    def acting_principal(self) -> Principal:
        """The principal of an administrator who acts in the member's place. Raises Forbidden, NoMembership."""
        return staff_principal(self.member, staff=self.staff, request_id=request_id_of(self.request))

    def note(self, page: str, *, target_kind: str = "", target_id: UUID | None = None) -> None:
        """Write one more read event to the member's audit log."""
        note_reading(self.principal, page, target_kind=target_kind, target_id=target_id)

    def url(self, name: str, *args: object) -> str:
        """The address of another page of this member."""
        return reverse(f"staff:{name}", args=[self.member.pk, *args])

    def redirect(self, name: str, *args: object) -> HttpResponseRedirect:
        """To another page of this member."""
        return HttpResponseRedirect(self.url(name, *args))

    def record_url(self, _kind: Kind, memory_id: UUID) -> str:
        """The page of one memory under this member."""
        return self.url("record", memory_id)

    def view(self, row: Memory) -> MemoryView:
        """The view of one memory with a link to its page; no query."""
        return MemoryView(row, self.url("record", row.pk))

    def counted_views(self, rows: Sequence[Memory]) -> tuple[MemoryView, ...]:
        """The views of memories with recall counts, and whether each waits for the index; at most five queries."""
        ids = [row.pk for row in rows]
        counted = [row.pk for row in rows if not isinstance(row, Fact)]
        return memory_views(
            self.principal,
            rows,
            address=self.record_url,
            use_counts=times_recalled(self.principal, counted) if counted else {},
            waiting=unindexed(self.principal, ids) if ids else frozenset(),
        )

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        tabs = [(words, self.url(name), name == self.tab) for name, words, roles in TABS if self.may(roles)]
        return super().get_context_data(**{"member": self.member, "member_tabs": tabs, **kwargs})


class LiveMemberView(MemberView):
    """A page with a part that refreshes itself once the member's change token moves.

    Subclasses give the part by `get_part`. The token is read before the part, so no change in between is missed.
    """

    part_template = ""
    refresh_url = ""

    @abstractmethod
    def get_part(self) -> Mapping[str, Any]:
        """The context of the live part."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:  # noqa: ARG002
        token = change_token(self.principal, ignoring=READINGS)
        context = {"pulse": token, "pulse_url": self.url("pulse"), "live_url": self.live_url(), **self.get_part()}
        if self.live:
            return render(self.request, self.part_template, {"member": self.member, **context})
        return self.render(**context)

    def live_url(self) -> str:
        """Where the part alone is served."""
        return self.url(self.refresh_url)


class Pulse(MemberView):
    """The change token as JSON. It says only that something changed, so it needs no read event."""

    live = True

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return JsonResponse({"pulse": change_token(self.principal, ignoring=READINGS)})


# In their order: the name of the address, the words, and who may open it.
TABS: tuple[tuple[str, str, Sequence[Role]], ...] = (
    ("inspector", "Memory", READS_MEMORY),
    ("conversations", "Conversations", READS_MEMORY),
    ("ask", "Ask", READS_MEMORY),
    ("as_of", "As of", READS_MEMORY),
    ("runs", "Runs", READS_MEMORY),
    ("index", "Index", READS_MEMORY),
    ("search_key", "Search key", ADMINISTERS),
    ("erasure", "Erase or hold", ADMINISTERS),
    ("exporting", "Export", AUDITS),
)


def first_page_of(rows: QuerySet[Any], cursor: str, *, limit: int) -> tuple[Page[Any], str]:
    """The page after `cursor`; the first page and a sentence for a cursor that this list did not give."""
    try:
        return page_of(rows, limit=limit, cursor=cursor), ""
    except InvalidInput as error:
        return page_of(rows, limit=limit), str(error).capitalize()


def may_see(user: User, tenant_id: UUID | None, roles: Sequence[Role] = READS_HISTORY) -> bool:
    """Whether `user` has one of `roles` in the tenant; what all tenants share is for platform staff."""
    return user.is_superuser or (tenant_id is not None and has_role(user, tenant_id, roles))


def _members(request: HttpRequest) -> QuerySet[Membership]:
    """The members of the tenants in which the reader has any staff role."""
    rows = Membership.objects.select_related("tenant", "user")
    if signed_in(request).is_superuser:
        return rows
    return rows.filter(tenant_id__in=tenants_here(request, READS_HISTORY))
