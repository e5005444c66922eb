"""The members whose memory staff may open, and the addresses of all pages about one of them."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from memories.admin.members import (
    as_of,
    ask,
    changes,
    conversations,
    credential,
    erasure,
    exporting,
    index,
    inspector,
    live,
    record,
    runs,
    turns,
)
from memories.admin.members.page import Looking, MemberPage
from memories.admin.unread import damage_in
from memories.models import MemberMemory
from memories.presenting.markup import when
from memories.selectors.staff.inspecting import last_turn_of_member
from memories.services.admin_requests import note_reading, note_refresh
from memoryhub.db.raw_rows import READING_FAILS
from tenants.admin.scoping import TenantScopedAdmin, named, role_here, signed_in, tenants_here
from tenants.middleware import request_id_of
from tenants.principal import READS_HISTORY, READS_MEMORY
from tenants.principals import reading_principal

# In the order of their tabs.
PAGES: tuple[MemberPage, ...] = (
    *inspector.PAGES,
    *record.PAGES,
    *live.PAGES,
    *conversations.PAGES,
    *turns.PAGES,
    *ask.PAGES,
    *as_of.PAGES,
    *changes.PAGES,
    *runs.PAGES,
    *index.PAGES,
    *credential.PAGES,
    *erasure.PAGES,
    *exporting.PAGES,
)


@admin.register(MemberMemory)
class MemberMemoryAdmin(TenantScopedAdmin[MemberMemory]):
    """A list to choose a member from; what is theirs is behind it."""

    roles = READS_MEMORY
    list_display = ["member", "tenant", "role", "external_id", "last_conversation", "is_active"]
    preserve_filters = False
    list_filter = ["role", "is_active"]
    list_select_related = ["tenant", "user"]
    search_fields = ["user__username", "user__display_name", "=external_id"]
    ordering = ["user__username", "id"]
    show_full_result_count = False
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - members are added elsewhere
        return False

    def has_change_permission(self, request: HttpRequest, obj: MemberMemory | None = None) -> bool:  # noqa: ARG002
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[MemberMemory]:
        """With when each last said something."""
        return super().get_queryset(request).annotate(last_turn_at=last_turn_of_member())

    @admin.display(description="member", ordering="user__username")
    def member(self, row: MemberMemory) -> str | None:
        """Their name, which leads to what is remembered."""
        return named(row.user)

    @admin.display(description="last conversation", ordering="last_turn_at", empty_value="none yet")
    def last_conversation(self, row: MemberMemory) -> SafeString | str | None:
        """When they last said something."""
        moment: datetime | None = getattr(row, "last_turn_at", None)
        return when(moment) if moment else None

    def get_urls(self) -> list[URLPattern]:
        """The list, and the pages; none of Django's forms, for nothing is edited here."""
        site = self.admin_site
        return [
            path("", site.admin_view(self.changelist_view), name="memories_membermemory_changelist"),
            *(
                path(
                    f"<uuid:member_id>/{page.route}",
                    site.admin_view(partial(self.look, page=page)),
                    name=f"memories_membermemory_{page.name}",
                )
                for page in PAGES
            ),
        ]

    def look(self, request: HttpRequest, *, member_id: UUID, page: MemberPage, **arguments: object) -> HttpResponseBase:
        """Show a page of a member to whom may see it."""
        if request.method not in page.methods:
            return HttpResponseNotAllowed(page.methods)
        staff = signed_in(request)
        found: MemberMemory | None = self._known(request).filter(pk=member_id).first()
        if found is None:
            raise Http404
        looking = Looking(
            request=request,
            site=self.admin_site,
            staff=staff,
            membership=found,
            principal=reading_principal(found, staff=staff, request_id=request_id_of(request)),
            page=page,
            tabs=tuple(each for each in PAGES if each.tab),
            role=role_here(request, found.tenant_id),
        )
        if not looking.may(page.roles):
            raise PermissionDenied
        if page.reads:
            (note_refresh if page.live else note_reading)(looking.principal, page.reads)
        if page.live or request.method != "GET":
            return page.view(looking, **arguments)
        try:
            answer = page.view(looking, **arguments)
            return answer.render() if isinstance(answer, SimpleTemplateResponse) else answer
        except READING_FAILS:
            damage = damage_in(found.tenant_id)
            if damage is None:
                raise
        title = "Memory that cannot be read"
        return looking.render("admin/memories/member/unread.html", title=title, unread=damage.sentences)

    def _known(self, request: HttpRequest) -> QuerySet[MemberMemory]:
        """The members of the tenants where one is staff of any role: others do not exist."""
        rows = MemberMemory.objects.select_related("tenant", "user")
        if signed_in(request).is_superuser:
            return rows
        return rows.filter(tenant_id__in=tenants_here(request, READS_HISTORY))
