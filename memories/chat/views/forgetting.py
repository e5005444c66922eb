"""Forgetting one memory: first a page that says what will go, then the erasure."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from memories.chat.cards import cards_of
from memories.chat.pages import member_page, next_address
from memories.chat.wording import counted
from memories.errors import Conflict
from memories.presenting.sections import SECTIONS
from memories.selectors.memories import get_memory, is_shared
from memories.services.erasure.forget import forget as forget_memory
from memories.services.erasure.forget import preview_forget
from memories.types import ForgetOutcome, Kind
from tenants.errors import Forbidden
from tenants.principal import Principal


@require_http_methods(["GET", "POST"])
@member_page
def forget(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """Ask, then erase. `more` takes along the words that a fact came from, or the facts that only an event supports."""
    row = get_memory(principal, kind, memory_id)
    if is_shared(row):
        raise Forbidden("Only an administrator can remove what is shared with everybody.")
    if request.method == "POST":
        more = request.POST.get("more") == "1"
        try:
            outcome = forget_memory(principal, kind=kind, memory_id=memory_id, cascade=more, sources=more)
        except Conflict as error:
            messages.error(request, str(error))
            return redirect(request.get_full_path())
        messages.success(request, _told(kind, outcome))
        return redirect(_back(request, kind, memory_id))
    alone = preview_forget(principal, kind=kind, memory_id=memory_id).rows
    gone = {erased for _, erased, _ in alone}
    widest = preview_forget(principal, kind=kind, memory_id=memory_id, cascade=True, sources=True).rows
    context = {
        "section": SECTIONS[kind],
        "card": cards_of(principal, [row])[0],
        "rows": [(each, text) for each, _, text in alone],
        "extra": [(each, text) for each, erased, text in widest if erased not in gone],
        "next": next_address(request, ""),
    }
    return render(request, "remember/forget.html", context)


def _told(kind: Kind, outcome: ForgetOutcome) -> str:
    """What went, in a sentence or two."""
    others = len(outcome.erased) - 1
    along = f", and {counted(others, 'memory', 'memories')} with it" if others else ""
    emptied = f" Emptied too: {counted(outcome.redacted_messages, 'message')}." if outcome.redacted_messages else ""
    return f"Forgotten for good: one {SECTIONS[kind].noun}{along}.{emptied}"


def _back(request: HttpRequest, kind: Kind, memory_id: UUID) -> str:
    """Where the reader came from, unless that was a page of what is gone."""
    onward = next_address(request, reverse("remember:list", kwargs={"kind": kind}))
    return reverse("remember:list", kwargs={"kind": kind}) if str(memory_id) in onward else onward
