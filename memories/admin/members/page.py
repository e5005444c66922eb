"""What a page about one member is, and what it is given: whose memory, as whom it is read, and how it is shown.

Invariant: a view runs only for staff whose role in the member's tenant lets them see the page; that they look is in
the member's trail before anything is read. A member of another tenant is as one that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse

from memories.services.admin_requests import note_reading
from tenants.middleware import request_id_of
from tenants.models import Membership, User
from tenants.principal import READS_MEMORY, Actor, ActorKind, Principal, Role
from tenants.principals import staff_principal

ADDRESS = "admin:memories_membermemory_"


@dataclass(frozen=True, slots=True)
class MemberPage:
    """A page at `<member>/<route>`, named `memories_membermemory_<name>`.

    `reads`: what the trail says was looked at; empty for pages that show nothing of the memory. `tab`: its name among
    the tabs of a member, in the order of `member_memory.PAGES`; its route takes no arguments then. `under`: the name of
    the page whose tab stays chosen on this one. `live`: a part that a page asks for again and again; it is noted as one
    look.
    """

    name: str
    route: str
    view: Callable[..., HttpResponseBase]
    roles: Sequence[Role] = READS_MEMORY
    tab: str = ""
    under: str = ""
    reads: str = ""
    methods: tuple[str, ...] = ("GET",)
    live: bool = False


@dataclass(frozen=True, slots=True)
class Looking:
    """Staff at a page of one member. `principal` reads their memory and changes nothing."""

    request: HttpRequest
    site: AdminSite
    staff: User
    membership: Membership
    principal: Principal
    page: MemberPage
    tabs: tuple[MemberPage, ...]
    role: Role | None

    @property
    def actor(self) -> Actor:
        """Who acts, for what is recorded of the tenant."""
        return Actor(ActorKind.STAFF, self.staff.pk, request_id_of(self.request))

    def may(self, roles: Sequence[Role]) -> bool:
        """Whether their `role` in this tenant is one of `roles`; platform staff may all."""
        return self.staff.is_superuser or self.role in roles

    def acting(self) -> Principal:
        """An administrator acting in the member's place. Raises Forbidden, NoMembership."""
        return staff_principal(self.membership, staff=self.staff, request_id=request_id_of(self.request))

    def note(self, page: str, *, target_kind: str = "", target_id: UUID | None = None) -> None:
        """Tell the trail of one more thing that they look at."""
        note_reading(self.principal, page, target_kind=target_kind, target_id=target_id)

    def url(self, name: str, *args: object) -> str:
        """The address of another page of this member."""
        return reverse(f"{ADDRESS}{name}", args=[self.membership.pk, *args])

    def render(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """A page in the frame of the member: `templates/admin/memories/member/frame.html`."""
        return TemplateResponse(
            self.request,
            template,
            {
                **self.site.each_context(self.request),
                "title": title,
                "looking": self,
                "member": self.membership,
                "member_tabs": [
                    (each.tab, self.url(each.name), each.name in (self.page.name, self.page.under))
                    for each in self.tabs
                    if self.may(each.roles)
                ],
                "is_fullwidth": "1",
                **context,
            },
            status=status,
        )
