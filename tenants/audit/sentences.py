"""Renders events of the audit log for readers: a sentence for each, and a comparison of the values before and after it.

A sentence says who did what to which object of which user. It holds names and ids, a fact's key and a reason that the
program gave, never the text of a memory. Only people and tokens of the reader's tenant are named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django_stubs_ext import StrOrPromise

from memoryhub.languages import number
from tenants.audit.fields import field_words, value_words
from tenants.audit.phrases import object_of, own_export, own_password, phrase_of
from tenants.models import ApiToken, AuditEvent, Membership, Tenant, User
from tenants.principal import ActorKind

# Longer texts are shown without marks: comparing takes time quadratic in their length.
_MOST_WORDS = 600
_ORDER = ("changed", "added", "before", "same")


@dataclass(frozen=True, slots=True)
class ValuePiece:
    """A run of words, `marked` if only one side has it."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One value on both sides; a side without the value is empty.

    `state`: changed, added, same, or before (only there).
    """

    name: str
    before: tuple[ValuePiece, ...]
    after: tuple[ValuePiece, ...]
    state: str


def differences(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[ValueDifference]:
    """Compare the values by name: differing values first, then the rest, each sorted by name.

    A value that only `before` has was not removed: `after` holds only the values that the event changed.
    """
    old, new = before or {}, after or {}
    rows = [_difference(name, old, new) for name in sorted(old.keys() | new.keys())]
    return sorted(rows, key=lambda row: _ORDER.index(row.state))


def _difference(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> ValueDifference:
    first, second = (_plain(name, side[name]) if name in side else None for side in (old, new))
    left, right = ((text or "").split() for text in (first, second))
    state = "before" if second is None else "added" if first is None else "same" if first == second else "changed"
    sides: list[tuple[ValuePiece, ...]]
    if state != "changed" or max(len(left), len(right)) > _MOST_WORDS:
        sides = [() if text is None else (ValuePiece(text, state == "changed"),) for text in (first, second)]
    else:
        codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        sides = [
            tuple(_pieces(left, [(tag, start, end) for tag, start, end, __, __ in codes])),
            tuple(_pieces(right, [(tag, start, end) for tag, __, __, start, end in codes])),
        ]
    return ValueDifference(field_words(name), sides[0], sides[1], state)


def _pieces(words: list[str], codes: list[tuple[str, int, int]]) -> Iterator[ValuePiece]:
    for tag, start, end in codes:
        if start < end:
            yield ValuePiece(" ".join(words[start:end]), marked=tag != "equal")


def _plain(name: str, value: Any) -> str:
    if value is None:
        return _("nothing")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | float):
        return number(value)
    return value_words(name, value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_UNNAMED: Mapping[str, StrOrPromise] = {
    ActorKind.MEMBER: gettext_lazy("a member"),
    ActorKind.AGENT: gettext_lazy("the agent"),
    ActorKind.TOKEN: gettext_lazy("a connected program"),
    ActorKind.KEY: gettext_lazy("the organisation's program"),
    ActorKind.STAFF: gettext_lazy("platform staff"),
    ActorKind.SYSTEM: gettext_lazy("the system"),
}

_PROGRAMS: Mapping[str, StrOrPromise] = {
    ActorKind.TOKEN: gettext_lazy("the token %(name)s"),
    ActorKind.KEY: gettext_lazy("the backend key %(name)s"),
}


@dataclass(frozen=True, slots=True)
class ActorNames:
    """Names by the id of a user or token."""

    by_id: Mapping[UUID, str]

    def who(self, event: AuditEvent) -> str:
        """Such as `Mara Lindqvist`, `the agent of Mara Lindqvist`, or `the system`."""
        name = self.by_id.get(event.actor_id) if event.actor_id else None
        if name is None:
            return str(_UNNAMED.get(event.actor_kind, event.actor_kind))
        if event.actor_kind == ActorKind.AGENT:
            return _("the agent of %(name)s") % {"name": name}
        return _PROGRAMS[event.actor_kind] % {"name": name} if event.actor_kind in _PROGRAMS else name


def actor_names(tenant_id: UUID | None, events: Iterable[AuditEvent]) -> ActorNames:
    """The names of the actors of these events who belong or belonged to the tenant; at most two queries."""
    users, tokens = set[UUID](), set[UUID]()
    for event in events:
        if event.actor_id is not None:
            (tokens if event.actor_kind in _PROGRAMS else users).add(event.actor_id)
    names: dict[UUID, str] = {}
    if users and tenant_id is not None:
        members = Membership.objects.filter(tenant_id=tenant_id, user_id__in=users).select_related("user")
        names |= {member.user_id: member.user.shown_name for member in members}
    if tokens and tenant_id is not None:
        known = ApiToken.objects.filter(pk__in=tokens, tenant_id=tenant_id)
        names |= dict(known.values_list("pk", "name"))
    return ActorNames(names)


def names_of_members(tenant_id: UUID, user_ids: Iterable[str]) -> dict[str, str]:
    """Names of the tenant's members by user id; for others, the first characters of the id."""
    wanted = list(user_ids)
    known = Membership.objects.filter(tenant_id=tenant_id, user_id__in=_ids(wanted)).select_related("user")
    names = {str(member.user_id): member.user.shown_name for member in known}
    return {each: names.get(each) or _("member %(id)s") % {"id": each[:8]} for each in wanted}


def _ids(texts: Iterable[str]) -> list[UUID]:
    """The valid UUIDs: SQL can put anything into the name of a chain."""
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


# Pills of a sentence; a kind of contradiction is shown as its outcome.
_DETAILS: Mapping[str, StrOrPromise] = {"harsh": gettext_lazy("corrected"), "natural": gettext_lazy("changed")}
# From a tenant id and the ids of objects to the user that each is about; None means the whole tenant.
Concerned = Callable[[UUID, Collection[UUID]], Mapping[UUID, UUID | None]]
_reasons: set[str] = set()
_concerned: dict[str, Concerned] = {}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One event in words. `thing_name`: the key of a fact, or the name of the user it is about.

    `did` and `did_behind` stand before and behind the object. `of` names the owner, empty if that is the actor; `of_id`
    is the owner's user id, None for a tenant.
    """

    event: AuditEvent
    who: str
    did: str
    did_behind: str = ""
    thing: str = ""
    thing_name: str = ""
    before_whom: str = ""
    of: str = ""
    of_id: UUID | None = None
    detail: str = ""
    because: str = ""
    erased: bool = False

    @property
    def text(self) -> str:
        """The sentence as plain text."""
        thing = f" {self.thing_name or self.thing}" if self.thing else ""
        whose = f" {self.before_whom} {self.of}" if self.of else ""
        behind = f" {self.did_behind}" if self.did_behind else ""
        because = _(", because “%(because)s”") % {"because": self.because} if self.because else ""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.who} {self.did}{thing}{whose}{behind}{because}{detail}."


def own_reasons(reasons: Iterable[str]) -> None:
    """Register reasons that the program itself gives, with no user's text; lists show only these."""
    _reasons.update(reasons)


def tell_whom(target_kind: str, concerned: Concerned) -> None:
    """Register the query that finds the user of each object of `target_kind`."""
    _concerned[target_kind] = concerned


def sentences(events: Iterable[AuditEvent]) -> list[Sentence]:
    """The sentence of each event, in order. The events belong to one tenant and have their payloads loaded.

    Runs at most four queries, and one for each registered kind of object.
    """
    rows = list(events)
    tenant_id = rows[0].tenant_id if rows else None
    about = _about(tenant_id, rows)
    actors, others = actor_names(tenant_id, rows), _names(tenant_id, rows, about)
    return [_sentence(event, actors.who(event), others, about) for event in rows]


def _sentence(event: AuditEvent, who: str, names: Mapping[UUID, str], about: Mapping[UUID, UUID | None]) -> Sentence:
    payload = getattr(event, "payload", None)
    said: Mapping[str, Any] = payload.data if payload else {}
    thing = object_of(event.action, event.target_kind)
    named = names.get(event.target_id, "") if event.target_id else ""
    did, behind = phrase_of(event.action)
    if event.actor_id == event.target_id and event.action == "user.password_changed":
        who, thing = named or who, ""
        did, behind = own_password()
    if event.action == "memory.exported" and event.actor_kind == ActorKind.MEMBER and event.actor_id == event.owner_id:
        did, behind = own_export()
    of, of_id = _of(event, names, about)
    return Sentence(
        event=event,
        who=capfirst(who),
        did=did,
        did_behind=behind,
        thing=thing,
        thing_name=named or _key(said),
        before_whom=pgettext("hold", "on") if event.target_kind == "legal_hold" else pgettext("owner", "of"),
        of=of,
        of_id=of_id,
        detail=_detail(said),
        because=_(said["reason"]) if said.get("reason") in _reasons else "",
        erased=payload is None,
    )


def _of(event: AuditEvent, names: Mapping[UUID, str], about: Mapping[UUID, UUID | None]) -> tuple[str, UUID | None]:
    """Name and user id of the owner: no id for a tenant, neither for the actor's own objects."""
    if event.target_id is not None and event.target_id in about:
        whose = about[event.target_id]
        if whose is None and event.tenant_id is not None:
            return names.get(event.tenant_id, ""), None
    else:
        own = event.actor_id == event.owner_id and event.actor_kind != ActorKind.STAFF
        whose = None if own else event.owner_id
    return (names.get(whose) or pgettext("owner", "a member"), whose) if whose else ("", None)


def _key(said: Mapping[str, Any]) -> str:
    for side in (said.get("before"), said.get("after")):
        if isinstance(side, dict) and isinstance(side.get("key"), str) and side["key"]:
            return str(side["key"]).replace("_", " ")
    return ""


def _detail(said: Mapping[str, Any]) -> str:
    """The page that staff read, or the kind of contradiction that ended a fact; never a user's text."""
    for side in (said.get("after"), said.get("before")):
        for name in ("page", "contradiction"):
            if isinstance(side, dict) and isinstance(side.get(name), str):
                return str(_DETAILS.get(side[name]) or _(side[name]))
    return ""


def _about(tenant_id: UUID | None, events: Iterable[AuditEvent]) -> dict[UUID, UUID | None]:
    """The user of each object that the events are about, by the object's id, for the registered kinds."""
    asked: dict[str, set[UUID]] = {}
    for event in events:
        if event.target_kind in _concerned and event.target_id is not None:
            asked.setdefault(event.target_kind, set()).add(event.target_id)
    about: dict[UUID, UUID | None] = {}
    if tenant_id is not None:
        for kind, ids in asked.items():
            about |= _concerned[kind](tenant_id, ids)
    return about


def _names(tenant_id: UUID | None, events: Iterable[AuditEvent], about: Mapping[UUID, UUID | None]) -> dict[UUID, str]:
    """Names of the owners and of the members, users and tenants that the events are about, by id.

    In the platform's log, which only superusers read, everybody is named; in a tenant's log, only its members.
    """
    rows = list(events)
    targets = {event.target_id for event in rows if event.target_kind in ("membership", "user") and event.target_id}
    people = targets | {event.owner_id for event in rows if event.owner_id} | {pk for pk in about.values() if pk}
    tenants = {event.target_id for event in rows if event.target_kind == "tenant" and event.target_id}
    if tenant_id is not None:
        tenants = {tenant_id} if tenants or None in about.values() else set()
    names = dict(Tenant.objects.filter(pk__in=tenants).values_list("pk", "name")) if tenants else {}
    if people and tenant_id is None:
        names |= {user.pk: user.shown_name for user in User.objects.filter(pk__in=people)}
    elif people and tenant_id is not None:
        members = Membership.objects.filter(Q(user_id__in=people) | Q(pk__in=targets), tenant_id=tenant_id)
        for member in members.select_related("user"):
            names |= {member.pk: member.user.shown_name, member.user_id: member.user.shown_name}
    return names
