"""The history of a memory for its owner: its states, newest first, each with its audit events as sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories.chat.presenting import address, undo_address
from memories.presenting.lines import DID, ending_of, headline, short_date
from memories.selectors.memories import ChainLink, chain_of, history_of, is_shared, memories_by_id
from memories.types import CURRENT, Kind, Status
from tenants.models import AuditEvent
from tenants.principal import ActorKind, Principal

_WHO: Mapping[str, str] = {
    ActorKind.MEMBER: "You",
    ActorKind.AGENT: "Your agent",
    ActorKind.TOKEN: "A connected program",
    ActorKind.STAFF: "Staff",
    ActorKind.SYSTEM: "The system",
}
_DID: Mapping[str, str] = {**DID, "forgotten": "forgot it"}


@dataclass(frozen=True, slots=True)
class Happening:
    """One audit event in words."""

    sentence: str
    at: datetime


@dataclass(frozen=True, slots=True)
class State:
    """One wording of a memory: how long it was believed, how that ended, and what happened to it.

    `undo_url`: where to post that its ending, or its coming back, was a mistake; empty if there is nothing to undo.
    A memory that replaced several is undone as a whole, at its own place: `brings_back` is what it restores.
    """

    text: str
    steps: tuple[str, ...]
    url: str
    here: bool
    current: bool
    span: str
    ending: str
    confidence: float | None
    events: tuple[Happening, ...]
    undo_url: str = ""
    brings_back: tuple[str, ...] = ()


def states_of(principal: Principal, kind: Kind, memory_id: UUID) -> tuple[State, ...]:
    """The states of the chain that a memory belongs to, newest first; none for kinds that are never superseded."""
    links = chain_of(principal, kind, memory_id)
    ids = [link.id for link in links]
    rows = memories_by_id(principal, {kind: ids})
    happened = _by_memory(history_of(principal, ids)) if ids else {}
    return tuple(
        State(
            text=headline(rows[link.id]),
            steps=tuple(getattr(rows[link.id], "steps", ())),
            url=address(link.kind, link.id),
            here=link.id == memory_id,
            current=link.status in CURRENT,
            span=span(link),
            ending=ending_of(link),
            confidence=link.confidence,
            events=happened.get(link.id, ()),
            undo_url="" if is_shared(rows[link.id]) or not _can_undo(link, links) else undo_address(kind, link.id),
            brings_back=tuple(headline(rows[each.id]) for each in _replaced_together(link, links)),
        )
        for link in reversed(links)
    )


def told(action: str, actor_kind: str, reason: str = "") -> str:
    """Such as `You replaced it: corrected`."""
    noun, _, verb = action.partition(".")
    said = f"{_WHO.get(actor_kind, 'Somebody')} {_DID.get(verb, verb.replace('_', ' ') or noun)}"
    return f"{said}: {reason}" if reason else said


def span(link: ChainLink) -> str:
    """From when to when it was believed; with the time of day if that was one day."""
    began, until = _day(link.since), link.until
    if until is None:
        return f"believed since {began}"
    if until == link.since:
        return "believed at no time: it puts the past right"
    if _day(until) != began:
        return f"believed from {began} to {_day(until)}"
    first, last = (f"{timezone.localtime(moment):%H:%M}" for moment in (link.since, until))
    return f"believed on {began} from {first} to {last}" if first != last else f"believed on {began}, at {first}"


def _can_undo(link: ChainLink, links: Sequence[ChainLink]) -> bool:
    """Whether its ending is the latest step and was not undone yet; or its coming back is, which can be undone, too.

    What else speaks against it, the undo says.
    """
    if link.status in CURRENT:
        return link.restores is not None or bool(_replaced_together(link, links))
    if link.status is not Status.SUPERSEDED or any(each.restores == link.id for each in links):
        return False
    successor = next((each for each in links if each.id == link.superseded_by), None)
    if successor is None:
        return True
    undone = any(each.id == successor.restores and each.superseded_by == link.id for each in links)
    return successor.status in CURRENT and not undone and not _replaced_together(successor, links)


def _replaced_together(link: ChainLink, links: Sequence[ChainLink]) -> list[ChainLink]:
    """The several states that a current one replaced at once; undoing it for one of them would leave out the others."""
    if link.status not in CURRENT or link.restores is not None:
        return []
    old = [each for each in links if each.superseded_by == link.id and each.status is Status.SUPERSEDED]
    return old if len(old) > 1 else []


def _day(moment: datetime) -> str:
    return short_date(timezone.localdate(moment), timezone.localdate())


def _by_memory(events: Iterable[AuditEvent]) -> Mapping[UUID, tuple[Happening, ...]]:
    """What happened to each. What an undo brought back was written down by that very act, which is shown once."""
    found: dict[UUID, list[AuditEvent]] = defaultdict(list)
    for event in events:
        if event.target_id is not None:
            found[event.target_id].append(event)
    return {memory_id: tuple(map(_happening, _told_once(each))) for memory_id, each in found.items()}


def _told_once(events: list[AuditEvent]) -> list[AuditEvent]:
    back = any(event.action.endswith(".restored") for event in events)
    return [event for event in events if not (back and event.action.endswith(".created"))]


def _happening(event: AuditEvent) -> Happening:
    return Happening(told(event.action, event.actor_kind, _reason(event)), event.created_at)


def _reason(event: AuditEvent) -> str:
    """The reason, unless its payload was erased."""
    payload = getattr(event, "payload", None)
    return str(payload.data.get("reason") or "") if payload else ""
