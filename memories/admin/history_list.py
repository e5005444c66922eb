"""The list of histories: what an address asks for, and what each line says.

Invariant: a line shows words only where one member's histories are asked for, which that member's trail is told, or
those that a tenant shares; across members it shows slots, times and who it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from memories.admin.history_access import member_of
from memories.admin.story_wording import did, ending, state_word
from memories.admin.unread import damage_in
from memories.errors import InvalidInput
from memories.models import Fact
from memories.selectors.history.listing import (
    NOTHING,
    Change,
    How,
    Sought,
    Without,
    changes_of,
    page_of_histories,
    require_read,
)
from memories.services.admin_requests import note_reading, note_shared_reading
from memories.types import Kind, Owner
from memoryhub.db.raw_rows import READING_FAILS
from tenants.admin.scoping import PARAMETER, TenantScope, acting, one_of, signed_in
from tenants.audit.listing import read_filter
from tenants.audit.sentences import ActorNames, actor_names
from tenants.errors import InvalidValue, is_storable
from tenants.middleware import request_id_of
from tenants.models import Membership
from tenants.principal import READS_HISTORY, ActorKind
from tenants.principals import reading_principal

SHARED = "shared"
_LONGEST_WORDS = 200
FIELDS = (PARAMETER, "member", "kind", "key", "q", "since", "until", "actor", "how", "all")
# What the page calls each field, for what is wrong with it.
_LABELS = {
    "q": "Words", "member": "Member", "key": "Key", "since": "Changed from", "until": "Changed to",
    "actor": "Who did it", "cursor": "Page",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One state that ended. `words` and `became` are empty where they are not to be shown."""

    url: str
    kind: Kind
    slot: str
    words: str
    became: str
    state: str
    ending: str
    retracted: bool
    whose: str
    who: str
    did: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list with what was asked for; `refused` names a field of the form and says why.

    `unread`: what was left out because it cannot be read, a sentence each.
    """

    scope: TenantScope
    asked: Mapping[str, str]
    member: Membership | None = None
    lines: tuple[Line, ...] = ()
    with_words: bool = False
    next_url: str = ""
    first_url: str = ""
    refused: tuple[str, str] | None = None
    unread: tuple[str, ...] = ()

    @property
    def actors(self) -> tuple[str, ...]:
        """Who may have acted, in a word."""
        return tuple(kind.value for kind in ActorKind)

    @property
    def ways(self) -> tuple[str, ...]:
        """What may have become of a state."""
        return tuple(how.value for how in How)

    @property
    def narrowed(self) -> bool:
        """Whether anything but the tenant was asked for."""
        return any(value for name, value in self.asked.items() if name not in (PARAMETER, "kind"))


def listing_of(request: HttpRequest) -> Listing:
    """The list as the address asks for it, once the trail of whose words it shows is told: once, however often read.

    Without what somebody made unreadable, if that is in its way.
    """
    tell = _Telling(request)
    try:
        return _listing(request, NOTHING, tell)
    except READING_FAILS:
        tenant = one_of(request, READS_HISTORY).chosen
        damage = damage_in(tenant.pk if tenant else None)
        if damage is None:
            raise
        return replace(_listing(request, damage.without, tell), unread=damage.sentences)


def _listing(request: HttpRequest, without: Without, tell: _Telling) -> Listing:
    asked = {name: request.GET.get(name, "").strip() for name in FIELDS}
    scope = one_of(request, READS_HISTORY)
    asked[PARAMETER] = scope.address
    base = reverse("admin:memories_history_changelist")
    try:
        sought = replace(_sought(scope, asked), without=without)
        page = page_of_histories(sought, cursor=request.GET.get("cursor", ""))
    except (InvalidValue, InvalidInput) as error:
        return Listing(scope, asked, refused=(_LABELS.get(error.field, error.field), error.reason))
    member = member_of(Owner(sought.tenant_id, sought.user_id))
    with_words = tell.whose(sought, member)
    require_read(page.rows)
    changes = changes_of(page.rows, without)
    names = actor_names(sought.tenant_id, [change.event for change in changes if change.event])
    return Listing(
        scope=scope,
        member=member,
        asked=asked,
        lines=tuple(_line(change, names, with_words=with_words) for change in changes),
        with_words=with_words,
        next_url=_address(base, {**asked, "cursor": page.next_cursor}) if page.next_cursor else "",
        first_url=_address(base, asked) if request.GET.get("cursor") else "",
    )


def _sought(scope: TenantScope, asked: Mapping[str, str]) -> Sought:
    """Raises InvalidValue, InvalidInput."""
    tenant = scope.chosen
    if len(asked["q"]) > _LONGEST_WORDS:
        raise InvalidValue("q", f"Search for at most {_LONGEST_WORDS} characters.")
    for name in ("q", "key"):
        if not is_storable(asked[name]):
            raise InvalidValue(name, "This is nothing that one could look for.")
    if asked["all"] and tenant is not None and not asked["member"]:
        raise InvalidValue("member", "Choose one to see what never changed as well.")
    shared = asked["member"] == SHARED
    told = read_filter(
        tenant.pk if tenant else None,
        {
            "member": "" if shared else asked["member"],
            "actor": asked["actor"],
            "since": asked["since"],
            "until": asked["until"],
        },
    )
    return Sought(
        tenant_id=tenant.pk if tenant else None,
        kind=Kind.PROCEDURAL if asked["kind"] == Kind.PROCEDURAL else Kind.SEMANTIC,
        user_id=told.member,
        shared=shared,
        key=asked["key"].lower().replace(" ", "_"),
        text=asked["q"],
        since=told.since,
        until=told.until,
        actor_id=told.actor,
        actor_kind=told.actor_kind,
        how=How(asked["how"]) if asked["how"] in {how.value for how in How} else None,
        everything=asked["all"] == "1",
    )


class _Telling:
    """Tells the trail of a view of the list, once."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._told = False

    def whose(self, sought: Sought, member: Membership | None) -> bool:
        """Tell whose words are looked at (of a search in all members' words, their tenant). Whether to show words."""
        shared = member is None and sought.user_id is None and (sought.shared or sought.tenant_id is None)
        if not self._told:
            self._tell(sought, member, shared=shared)
            self._told = True
        return member is not None or shared

    def _tell(self, sought: Sought, member: Membership | None, *, shared: bool) -> None:
        if member is not None:
            staff, request_id = signed_in(self._request), request_id_of(self._request)
            note_reading(reading_principal(member, staff=staff, request_id=request_id), "histories")
        elif shared or sought.text:
            page = "shared histories" if shared else "search in histories"
            note_shared_reading(acting(self._request), sought.tenant_id, page)


def _line(change: Change, names: ActorNames, *, with_words: bool) -> Line:
    row, event = change.row, change.event
    fact = row if isinstance(row, Fact) else None
    slot = (fact.key.replace("_", " ") if fact and fact.key else "") or row.category
    return Line(
        url=reverse("admin:memories_history_chain", args=[row.kind.value, row.pk]),
        kind=row.kind,
        slot=slot,
        words=_words(row) if with_words else "",
        became=_words(change.successor) if with_words and change.successor else "",
        state=state_word(row),
        ending=ending(row),
        retracted=row.retracted,
        whose=row.user.speaker if row.user else "shared",
        who=names.who(event) if event else "",
        did=did(event.action) if event else "",
        at=row.superseded_at or row.learned_at,
    )


def _words(row: Any) -> str:
    return str(row.text if isinstance(row, Fact) else row.title)


def _address(base: str, asked: Mapping[str, str]) -> str:
    said = {name: value for name, value in asked.items() if value}
    return f"{base}?{urlencode(said)}" if said else base


def chain_address(kind: Kind, memory_id: UUID) -> str:
    """The permanent address of a state in its chain."""
    return reverse("admin:memories_history_chain", args=[kind.value, memory_id])
