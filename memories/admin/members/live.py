"""What keeps a page up to date: the pulse of a memory, for which it asks, and the part of it that is then read anew.

Invariant: a pulse tells nothing but that something changed; what changed is read by a page of its own, which the trail
knows of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render

from memories.admin.members.page import Looking, MemberPage
from memories.selectors.staff.change_token import pulse_of
from memories.services.admin_requests import READINGS


def pulse(looking: Looking) -> HttpResponse:
    """The pulse now, as JSON."""
    return JsonResponse({"pulse": pulse_now(looking)})


def pulse_now(looking: Looking) -> str:
    """To be read before what it stands for, so that nothing that changes meanwhile is missed."""
    return pulse_of(looking.principal, unmoved_by=READINGS)


def shown(looking: Looking, template: str, part: Callable[[Looking], dict[str, Any]], *, title: str) -> HttpResponse:
    """A page with a live part, whole; `part` gives what the part shows."""
    beat = pulse_now(looking)
    return looking.render(template, title=title, pulse=beat, **part(looking))


def refreshed(looking: Looking, template: str, part: Callable[[Looking], dict[str, Any]]) -> HttpResponse:
    """The live part alone."""
    beat = pulse_now(looking)
    context = {"looking": looking, "member": looking.membership, "pulse": beat, **part(looking)}
    return render(looking.request, template, context)


PAGES = (MemberPage("pulse_live", "pulse/", pulse),)
