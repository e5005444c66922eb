"""What the member really wrote, where it was masked before it was stored and their tenant keeps originals."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from memories.chat.cards import cards_of
from memories.chat.pages import member_page
from memories.presenting.sections import SECTIONS
from memories.selectors.memories import get_memory
from memories.services.originals import open_original
from memories.types import Kind
from tenants.principal import Principal


@require_POST
@never_cache
@member_page
def show(request: HttpRequest, principal: Principal, kind: Kind, memory_id: UUID) -> HttpResponse:
    """Open it, this once: a form leads here and no link does, for opening is an event of the trail."""
    row = get_memory(principal, kind, memory_id)
    text = open_original(principal, memory_id=memory_id)
    (card,) = cards_of(principal, [row])
    return render(request, "remember/original.html", {"section": SECTIONS[kind], "card": card, "text": text})
