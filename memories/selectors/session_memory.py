"""Reads the working memory of a session (L0), and searches its turns, tool calls and entries (L1).

Every function reads one session of the principal; unknown and foreign ids raise NotFound. An expired session has empty
working memory and no entries from the moment of expiry, even before the sweep erases them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.consolidation.rules import content_words
from memories.constants import SESSION_SEARCH_TURNS
from memories.models import EntryKind, Session, SessionEntry
from memories.selectors.sessions import TurnView, get_session, transcript
from memories.slots import Slots, from_json
from memories.types import Importance
from tenants.principal import Principal


class SessionPart(StrEnum):
    """The part of a turn that matched; an entry has its EntryKind instead."""

    SAID = "said"
    ANSWERED = "answered"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"


@dataclass(frozen=True, slots=True)
class SessionFinding:
    """A matching part of a turn, or an entry. `turn` is 0 for an entry noted outside of a turn.

    `speaker` is who said it, if that was neither the owner nor this agent.
    """

    part: SessionPart | EntryKind
    turn: int
    text: str
    at: datetime
    importance: Importance = Importance.NORMAL
    memory_id: UUID | None = None
    speaker: str = ""


def working_memory(principal: Principal, session_id: UUID) -> Slots:
    """The slots of a session; empty once it expired. Raises NotFound."""
    return slots_of(get_session(principal, session_id))


def slots_of(session: Session) -> Slots:
    """The slots of a session that is already loaded; empty once it expired."""
    return Slots() if _over(session, timezone.now()) else from_json(session.working_memory)


def session_entries(principal: Principal, session_id: UUID) -> QuerySet[SessionEntry]:
    """The entries of a session, latest first. Raises NotFound."""
    session = get_session(principal, session_id)
    entries = SessionEntry.objects.of(principal).filter(session=session).order_by("-place", "pk")
    return entries.none() if _over(session, timezone.now()) else entries


def search_session(
    principal: Principal, session_id: UUID, query: str, *, limit: int, before: int | None = None
) -> tuple[SessionFinding, ...]:
    """The parts of the session that share words with `query`, best first.

    Rare words weigh more, and ties go to the latest part. A query without content words returns the latest entries.
    `before` skips that turn and later ones, but not the entries noted in them. Raises NotFound.
    """
    entries = [
        SessionFinding(
            EntryKind(entry.kind), entry.turn, entry.text, entry.created_at, Importance(entry.importance),
            entry.memory_id,
        )
        for entry in session_entries(principal, session_id)
    ]  # fmt: skip
    asked = content_words(query)
    if not asked:
        return tuple(entries[:limit])
    turns = transcript(principal, session_id, last=SESSION_SEARCH_TURNS, before=before)
    return _best(asked, [*entries, *_latest_first(turns)], limit)


def _over(session: Session, now: datetime) -> bool:
    return session.expired_at is not None or (session.expires_at is not None and session.expires_at <= now)


def _best(asked: frozenset[str], held: Sequence[SessionFinding], limit: int) -> tuple[SessionFinding, ...]:
    words = [content_words(each.text) & asked for each in held]
    having = Counter(word for some in words for word in some)
    weight = {word: math.log1p(len(held) / count) for word, count in having.items()}
    scored = [(sum(weight[word] for word in some), each) for some, each in zip(words, held, strict=True) if some]
    ranked = sorted(scored, key=lambda scored: (-scored[0], -scored[1].at.timestamp()))
    return tuple(each for _, each in ranked[:limit])


def _latest_first(turns: Sequence[TurnView]) -> Iterator[SessionFinding]:
    for view in reversed(turns):
        yield from (found for found in _parts(view) if found.text)


def _parts(view: TurnView) -> Iterator[SessionFinding]:
    by = "" if view.own else view.speaker
    yield SessionFinding(SessionPart.SAID, view.turn, view.text, view.said_at, speaker=by)
    for step in view.steps:
        for call in step.tool_calls:
            yield SessionFinding(SessionPart.TOOL_CALL, view.turn, _call(call), view.said_at)
        yield SessionFinding(SessionPart.TOOL_RESULT, view.turn, step.text if not step.tool_calls else "", view.said_at)
        for mention in step.mentions:
            if mention.memory is not None:
                text = mention.memory.searchable_text
                yield SessionFinding(
                    SessionPart.TOOL_RESULT, view.turn, text, view.said_at, memory_id=mention.memory_id
                )
    yield SessionFinding(SessionPart.ANSWERED, view.turn, view.answer, view.said_at)


def _call(call: dict[str, Any]) -> str:
    """A tool call as text: the tool's name and its arguments."""
    arguments = ", ".join(f"{name}: {value}" for name, value in (call.get("arguments") or {}).items())
    return f"{call.get('name', '')}({arguments})" if arguments else ""
