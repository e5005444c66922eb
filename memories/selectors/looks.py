"""Who looked at a member's memory: read events of staff, and exports by staff and keys, in the member's audit log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django_stubs_ext import StrOrPromise

from memories.models import CHAINED_MODELS, CaseOrigin, Episode, Session, SupportCase
from memories.models.guard import OwnedQuerySet
from memories.selectors.paging import Page, page_of
from memories.selectors.policies import policy_of
from memoryhub.db.scope import WideRole, acting_as
from tenants.audit.chain import owner_chain
from tenants.models import AuditEvent, Membership
from tenants.principal import ActorKind, Principal, Right, Role

# The events of staff who saw something of the memory, or took it along.
LOOKS_AT_MEMORY = ("memory.read", "memory.asked", "review.read")
LOOKS = (*LOOKS_AT_MEMORY, "audit.read", "memory.exported", "chain.exported")
_LOOKING = (ActorKind.STAFF.value, ActorKind.KEY.value)
_PAGES: Mapping[str, StrOrPromise] = {
    gettext_noop("inspector"): gettext_lazy("opened the list of your memories"),
    gettext_noop("record"): gettext_lazy("opened one memory"),
    gettext_noop("items"): gettext_lazy("opened the list of your items"),
    gettext_noop("item"): gettext_lazy("opened one item"),
    gettext_noop("history"): gettext_lazy("opened the history of one memory"),
    gettext_noop("histories"): gettext_lazy("opened the list of what changed and when"),
    gettext_noop("conversations"): gettext_lazy("opened the list of your conversations"),
    gettext_noop("conversation"): gettext_lazy("opened a conversation"),
    gettext_noop("live"): gettext_lazy("opened your latest conversation beside your latest memories"),
    gettext_noop("turn"): gettext_lazy("opened one message of a conversation, with its answer"),
    gettext_noop("uses"): gettext_lazy("opened the answers that one memory was used in"),
    gettext_noop("as of"): gettext_lazy("opened your memory as it was at an earlier time"),
    gettext_noop("what changed"): gettext_lazy("opened what changed in your memory"),
    gettext_noop("index"): gettext_lazy("opened the search index of your memory"),
    gettext_noop("index check"): gettext_lazy("opened a comparison of your memory with the search index"),
    gettext_noop("consolidation runs"): gettext_lazy("opened the list of what was learned from your conversations"),
    gettext_noop("consolidation run"): gettext_lazy("opened what was learned from one part of your conversations"),
}
_DEEDS: Mapping[str, StrOrPromise] = {
    "memory.asked": gettext_lazy("asked your memory a question"),
    "review.read": gettext_lazy("opened a question that waits for you to settle"),
    "audit.read": gettext_lazy("opened an entry of your audit log"),
    "memory.exported": gettext_lazy("took your whole memory along"),
    "chain.exported": gettext_lazy("took the history of one memory along"),
}


@dataclass(frozen=True, slots=True)
class Look:
    """One look. `name` is empty where the policy hides it; `kind` and `target_id` name the target while it exists.

    `what` is a verb phrase, such as `opened a conversation`. `reason` was stated, or names the case that was open.
    `times` counts the looks that are grouped into this one, of which `first_at` is the first.
    """

    id: UUID
    at: datetime
    role: str
    name: str
    what: str
    reason: str
    kind: str = ""
    target_id: UUID | None = None
    actor_id: UUID | None = None
    seen_id: UUID | None = None
    times: int = 1
    first_at: datetime | None = None


# A look at the same thing within this time after the last one, a reload for example, belongs to it.
_PAUSE = timedelta(minutes=30)


def in_stretches(looks: Sequence[Look]) -> list[Look]:
    """One look for those of one person at one thing for one reason, without a longer pause; latest first, as given."""
    found: dict[tuple[object, ...], int] = {}
    shown: list[Look] = []
    for look in looks:
        same = (look.actor_id, look.what, look.seen_id, look.reason)
        place = found.get(same)
        if place is None or (shown[place].first_at or shown[place].at) - look.at > _PAUSE:
            found[same] = len(shown)
            shown.append(look)
        else:
            shown[place] = replace(shown[place], times=shown[place].times + 1, first_at=look.at)
    return shown


def looks_at(principal: Principal, *, limit: int, cursor: str = "") -> tuple[list[Look], str]:
    """A page of the looks at the owner's memory, latest first, and the cursor of the next. Raises InvalidInput."""
    principal.require(Right.READ)
    chain = owner_chain(principal.tenant_id, principal.user_id)
    events = AuditEvent.objects.filter(chain=chain, action__in=LOOKS, actor_kind__in=_LOOKING)
    page: Page[AuditEvent] = page_of(events.select_related("payload").order_by("-sequence"), limit=limit, cursor=cursor)
    staff = Membership.objects.filter(tenant=principal.tenant_id, user__in={event.actor_id for event in page.rows})
    with acting_as(WideRole.SIGN_IN):  # reads who is who, which a member's own scope does not
        people = {each.user_id: each for each in staff.select_related("user")}
    named = policy_of(principal.tenant_id).looks_name_staff
    there, cases = _existing(principal, page.rows), _cases(principal, page.rows)
    return [_look(event, people, there, cases, named=named) for event in page.rows], page.next_cursor


def _look(
    event: AuditEvent,
    people: Mapping[UUID, Membership],
    there: frozenset[UUID],
    cases: Mapping[str, SupportCase],
    *,
    named: bool,
) -> Look:
    said = _said(event)
    case = cases.get(_case_id(event))
    person = people.get(event.actor_id) if event.actor_id else None
    exists = event.target_id in there
    opened = str((said.get("after") or {}).get("page", ""))
    return Look(
        id=event.pk,
        at=event.created_at,
        role=_("your organisation's program") if event.actor_kind == ActorKind.KEY else _role(person),
        name=person.user.speaker if person and named else "",
        what=_what(event.action, opened),
        reason=str(said.get("reason") or "") or (_about_case(case) if case else ""),
        kind=event.target_kind if exists else "",
        target_id=event.target_id if exists else None,
        actor_id=event.actor_id,
        seen_id=case.pk if case else event.target_id,
    )


def _said(event: AuditEvent) -> Mapping[str, Any]:
    payload = getattr(event, "payload", None)
    return payload.data if payload else {}


def _case_id(event: AuditEvent) -> str:
    return str((_said(event).get("after") or {}).get("case", ""))


def _cases(principal: Principal, events: Iterable[AuditEvent]) -> dict[str, SupportCase]:
    """The owner's cases that were open on the pages that staff read, by id."""
    sessions = {event.target_id for event in events if event.target_id and _case_id(event)}
    cases = SupportCase.objects.of(principal).filter(session__in=sessions) if sessions else ()
    return {str(case.pk): case for case in cases}


def _about_case(case: SupportCase) -> str:
    if case.ticket:
        return _("Case about this answer, ticket %(ticket)s") % {"ticket": case.ticket}
    if case.origin == CaseOrigin.MEMBER:
        return _("Case about this answer, which you marked as wrong")
    return _("Case about this answer, opened by staff")


def _what(action: str, page: str) -> str:
    known = _DEEDS.get(action) or _PAGES.get(page)
    return str(known) if known else _("opened %(page)s") % {"page": page or _("a page about you")}


def _role(person: Membership | None) -> str:
    """The role of staff in the tenant today."""
    if person is None:
        return _("platform staff")
    return person.get_role_display() if person.is_active and person.role != Role.MEMBER else _("former staff")


def _existing(principal: Principal, events: Iterable[AuditEvent]) -> frozenset[UUID]:
    """The targets that the owner can still open."""
    wanted: dict[str, set[UUID]] = {}
    for event in events:
        if event.target_id is not None:
            wanted.setdefault(event.target_kind, set()).add(event.target_id)
    models: dict[str, OwnedQuerySet] = {  # type: ignore[type-arg]
        **{kind.value: model.objects.of(principal) for kind, model in CHAINED_MODELS.items()},
        "episodic": Episode.objects.of(principal),
        "session": Session.objects.of(principal),
    }
    return frozenset(
        pk
        for kind, ids in wanted.items()
        if kind in models
        for pk in models[kind].filter(pk__in=ids).values_list("pk", flat=True)
    )
