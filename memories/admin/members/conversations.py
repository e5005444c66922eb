"""A member's conversations, the turns of one, and where a memory came up: the ways to an answer.

Invariant: what was said is read through the member's own sessions; a session of anybody else is as one that is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import Http404, HttpResponse

from memories.admin.members.candidates_table import told_of
from memories.admin.members.page import Looking, MemberPage
from memories.errors import InvalidInput, NotFound
from memories.models import Mention, MessageState, Relation
from memories.presenting.lines import usage_of
from memories.selectors.paging import page_of
from memories.selectors.sessions import TurnView, get_session, transcript
from memories.selectors.staff.conversations import conversations, digests, exchanges_of, mentions_of
from tenants.errors import is_storable

ROWS = 50
# Of a long message a list shows its beginning.
SHOWN = 300
_WHOLE_WORDS = re.compile(r".*\S(?=\s)", re.DOTALL)
_ENDINGS: Mapping[MessageState | None, tuple[str, str]] = {
    None: ("no answer", "warning"),
    MessageState.FAILED: ("failed", "danger"),
    MessageState.CUT_OFF: ("cut off", "warning"),
    MessageState.REDACTED: ("erased", ""),
}
_DID: Mapping[Relation, str] = {
    Relation.RECALLED: "recalled",
    Relation.WROTE: "written",
    Relation.CONFIRMED: "known already",
    Relation.REPLACED: "replaced or ended",
    Relation.FORGOT: "forgotten",
}


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn in a list; `ending` is a word and a tone for an answer that is not whole."""

    turn: int
    question: str
    answer: str
    said_at: datetime
    usage: tuple[str, ...]
    ending: tuple[str, str] | None
    degraded: bool
    took_ms: float | None


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn in which a memory came up: what was done with it, and whether the answer made use of it."""

    session_id: UUID
    title: str
    turn: int
    at: datetime
    did: tuple[str, ...]
    used: bool | None
    question: str
    answer: str


def listed(looking: Looking) -> HttpResponse:
    """All conversations, latest first."""
    query = looking.request.GET.get("q", "").strip()[:SHOWN]
    if not is_storable(query):
        raise Http404
    rows = conversations(looking.principal, query)
    try:
        page = page_of(rows, limit=ROWS, cursor=looking.request.GET.get("cursor", ""))
    except InvalidInput as error:
        raise Http404 from error
    happened = digests(looking.principal, page.rows)
    return looking.render(
        "admin/memories/member/conversations.html",
        title=f"Conversations of {looking.membership.user.speaker}",
        query=query,
        sessions=[(session, happened.get(session.pk)) for session in page.rows],
        next_cursor=page.next_cursor,
    )


def conversation(looking: Looking, *, session_id: UUID) -> HttpResponse:
    """The turns of one, newest last."""
    before = looking.request.GET.get("before", "")[:9]
    try:
        session = get_session(looking.principal, session_id)
        looking.note("conversation", target_kind="session", target_id=session.pk)
        views = transcript(looking.principal, session_id, last=ROWS, before=int(before) if before.isdecimal() else None)
    except NotFound as error:
        raise Http404 from error
    return looking.render(
        "admin/memories/member/conversation.html",
        title=session.title or "A conversation",
        session=session,
        turns=[_line(view) for view in views],
        before=views[0].turn if views and views[0].turn > 1 else None,
    )


def uses(looking: Looking, *, memory_id: UUID) -> HttpResponse:
    """Every answer that a memory came up in, latest first."""
    try:
        memory, mentions = mentions_of(looking.principal, memory_id)
        page = page_of(mentions, limit=ROWS, cursor=looking.request.GET.get("cursor", ""))
    except (NotFound, InvalidInput) as error:
        raise Http404 from error
    looking.note("uses", target_kind="" if memory is None else memory.kind.value, target_id=memory_id)
    return looking.render(
        "admin/memories/member/uses.html",
        title="Answers that it came up in",
        memory=told_of(memory),
        memory_id=memory_id,
        kind=None if memory is None else memory.kind,
        answers=_answered(looking, page.rows),
        next_cursor=page.next_cursor,
    )


def _line(view: TurnView) -> TurnLine:
    return TurnLine(
        turn=view.turn,
        question=_beginning(view.text),
        answer=_beginning(view.answer),
        said_at=view.said_at,
        usage=usage_of(view, recalled="recalled"),
        ending=ending_of(view),
        degraded=view.degraded,
        took_ms=view.took_ms,
    )


def _beginning(text: str) -> str:
    """A text of at most SHOWN characters: of a longer one whole words, and an ellipsis."""
    if len(text) <= SHOWN:
        return text
    whole = _WHOLE_WORDS.match(text[:SHOWN])
    return f"{whole[0] if whole else text[: SHOWN - 1].rstrip()}…"


def ending_of(view: TurnView) -> tuple[str, str] | None:
    """How an answer ended that is not whole, in a word and a tone."""
    state = MessageState.REDACTED if view.state is MessageState.REDACTED else view.answer_state
    return _ENDINGS.get(state)


def _answered(looking: Looking, mentions: Iterable[Mention]) -> list[Answered]:
    """One line for each turn, in the order in which they come."""
    turns: dict[tuple[UUID, int], list[Mention]] = {}
    for mention in mentions:
        turns.setdefault((mention.message.session_id, mention.message.turn), []).append(mention)
    exchanges = exchanges_of(looking.principal, (group[0] for group in turns.values()))
    return [
        Answered(
            session_id=turn[0],
            title=group[0].message.session.title,
            turn=turn[1],
            at=group[0].message.created_at,
            did=tuple(words for relation, words in _DID.items() if any(each.relation == relation for each in group)),
            used=_used(group),
            question=_beginning(exchanges[turn][0]),
            answer=_beginning(exchanges[turn][1]),
        )
        for turn, group in turns.items()
    ]


def _used(group: Iterable[Mention]) -> bool | None:
    """True if any of them was; False if those of which one can tell were not."""
    told = [each.used for each in group if each.used is not None]
    return any(told) if told else None


PAGES = (
    MemberPage("conversations", "conversations/", listed, tab="Conversations", reads="conversations"),
    MemberPage("conversation", "conversations/<uuid:session_id>/", conversation, under="conversations"),
    MemberPage("uses", "uses/<uuid:memory_id>/", uses, under="change"),
)
