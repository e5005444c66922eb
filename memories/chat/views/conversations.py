"""All conversations; renaming one, ending its task, and forgetting one with everything that was said in it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memories.chat.pages import member_page
from memories.chat.sidebar import by_age
from memories.chat.wording import counted, refusal
from memories.errors import Conflict, InvalidInput
from memories.models import Session
from memories.selectors.memories import list_memories
from memories.selectors.sessions import get_session, list_sessions
from memories.services.erasure.forget import forget_session
from memories.services.sessions.entries import end_session
from memories.services.sessions.sessions import rename_session
from memories.types import Kind, WriteResult
from tenants.principal import Principal

PAGE_SIZE = 100


@require_safe
@member_page
def every(request: HttpRequest, principal: Principal) -> HttpResponse:
    """All conversations of the member, latest first."""
    page: Page[Session] = Paginator(list_sessions(principal), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": page, "groups": by_age(page.object_list), "base": "?"}
    return render(request, "chat/conversations.html", context)


@require_http_methods(["GET", "POST"])
@member_page
def rename(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """Give a conversation another title."""
    session = get_session(principal, session_id)
    title, error = str(session), ""
    if request.method == "POST":
        title = request.POST.get("title", "")
        try:
            stored = rename_session(principal, session_id=session_id, title=title).title
        except InvalidInput as invalid:
            error = refusal(invalid, "The title")
        else:
            kept = stored == title.strip()
            messages.success(request, "Renamed." if kept else "Renamed, without what must not be stored.")
            return redirect("chat:session", session_id=session_id)
    context = {"session": session, "title": title, "error": error}
    return render(request, "chat/rename.html", context, status=400 if error else 200)


@require_POST
@member_page
def finish(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """End the task of a conversation; what mattered in it is kept as memory."""
    ended = end_session(principal, session_id=session_id)
    kept = {outcome.memory_id for outcome in ended.proposed if outcome.result is not WriteResult.BLOCKED}
    became = f"Kept as memory: {counted(len(kept), 'fact')}." if kept else "Nothing in it was marked as important."
    messages.success(request, f"The task is finished. {became}")
    return redirect("chat:session", session_id=session_id)


@require_http_methods(["GET", "POST"])
@member_page
def forget(request: HttpRequest, principal: Principal, session_id: UUID) -> HttpResponse:
    """Ask, then erase a conversation; `cascade` takes along the facts that only it supports."""
    session = get_session(principal, session_id)
    if request.method == "POST":
        try:
            outcome = forget_session(principal, session_id=session_id, cascade=request.POST.get("cascade") == "1")
        except Conflict as error:
            messages.error(request, str(error))
            return redirect("chat:session", session_id=session_id)
        gone = counted(len(outcome.erased), "memory", "memories")
        messages.success(request, f"Forgotten for good: the conversation, and {gone} from it.")
        return redirect("chat:new")
    episodes = list_memories(principal, Kind.EPISODIC, session_id=session_id).count()
    return render(request, "chat/forget.html", {"session": session, "episodes": episodes})
