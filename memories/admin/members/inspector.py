"""The inspector: what is remembered of a member, side by side."""

from __future__ import annotations

from django.http import HttpResponse

from memories.admin.members.page import Looking, MemberPage
from memories.selectors.memories import count_memories


def inspect(looking: Looking) -> HttpResponse:
    """How much there is of each kind."""
    return looking.render(
        "admin/memories/member/inspector.html", title="Memory", counts=count_memories(looking.principal)
    )


PAGES = (MemberPage("change", "change/", inspect, tab="Memory", reads="inspector"),)
