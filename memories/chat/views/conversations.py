"""Conversations: the chat page, the list with its search, and rename, delete and the end of a task.

`turns.py` has what happens in a turn.
"""

from __future__ import annotations

import re
import uuid
from functools import cache, partial
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from memories.agent.model import answers_offline
from memories.chat.forms import ActionForm
from memories.chat.frame import by_age, panel_of, recent_sessions, shown_turns
from memories.chat.presenting import member_page, refusals_shown, searched_words, shown_task
from memories.consolidation.rules import rules
from memories.errors import NotFound
from memories.models import ReviewKind, Session
from memories.selectors.policies import choices_of
from memories.selectors.reviews import open_reviews
from memories.selectors.session_memory import slots_of
from memories.selectors.sessions import TurnView, get_session, search_sessions, transcript, with_found_words
from memories.services.erasure.forget import forget_session
from memories.services.erasure.proposals import finish_due
from memories.services.sessions.sessions import end_session, rename_session
from memories.types import Owner, WriteResult
from memoryhub.languages import ENGLISH
from tenants.principal import Principal

TURNS_AT_FIRST = 40
TURNS_AT_MOST = 2_000
_NUMBER = re.compile(r"[0-9]{1,9}")


@member_page()
def new(request: HttpRequest, principal: Principal) -> HttpResponse:
    """An empty chat page; the first message creates the session. `?temporary=1` begins a temporary chat."""
    return render_chat(request, principal)


@member_page()
def show(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """A conversation with its last turns; `?last=` sets their number, and `?turn=` selects the turn of the panel."""
    finish_due(Owner(principal.tenant_id, principal.user_id))  # the page shows no word that is due to go
    return render_chat(request, principal, get_session(principal, session_id))


def render_chat(
    request: HttpRequest,
    principal: Principal,
    session: Session | None = None,
    *,
    draft: str = "",
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    """Render the whole page. `draft` and `error` return a message that was refused."""
    turns = transcript(principal, session.pk, last=_number(request, "last", TURNS_AT_FIRST)) if session else ()
    chosen = _chosen(turns, _number(request, "turn", 0))
    context: dict[str, Any] = {
        "session": session,
        "turns": shown_turns(principal, turns),
        "earlier": turns[0].turn - 1 if turns else 0,
        "more": min(len(turns) + 100, TURNS_AT_MOST),
        "task": shown_task(session.pk, slots_of(session)) if session else None,
        "panel": panel_of(principal, chosen) if chosen else None,
        "selected": chosen.turn if chosen else None,
        "groups": recent_sessions(principal),
        "turn_id": uuid.uuid4(),
        "draft": draft,
        "error": error,
        "temporary": session.temporary if session else "temporary" in {*request.GET, *request.POST},
        "choices": choices_of(principal),
        "said_in": cache(partial(_language_read, principal.tenant_id)),
        "correction": open_reviews(principal).filter(kind=ReviewKind.CORRECTION).first(),
    }
    context["is_first"] = not (session or context["temporary"] or context["groups"])
    return render(request, "chat/chat.html", context, status=status)


def _language_read(tenant_id: UUID) -> str:
    """The language in which the chat understands a message: any with a model, else the rule set's; empty: none."""
    if not answers_offline(tenant_id):
        return get_language() or ENGLISH
    known = rules()
    return known.language if known else ""


def _chosen(turns: tuple[TurnView, ...], number: int) -> TurnView | None:
    """The turn whose memories the panel shows: the one in the URL, else the last."""
    return next((each for each in turns if each.turn == number), turns[-1] if turns else None)


def _number(request: HttpRequest, name: str, default: int) -> int:
    value = request.GET.get(name, "")
    return min(int(value), TURNS_AT_MOST) if _NUMBER.fullmatch(value) else default


PAGE_SIZE = 100


@member_page()
def every(request: HttpRequest, principal: Principal) -> HttpResponse:
    """All conversations of the member, latest first; `?q=` searches titles and messages."""
    query = searched_words(request)
    words = query.split()
    found = search_sessions(principal, query)
    if words:
        found = with_found_words(principal, found, words)
    page: Page[Session] = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    base = f"?{urlencode({'q': query})}&" if query else "?"
    context = {"page": page, "groups": by_age(page.object_list), "base": base, "query": query, "words": words}
    return render(request, "chat/conversations.html", context)


@member_page("POST")
def rename(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """POST: change the title of a conversation."""
    get_session(principal, session_id)
    with refusals_shown(request, _("The title")):
        title = ActionForm(request.POST).values()["title"]
        if rename_session(principal, session_id=session_id, title=title).title != title.strip():
            messages.success(request, _("Renamed, without what must not be stored."))
    return redirect("chat:session", session_id=session_id)


@member_page("POST")
def finish(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """POST: end the task of a conversation, and keep its important entries as memory."""
    ended = end_session(principal, session_id=session_id)
    kept = {outcome.memory_id for outcome in ended.proposed if outcome.result is not WriteResult.BLOCKED}
    if kept:
        finished = ngettext(
            "The task is finished. Kept as memory: %(count)d fact.",
            "The task is finished. Kept as memory: %(count)d facts.",
            len(kept),
        )
        messages.success(request, finished % {"count": len(kept)})
    else:
        messages.success(request, _("The task is finished. Nothing in it was marked as important."))
    return redirect("chat:session", session_id=session_id)


@member_page("POST")
def end_temporary(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """POST: end a temporary chat, which deletes it."""
    if not get_session(principal, session_id).temporary:
        raise NotFound("session")
    onward = reverse("chat:session", args=[session_id])
    with refusals_shown(request):
        forget_session(principal, session_id=session_id)
        messages.success(request, _("The temporary chat is deleted."))
        onward = reverse("chat:new")
    return redirect(onward)


@member_page("POST")
def forget(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """POST: delete a conversation; `cascade` also deletes the facts that only it supports."""
    get_session(principal, session_id)
    onward = reverse("chat:session", args=[session_id])
    with refusals_shown(request):
        cascade = ActionForm(request.POST).values()["cascade"]
        count = len(forget_session(principal, session_id=session_id, cascade=cascade).erased)
        gone = ngettext("%(count)d memory from it", "%(count)d memories from it", count) % {"count": count}
        messages.success(request, _("Permanently deleted: the conversation and %(gone)s.") % {"gone": gone})
        onward = reverse("chat:new")
    return redirect(onward)
