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
    first, second = (_plain(side[name]) if name in side else None for side in (old, new))
    left, right = ((text or "").split() for text in (first, second))
    state = "before" if second is None else "added" if first is None else "same" if first == second else "changed"
    sides: list[tuple[ValuePiece, ...]]
    if state != "changed" or max(len(left), len(right)) > _MOST_WORDS:
        sides = [() if text is None else (ValuePiece(text, state == "changed"),) for text in (first, second)]
    else:
        codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
        sides = [
            tuple(_pieces(left, [(tag, start, end) for tag, start, end, _, _ in codes])),
            tuple(_pieces(right, [(tag, start, end) for tag, _, _, start, end in codes])),
        ]
    return ValueDifference(name.replace("_", " "), sides[0], sides[1], state)


def _pieces(words: list[str], codes: list[tuple[str, int, int]]) -> Iterator[ValuePiece]:
    for tag, start, end in codes:
        if start < end:
            yield ValuePiece(" ".join(words[start:end]), marked=tag != "equal")


def _plain(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_UNNAMED: Mapping[str, str] = {
    ActorKind.MEMBER: "a member",
    ActorKind.AGENT: "the agent",
    ActorKind.TOKEN: "a connected program",
    ActorKind.KEY: "the organisation's program",
    ActorKind.STAFF: "platform staff",
    ActorKind.SYSTEM: "the system",
}

_PROGRAMS: Mapping[str, str] = {ActorKind.TOKEN: "the token", ActorKind.KEY: "the backend key"}


@dataclass(frozen=True, slots=True)
class ActorNames:
    """Names by the id of a user or token."""

    by_id: Mapping[UUID, str]

    def who(self, event: AuditEvent) -> str:
        """Such as `Mara Lindqvist`, `the agent of Mara Lindqvist`, or `the system`."""
        name = self.by_id.get(event.actor_id) if event.actor_id else None
        if name is None:
            return _UNNAMED.get(event.actor_kind, event.actor_kind)
        if event.actor_kind == ActorKind.AGENT:
            return f"the agent of {name}"
        return f"{_PROGRAMS[event.actor_kind]} {name}" if event.actor_kind in _PROGRAMS else name


def actor_names(tenant_id: UUID | None, events: Iterable[AuditEvent]) -> ActorNames:
    """The names of the actors of these events who belong or belonged to the tenant; at most two queries."""
    users, tokens = set[UUID](), set[UUID]()
    for event in events:
        if event.actor_id is not None:
            (tokens if event.actor_kind in _PROGRAMS else users).add(event.actor_id)
    names: dict[UUID, str] = {}
    if users and tenant_id is not None:
        members = Membership.objects.filter(tenant_id=tenant_id, user_id__in=users).select_related("user")
        names |= {member.user_id: member.user.speaker for member in members}
    if tokens and tenant_id is not None:
        known = ApiToken.objects.filter(pk__in=tokens, tenant_id=tenant_id)
        names |= dict(known.values_list("pk", "name"))
    return ActorNames(names)


def names_of_members(tenant_id: UUID, user_ids: Iterable[str]) -> dict[str, str]:
    """Names of the tenant's members by user id; for others, the first characters of the id."""
    wanted = list(user_ids)
    known = Membership.objects.filter(tenant_id=tenant_id, user_id__in=_ids(wanted)).select_related("user")
    names = {str(member.user_id): member.user.speaker for member in known}
    return {each: names.get(each) or f"member {each[:8]}" for each in wanted}


def _ids(texts: Iterable[str]) -> list[UUID]:
    """The valid UUIDs: SQL can put anything into the name of a chain."""
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


# Verb phrases for actions whose own words would not read well.
_DID: Mapping[str, str] = {
    "audit.anchored": "anchored the audit log",
    "audit.certified": "verified everything of the organisation",
    "audit.exported": "exported the audit log",
    "audit.read": "read an event of the audit log",
    "case.noted": "wrote a note on",
    "audit.reported": "made a report of the audit log",
    "chain.exported": "exported the history of",
    "consolidation.done": "consolidated the episodes",
    "consolidation.given_up": "gave up consolidating the episodes",
    "erasure.asked": "asked for",
    "erasure.begun": "began",
    "erasure.done": "finished",
    "erasure.resumed": "went on with",
    "export.asked": "asked for",
    "export.limited": "was refused another export of the memory of",
    "expiry_rule.dropped": "dropped an expiry rule of",
    "expiry_rule.set": "set an expiry rule of",
    "fact.confirmed": "confirmed",
    "forgetting.confirmed": "confirmed",
    "forgetting.declined": "declined",
    "forgetting.held": "could not carry out",
    "fact.created": "wrote down",
    "feedback.given": "gave",
    "fact.described": "changed the metadata of",
    "fact.merged": "came again upon",
    "fact.stale": "came to doubt",
    "identity_provider.changed": "changed the identity provider of",
    "item.created": "put",
    "member.memory_switched": "changed the memory switches of",
    "member.changed": "changed the names of",
    "member.identity_linked": "linked a sign-in at the provider to",
    "member.names_erased": "erased the names of",
    "member.role_changed": "changed the role of",
    "memory.asked": "asked the memory",
    "memory.blocked": "refused a sensitive text",
    "memory.erased": "erased the whole memory",
    "memory.exported": "exported the memory",
    "memory.masked": "masked what is sensitive in",
    "memory.read": "looked at the memory",
    "playbook.created": "wrote down",
    "playbook.described": "changed the metadata of",
    "playbook.failed": "noted a failure of",
    "playbook.merged": "came again upon",
    "playbook.stale": "came to doubt",
    "playbook.succeeded": "noted a success of",
    "policy.changed": "changed the memory policy of",
    "policy.confirmed": "confirmed the memory policy of",
    "review.read": "looked at a review",
    "search.refused": "was refused a search in the memory",
    "search_key.minted": "made the search key of",
    "search_key.revoked": "revoked the search key of",
    "search_key.rotated": "rotated the search key of",
    "search_key.verified": "verified the search key of",
    "session.answered_again": "asked for another answer in",
    "session.edited": "edited a message of",
    "threshold.applied": "applied a recall threshold for",
    "threshold.dismissed": "dismissed a recall threshold for",
    "threshold.proposed": "proposed a recall threshold for",
    "tenant.changed": "changed the sign-in rules of",
    "user.erased": "emptied the account of",
    "user.password_changed": "changed the password of",
    "user.reset_link_made": "made a link to set the password of",
    "user.second_factor_added": "added a second factor to the account of",
    "user.second_factor_removed": "removed a second factor of",
    "user.sign_in_failed": "refused a sign-in of",
    "user.signed_in": "signed in",
    "user.signed_out": "signed out",
}
# Past tense of verbs whose participle, which actions use, differs.
_PAST: Mapping[str, str] = {"forgotten": "deleted", "begun": "began", "undone": "undid", "withdrawn": "withdrew"}
# Pills of a sentence; a kind of contradiction is shown as its outcome.
_DETAILS: Mapping[str, str] = {"harsh": "corrected", "natural": "changed"}
# Actions whose phrase is complete: the sentence names no object.
_WHOLE = frozenset({
    "audit.anchored", "audit.certified", "audit.reported",
    "audit.exported", "audit.read", "consolidation.done", "consolidation.given_up", "memory.blocked",
    "memory.erased", "memory.exported", "memory.read", "memory.asked", "review.read", "search.refused",
    "user.signed_in", "user.signed_out",
})  # fmt: skip
_NOUNS: Mapping[str, str] = {
    "semantic": "a fact", "procedural": "a how-to", "episodic": "an event", "catalog": "a shared entry",
    "item": "an item", "session": "a conversation", "review": "a review", "case": "a case", "membership": "a member",
    "api_token": "a token", "tenant": "a tenant", "user": "a user", "search_key": "a search key",
    "consolidation": "a run", "erasure": "an erasure", "export": "an export of the whole memory",
    "legal_hold": "a legal hold", "forgetting": "a proposal to forget", "invitation": "an invitation",
    "feedback": "feedback on an answer",
}  # fmt: skip
# From a tenant id and the ids of objects to the user that each is about; None means the whole tenant.
Concerned = Callable[[UUID, Collection[UUID]], Mapping[UUID, UUID | None]]
_reasons: set[str] = set()
_concerned: dict[str, Concerned] = {}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One event in words. `thing_name`: the key of a fact, or the name of the user it is about.

    `of` names the owner, empty if that is the actor; `of_id` is the owner's user id, None for a tenant.
    """

    event: AuditEvent
    who: str
    did: str
    thing: str = ""
    thing_name: str = ""
    before_whom: str = "of"
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
        because = f", because “{self.because}”" if self.because else ""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.who} {self.did}{thing}{whose}{because}{detail}."


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
    noun, _, verb = event.action.partition(".")
    thing = "" if event.action in _WHOLE else _NOUNS.get(event.target_kind, f"a {noun.replace('_', ' ')}")
    named = names.get(event.target_id, "") if event.target_id else ""
    did = _DID.get(event.action) or _PAST.get(verb) or verb.replace("_", " ")
    if event.actor_id == event.target_id and event.action == "user.password_changed":
        who, did, thing = named or who, "changed their own password", ""
    of, of_id = _of(event, names, about)
    return Sentence(
        event=event,
        who=capfirst(who),
        did=did,
        thing=thing,
        thing_name=named or _key(said),
        before_whom="on" if event.target_kind == "legal_hold" else "of",
        of=of,
        of_id=of_id,
        detail=_detail(said),
        because=said["reason"] if said.get("reason") in _reasons else "",
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
    return (names.get(whose, "a member"), whose) if whose else ("", None)


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
                return _DETAILS.get(side[name], side[name])
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
        names |= {user.pk: user.speaker for user in User.objects.filter(pk__in=people)}
    elif people and tenant_id is not None:
        members = Membership.objects.filter(Q(user_id__in=people) | Q(pk__in=targets), tenant_id=tenant_id)
        for member in members.select_related("user"):
            names |= {member.pk: member.user.speaker, member.user_id: member.user.speaker}
    return names
