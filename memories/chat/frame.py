"""The chat's page: the context of `base.html`, the list of conversations, and a turn with its panel.

A streamed turn consists of the agent's events. Its last frame holds the rendered turn, panel and list, which the script
puts in place of its provisional output. Streamed and loaded pages use the same templates.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from memories.agent.events import Event, Notice, TurnFailed, TurnFinished, TurnStarted
from memories.agent.events import frame as frame_of
from memories.agent.model import answers_offline
from memories.chat.forgetting import ForgetCard, forget_cards
from memories.chat.presenting import cards_of, shown_task
from memories.hygiene.sensitivity.findings import taken_out
from memories.llm.base import Waiting
from memories.models import Feedback, MessageState, Relation, Session
from memories.presenting.lines import Group, age_title, grouped
from memories.presenting.memory import OWN_NAME, MemoryView, speaker_name
from memories.presenting.turns import LOOKED_AT, MADE_FROM, groups_of, usage_of, why, why_source
from memories.search import seems_well
from memories.selectors.session_memory import slots_of
from memories.selectors.sessions import MentionView, TurnView, find_turn, get_session, list_sessions
from memories.services.feedback import feedback_on
from memories.types import CURRENT, Status
from tenants.middleware import active_membership, memberships_here
from tenants.models import Membership, User
from tenants.principal import Principal, Role


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn with the additional values for the template; `usage` is the line under the answer, in parts."""

    view: TurnView
    speaker: str
    usage: tuple[str, ...]
    is_last: bool
    forget: ForgetCard | None = None
    feedback: Feedback | None = None

    @property
    def taken_out(self) -> str:
        """A sentence with the kinds of masked values; empty if there were none."""
        return taken_out(self.view.masked)

    @property
    def can_retry(self) -> bool:
        """Whether this is the last turn, without a complete or erased answer.

        A message by another speaker that has no answer cannot be retried.
        """
        if self.view.answer_state is None and self.speaker != OWN_NAME:
            return False
        return self.is_last and self.view.answer_state not in (MessageState.COMPLETE, MessageState.REDACTED)

    @property
    def can_edit(self) -> bool:
        """Whether the member may send the message again with other words: it is their own, and was not erased."""
        return self.view.own and bool(self.view.text) and self.view.state != MessageState.REDACTED

    @property
    def can_answer_again(self) -> bool:
        """Whether this is the last turn, and has a complete answer to the member's own words."""
        return self.is_last and self.can_edit and self.view.answer_state == MessageState.COMPLETE

    @property
    def has_answer(self) -> bool:
        """Whether there is an answer or one can still come; an imported message may have none."""
        return self.view.answer_state is not None or self.can_retry


@dataclass(frozen=True, slots=True)
class PanelSection:
    """Memories with one part in the answer, as `presenting.turns` names it; each is in one section.

    `cards` come with a sentence that says why the memory is here, empty for a change. `gone` counts memories that
    were deleted since.
    """

    name: str
    title: str
    cards: tuple[tuple[MemoryView, str], ...]
    gone: int

    @property
    def count(self) -> int:
        """The total number of memories."""
        return len(self.cards) + self.gone

    @property
    def is_folded(self) -> bool:
        """Whether the page shows only the number until the reader asks for more."""
        return self.name == LOOKED_AT


@dataclass(frozen=True, slots=True)
class Panel:
    """The memories beside an answer; `back` is the URL that shows this panel."""

    turn: int
    back: str
    sections: tuple[PanelSection, ...]
    usage: tuple[str, ...]
    degraded: bool


def shown_turns(principal: Principal, turns: Iterable[TurnView]) -> tuple[ShownTurn, ...]:
    """The turns of a transcript, ready for the template."""
    views = tuple(turns)
    cards = forget_cards(principal, views)
    given = feedback_on(principal, views[0].session_id, [view.turn for view in views]) if views else {}
    return tuple(
        ShownTurn(
            view,
            speaker_name(principal, view.speaker),
            usage_of(view),
            view is views[-1],
            cards.get(view.turn),
            given.get(view.turn),
        )
        for view in views
    )


def feedback_html(principal: Principal, view: TurnView, *, csrf_token: str) -> str:
    """The thumbs under an answer, open for a note if they are down and have none."""
    (shown,) = shown_turns(principal, [view])
    return render_to_string("chat/_feedback.html", {"turn": shown, "asks_why": True, "csrf_token": csrf_token})


def saved_html(view: TurnView, *, csrf_token: str) -> str:
    """The notice of what a turn saved, with its undo; empty if it saved nothing that is still current."""
    wrote = [mention.memory for mention in view.having(Relation.WROTE) if mention.memory is not None]
    saved = [MemoryView(row).addressed for row in wrote if row.status in CURRENT]
    context = {"saved": saved, "view": view, "csrf_token": csrf_token}
    return render_to_string("chat/_saved.html", context) if saved and view.episode_id else ""


def panel_of(principal: Principal, view: TurnView) -> Panel:
    """The memories of one turn: what its answer was made from, what it changed, and what was only looked at."""
    groups = list(groups_of(view))
    cards = _cards(principal, [mention for _, _, mentions in groups for mention in mentions])
    sections = []
    shown: set[UUID] = set()
    for name, title, mentions in groups:
        if fresh := [mention for mention in mentions if mention.memory_id not in shown]:
            known = [(cards[each.memory_id], each) for each in fresh if each.memory_id in cards]
            told = [(card, _why(name, card, each)) for card, each in known]
            sections.append(PanelSection(name, title, tuple(told), gone=len(fresh) - len(told)))
            shown |= {mention.memory_id for mention in fresh}
    back = f"{reverse('chat:session', args=[view.session_id])}?turn={view.turn}"
    return Panel(view.turn, back, tuple(sections), usage_of(view), view.degraded)


def _why(name: str, card: MemoryView, mention: MentionView) -> str:
    if name == MADE_FROM:
        return why_source(card)
    return why(mention.reasons, pinned=card.pinned) if name == LOOKED_AT else ""


def _cards(principal: Principal, mentions: Iterable[MentionView]) -> Mapping[UUID, MemoryView]:
    """One card for each memory that is still there."""
    rows = {mention.memory_id: mention.memory for mention in mentions if mention.memory is not None}
    rows = {pk: row for pk, row in rows.items() if row.status != Status.EVICTED}
    cards = cards_of(principal, list(rows.values()), quotes=True)
    return {card.id: card for card in cards}


THEME_COOKIE = "theme"
THEMES = ("light", "dark")


def frame(request: HttpRequest) -> dict[str, Any]:
    """The context processor of `base.html`; the list of memberships is loaded only if the template uses it."""
    membership: Membership | None = getattr(request, "membership", None) or _membership_of_no_page(request)
    return {
        "theme": theme_of(request),
        "membership": membership,
        "memberships": SimpleLazyObject(lambda: _memberships(request)),
        "connects_model": membership is not None and membership.role == Role.ADMIN,
        "opens_admin": _opens_admin(request, membership),
        "offline": membership is not None and SimpleLazyObject(lambda: answers_offline(membership.tenant_id)),
        "search_down": membership is not None and not seems_well(),
    }


def theme_of(request: HttpRequest) -> str:
    """The theme that the reader chose; empty for the system's theme. The admin uses it as well."""
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return theme if theme in THEMES else ""


def _membership_of_no_page(request: HttpRequest) -> Membership | None:
    """The membership for the navigation of a page that was not found; TenantMiddleware only looks it up for a view."""
    user = getattr(request, "user", None)
    if request.resolver_match is not None or not isinstance(user, User):
        return None
    return active_membership(request, user)


def _opens_admin(request: HttpRequest, membership: Membership | None) -> bool:
    """Whether to link the admin; a superuser or other staff user may have no membership."""
    user = getattr(request, "user", None)
    return (isinstance(user, User) and user.is_staff) or (membership is not None and membership.role != Role.MEMBER)


def _memberships(request: HttpRequest) -> Sequence[Membership]:
    user = getattr(request, "user", None)
    return memberships_here(request, user) if isinstance(user, User) else ()


SESSIONS_BESIDE_THE_CHAT = 40


def recent_sessions(principal: Principal) -> tuple[Group[Session], ...]:
    """The latest conversations, grouped by age."""
    return by_age(list_sessions(principal)[:SESSIONS_BESIDE_THE_CHAT])


def by_age(sessions: Iterable[Session]) -> tuple[Group[Session], ...]:
    """Group sessions, latest first, by age."""
    today = timezone.localdate()
    return tuple(grouped(sessions, lambda each: age_title(timezone.localdate(each.last_turn_at), today)))


def turn_fragments(principal: Principal, view: TurnView, session: Session, *, csrf_token: str) -> dict[str, object]:
    """`turn_html` and `panel_html` of one turn, and the state of its answer; null without an answer."""
    (shown,) = shown_turns(principal, [view])
    panel = panel_of(principal, view)
    task = shown_task(session.pk, slots_of(session))
    shared = {"csrf_token": csrf_token}
    return {
        "turn": view.turn,
        "state": view.answer_state.value if view.answer_state else None,
        "turn_html": render_to_string("chat/_turn.html", {"turn": shown, "selected": view.turn, **shared}),
        "panel_html": render_to_string("chat/_panel.html", {"panel": panel, "task": task, **shared}),
    }


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of a streamed page; the page is rendered after the request has ended."""

    principal: Principal
    zone: tzinfo
    language: str
    csrf_token: str


def stream(reader: Reader, started: TurnStarted, rest: Iterator[Event]) -> Generator[bytes | Waiting]:
    """The frames of a started turn, then the page's frame. Closing it closes the turn, and the agent stores it."""
    last: Event = started
    try:
        yield frame_of(started)
        for last in rest:
            yield last if isinstance(last, Waiting) else frame_of(_spoken(last, reader.language))
        yield page_frame(reader, started, last)
    finally:
        close = getattr(rest, "close", None)
        if close is not None:
            close()


def _spoken(event: Event, language: str) -> Event:
    """The event with its sentence in the language of the page; the agent speaks English."""
    with translation.override(language):
        if isinstance(event, Notice):
            return replace(event, text=_(event.text))
        return replace(event, message=_(event.message)) if isinstance(event, TurnFailed) else event


def page_frame(reader: Reader, started: TurnStarted, last: Event) -> bytes:
    """The frame `event: page`: the turn, panel and list of conversations as HTML, with title and URLs.

    The turn comes from the last event if that carries the stored turn; otherwise it is read from the database.
    """
    principal, session_id = reader.principal, started.session_id
    if isinstance(last, TurnFinished) and last.view and last.session:
        view, session = last.view, last.session
    else:
        view, session = find_turn(principal, session_id, started.turn), get_session(principal, session_id)
    shared = {"csrf_token": reader.csrf_token}
    with timezone.override(reader.zone), translation.override(reader.language):
        data = {
            "type": "page",
            "title": str(session),
            "title_html": render_to_string("chat/_title.html", {"session": session, **shared}),
            "url": reverse("chat:session", args=[session_id]),
            "send_url": reverse("chat:send", args=[session_id]),
            "menu_html": render_to_string("chat/_session_menu.html", {"session": session, **shared}),
            "saved_html": saved_html(view, **shared),
            "sessions_html": render_to_string(
                "chat/_sessions.html", {"groups": recent_sessions(principal), "current": session_id}
            ),
            **turn_fragments(principal, view, session, csrf_token=reader.csrf_token),
        }
    return f"event: page\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
