"""The history of a memory for its owner: its states, newest first, each with its audit events as sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from memories.chat.presenting import address, undo_address
from memories.models import Fact, Playbook
from memories.presenting.lines import DID, believed, short_date
from memories.presenting.memory import MemoryView
from memories.presenting.reasons import reason_words
from memories.selectors.history.stories import event_reason
from memories.selectors.memories import chain_of, history_of, is_shared
from memories.services.portability.memories_import import REASON as IMPORT_REASON
from memories.services.sessions.replacing import TAKEN_BACK
from memories.types import CURRENT, Contradiction, Kind, Source, Status
from tenants.principal import ActorKind, Principal

_WHO: Mapping[str, StrOrPromise] = {
    ActorKind.AGENT: gettext_lazy("Your agent"),
    ActorKind.TOKEN: gettext_lazy("A connected program"),
    ActorKind.KEY: gettext_lazy("Your organisation’s program"),
    ActorKind.STAFF: gettext_lazy("Staff"),
    ActorKind.SYSTEM: gettext_lazy("The system"),
}
_DID: Mapping[str, StrOrPromise] = {
    **DID,
    "created": gettext_lazy("added it"),
    "merged": gettext_lazy("confirmed it again"),
    "retired": gettext_lazy("marked it as outdated"),
    "promoted": gettext_lazy("shared it more widely"),
    "retracted": gettext_lazy("marked it as wrong"),
    "evicted": gettext_lazy("removed it"),
    "archived": gettext_lazy("archived it"),
    "restored": gettext_lazy("restored it"),
    "stale": gettext_lazy("marked it as not confirmed lately"),
    "forgotten": gettext_lazy("deleted it"),
}
# What the reader did.
_YOU: Mapping[str, StrOrPromise] = {
    "created": gettext_lazy("You added it"),
    "merged": gettext_lazy("You confirmed it again"),
    "described": gettext_lazy("You changed its metadata"),
    "superseded": gettext_lazy("You replaced it"),
    "retired": gettext_lazy("You marked it as outdated"),
    "promoted": gettext_lazy("You shared it more widely"),
    "retracted": gettext_lazy("You marked it as wrong"),
    "pinned": gettext_lazy("You pinned it"),
    "unpinned": gettext_lazy("You unpinned it"),
    "confirmed": gettext_lazy("You confirmed it"),
    "unconfirmed": gettext_lazy("You took the confirmation back"),
    "kept": gettext_lazy("You kept it"),
    "evicted": gettext_lazy("You removed it"),
    "archived": gettext_lazy("You archived it"),
    "unarchived": gettext_lazy("You took it out of the archive"),
    "restored": gettext_lazy("You restored it"),
    "revived": gettext_lazy("You kept it after all"),
    "stale": gettext_lazy("You marked it as not confirmed lately"),
    "forgotten": gettext_lazy("You deleted it"),
}
# Reasons that only repeat the verb.
_NO_REASON = ("retired", TAKEN_BACK)
_ENDS = ("superseded", "retired", "retracted")
# The reason of what a model stored in a turn.
_FROM_CHAT = "said in chat"


@dataclass(frozen=True, slots=True)
class State:
    """One state of a memory: when it was believed, how it ended, and its audit events as (sentence, time).

    `undo_url` takes the POST that undoes its end or its restoration; it is empty if there is nothing to undo. A state
    that replaced several is undone as a whole, and `brings_back` lists the headlines that the undo restores.
    """

    memory: MemoryView
    here: bool
    span: str
    ending: str
    events: Sequence[tuple[str, datetime]]
    undo_url: str = ""
    brings_back: tuple[str, ...] = ()


def states_of(principal: Principal, kind: Kind, memory_id: UUID) -> tuple[State, ...]:
    """The states of a memory's chain, newest first; empty for kinds that are never superseded."""
    rows = chain_of(principal, kind, memory_id)
    brought_back = {row.pk for row in rows if row.restores}
    undone = {row.pk for row in rows if row.superseded_by_id in brought_back}
    events: dict[UUID | None, list[tuple[str, datetime]]] = defaultdict(list)
    for event in history_of(principal, [row.pk for row in rows]) if rows else ():
        # An undo creates the restored row, so its `created` event would repeat the `restored` one.
        if not (event.target_id in brought_back and event.action.endswith(".created")):
            reason = event_reason(event)
            sentence = event_sentence(event.action, event.actor_kind, reason)
            events[event.target_id].append((sentence, event.created_at))
            if reason == TAKEN_BACK and event.target_id:
                undone.add(event.target_id)
    return tuple(
        State(
            MemoryView(row, address(kind, row.pk)),
            here=row.pk == memory_id,
            span=believed(row),
            ending=_ending_of(row, undone=row.pk in undone),
            events=events[row.pk],
            undo_url="" if is_shared(row) or not _can_undo(row, rows) else undo_address(kind, row.pk),
            brings_back=tuple(MemoryView(each).addressed for each in _replaced_together(row, rows)),
        )
        for row in reversed(rows)
    )


def origin_of(principal: Principal, fact: Fact) -> str:
    """Where a fact without a source message comes from, in a sentence."""
    added = next((each for each in history_of(principal, [fact.pk]) if each.action.endswith(".created")), None)
    if fact.source == Source.IMPORTED or (added and event_reason(added) == IMPORT_REASON):
        return _("No source message: this was imported.")
    if added and added.actor_kind == ActorKind.MEMBER:
        return _("No source message: you wrote this here.")
    if added and added.actor_kind == ActorKind.AGENT:
        return _("No source message: it was deleted.")
    return _("No source message.")


def event_sentence(action: str, actor_kind: str, reason: str = "") -> str:
    """A sentence such as `You replaced it: corrected`."""
    noun, __, verb = action.partition(".")
    if (verb, actor_kind, reason) == ("created", ActorKind.AGENT, _FROM_CHAT):
        return _("Learned from your chat")
    if actor_kind in (ActorKind.MEMBER, ActorKind.AGENT) and reason == TAKEN_BACK and verb in _ENDS:
        return _("You took it back")
    if actor_kind == ActorKind.MEMBER and verb in _YOU:
        said = str(_YOU[verb])
    else:
        did = _DID.get(verb, verb.replace("_", " ") or noun)
        said = _("%(who)s %(did)s") % {"who": _WHO.get(actor_kind, _("Somebody")), "did": did}
    return f"{said}: {reason_words(reason)}" if reason and reason not in _NO_REASON else said


def _ending_of(row: Fact | Playbook, *, undone: bool) -> str:
    """How a state ended, with the day; empty for a current one."""
    if row.status in CURRENT:
        return ""
    if row.superseded_at is None:
        return _("Removed")
    day = {"day": short_date(timezone.localdate(row.superseded_at), timezone.localdate())}
    if undone:
        return _("Undone on %(day)s") % day
    if row.retracted or row.contradiction == Contradiction.HARSH:
        return _("Marked as incorrect on %(day)s") % day
    if row.superseded_by_id:
        return _("Changed on %(day)s") % day
    return _("Marked as outdated on %(day)s") % day


def _can_undo(row: Fact | Playbook, rows: Sequence[Fact | Playbook]) -> bool:
    """Whether its end or restoration is the latest step and not undone yet; the undo service may still refuse."""
    if row.status in CURRENT:
        return row.restores is not None or bool(_replaced_together(row, rows))
    if row.status != Status.SUPERSEDED or any(each.restores == row.pk for each in rows):
        return False
    successor = next((each for each in rows if each.pk == row.superseded_by_id), None)
    if successor is None:
        return True
    undone = any(each.pk == successor.restores and each.superseded_by_id == row.pk for each in rows)
    return successor.status in CURRENT and not undone and not _replaced_together(successor, rows)


def _replaced_together(row: Fact | Playbook, rows: Sequence[Fact | Playbook]) -> list[Fact | Playbook]:
    """The states that a current one replaced at once, if several; they can only be undone together."""
    if row.status not in CURRENT or row.restores is not None:
        return []
    old = [each for each in rows if each.superseded_by_id == row.pk and each.status == Status.SUPERSEDED]
    return old if len(old) > 1 else []
