"""Taking erased memories out of the working memory (L0) and the entries (L1) of the owner's sessions.

Invariant: afterwards no slot and no entry says what is erased: none of the turn in which it was said, none that became
it, none of a session that knew it and repeats it, and none anywhere that holds its whole wording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from memories.models import Episode, Mention, Message, Session, SessionEntry
from memories.models.base import MemoryRow
from memories.services.erasing.transcript import empty
from memories.services.erasing.wording import Wording, strings_in, wording_of
from memories.slots import Slots, from_json, to_json
from tenants.principal import Principal

Turn = tuple[UUID, int]


@dataclass(frozen=True, slots=True)
class _Erased:
    """What is erased: its words, the turns in which it was said, and the sessions that knew it."""

    wording: Wording
    turns: frozenset[Turn]
    sessions: frozenset[UUID]

    def takes(self, session_id: UUID, turn: int, text: str) -> bool:
        """Whether words that were noted there and then go with it."""
        if (session_id, turn) in self.turns:
            return True
        wording = self.wording if session_id in self.sessions else replace(self.wording, words=frozenset())
        return wording.repeated_in(text)


def erase_notes(principal: Principal, rows: Sequence[MemoryRow]) -> int:
    """Take the texts of `rows` out of slots and entries; return how many messages of tool calls were emptied."""
    erased = _erased(principal, rows)
    ids = {row.pk for row in rows}
    gone = [
        entry
        for entry in SessionEntry.objects.of(principal)
        if entry.memory_id in ids or erased.takes(entry.session_id, entry.turn, entry.text)
    ]
    SessionEntry.objects.of(principal).filter(pk__in=[entry.pk for entry in gone]).delete()
    places = {(entry.session_id, entry.place) for entry in gone}
    for session in Session.objects.of(principal).exclude(working_memory={}):
        kept = to_json(_left(session, places, erased))
        if kept != session.working_memory:
            session.working_memory = kept
            session.save(update_fields=["working_memory"])
    return sum(
        _empty_calls(principal, turn, erased.wording) for turn in {(entry.session_id, entry.turn) for entry in gone}
    )


def _erased(principal: Principal, rows: Sequence[MemoryRow]) -> _Erased:
    episodes = [row for row in rows if isinstance(row, Episode)]
    ids = [row.pk for row in rows]
    said = Message.objects.of(principal).filter(pk__in=[row.message_id for row in episodes if row.message_id])
    mentions = Mention.objects.of(principal).filter(memory_id__in=ids)
    knew = {*mentions.values_list("message__session_id", flat=True), *(row.session_id for row in episodes)}
    became = SessionEntry.objects.of(principal).filter(memory_id__in=ids).values_list("session_id", flat=True)
    return _Erased(wording_of(rows), frozenset(said.values_list("session_id", "turn")), frozenset({*knew, *became}))


def _left(session: Session, places: set[tuple[UUID, int]], erased: _Erased) -> Slots:
    return from_json(session.working_memory).without(
        lambda noted: (session.pk, noted.place) in places or erased.takes(session.pk, noted.turn, noted.text)
    )


def _empty_calls(principal: Principal, turn: Turn, wording: Wording) -> int:
    """Empty the tool calls of a turn by which it was noted."""
    messages = Message.objects.of(principal).filter(session_id=turn[0], turn=turn[1], step__gt=0)
    repeating = [
        message.pk
        for message in messages.exclude(tool_calls=[])
        if wording.repeated_in(" ".join(strings_in([call.get("arguments") for call in message.tool_calls])))
    ]
    return empty(Message.objects.of(principal).filter(pk__in=repeating))
