"""Whose history staff open: found among the tenants of their roles, read in the owner's name, told to a trail first.

Invariant: a state of another tenant is as one that does not exist; that somebody looks is in the owner's trail before
anything is shown, in that of the tenant for what is shared (or whose owner is no member any more).
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpRequest

from memories.admin.unread import owner_as_stored
from memories.models import CHAINED_MODELS, Fact, Playbook
from memories.selectors.history.listing import NOTHING, Without
from memories.selectors.history.stories import Story, erased_state, find_state, story_of, story_of_erased
from memories.services.admin_requests import note_reading, note_shared_reading
from memories.types import Kind, Owner
from memoryhub.db.raw_rows import READING_FAILS
from tenants.admin.scoping import acting, signed_in
from tenants.middleware import request_id_of
from tenants.models import AuditEvent, Membership, User
from tenants.principal import READS_HISTORY, Principal, Role
from tenants.principals import reading_principal
from tenants.selectors import has_role


@dataclass(frozen=True, slots=True)
class Looked:
    """An opened history. `principal` reads for the owner; None where there is no owner to read for."""

    story: Story
    member: Membership | None
    principal: Principal | None


def kind_of(word: str) -> Kind:
    """A kind that has histories. Raises Http404."""
    if word not in {kind.value for kind in CHAINED_MODELS}:
        raise Http404
    return Kind(word)


def owner_of(request: HttpRequest, kind: Kind, memory_id: UUID) -> Owner:
    """Whose state this is, erased or not, if this reader may know; also of one that cannot be read. Raises Http404."""
    try:
        return _found(request, kind, memory_id).owner
    except READING_FAILS:
        owner = owner_as_stored(kind, memory_id)
        if owner is None or not may_see(signed_in(request), owner):
            raise Http404 from None
        return owner


@dataclass(frozen=True, slots=True)
class Opened:
    """A state, or the event of its erasure, that somebody may look at and that the trail tells of; see `Looked`."""

    kind: Kind
    memory_id: UUID
    state: Fact | Playbook | AuditEvent
    member: Membership | None
    principal: Principal | None


def open_history(request: HttpRequest, kind: Kind, memory_id: UUID) -> Opened:
    """Find a state and tell the trail that its chain is looked at: once, however often it is read. Raises Http404."""
    found = _found(request, kind, memory_id)
    member = member_of(found.owner)
    principal = None
    if member is not None:
        principal = reading_principal(member, staff=signed_in(request), request_id=request_id_of(request))
        note_reading(principal, "history", target_kind=kind.value, target_id=memory_id)
    else:
        tenant_id = found.owner.tenant_id
        note_shared_reading(acting(request), tenant_id, "history", target_kind=kind.value, target_id=memory_id)
    return Opened(kind, memory_id, found.state, member, principal)


def look(opened: Opened, *, without: Without = NOTHING) -> Looked:
    """The chain of what was opened, `without` states that cannot be read."""
    state = opened.state
    if isinstance(state, Fact | Playbook):
        story = story_of(state, without=without)
    else:
        story = story_of_erased(opened.kind, state, without=without)
    return Looked(story, opened.member, opened.principal)


@dataclass(frozen=True, slots=True)
class _Found:
    """A state, or the event of its erasure, and whose it is."""

    state: Fact | Playbook | AuditEvent
    owner: Owner


def _found(request: HttpRequest, kind: Kind, memory_id: UUID) -> _Found:
    """Raises Http404, for what is in no tenant of the reader's as for what is nowhere."""
    row = find_state(kind, memory_id)
    event = None if row else erased_state(kind, memory_id)
    if row is not None:
        found = _Found(row, row.owner)
    elif event is not None:
        found = _Found(event, Owner(event.tenant_id, event.owner_id))
    else:
        raise Http404
    if not may_see(signed_in(request), found.owner):
        raise Http404
    return found


def member_of(owner: Owner) -> Membership | None:
    """Who owns it, if that is a person and they are still a member, active or not."""
    if owner.user_id is None or owner.tenant_id is None:
        return None
    found = Membership.objects.filter(tenant_id=owner.tenant_id, user_id=owner.user_id)
    return found.select_related("user", "tenant").first()


def may_see(user: User, owner: Owner, roles: tuple[Role, ...] = READS_HISTORY) -> bool:
    """Whether they may read histories there; what all tenants share is for whoever runs the platform."""
    if user.is_superuser:
        return True
    return owner.tenant_id is not None and has_role(user, owner.tenant_id, roles)
