"""The latest conversation beside the latest memories, both refreshed live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from memories.selectors.sessions import list_sessions, transcript
from memories.selectors.staff.inspecting import InspectorFilter, inspected
from memories.staff.base import LiveMemberView
from memories.types import Kind

# What the page lists.
TURNS, MEMORIES = 8, 12


class Beside(LiveMemberView):
    """The member's latest conversation and memories; with `live`, only the part that refreshes itself."""

    reads = "live"
    tab = "beside"
    template_name = "admin/memories/member/beside.html"
    part_template = "admin/memories/member/_beside.html"
    refresh_url = "beside_live"

    def get_part(self) -> Mapping[str, Any]:
        session = list_sessions(self.principal).first()
        turns = transcript(self.principal, session.pk, last=TURNS) if session else ()
        kinds = (Kind.SEMANTIC, Kind.PROCEDURAL, Kind.EPISODIC)
        rows = [row for kind in kinds for row in inspected(self.principal, kind, InspectorFilter())[:MEMORIES]]
        views = sorted(self.counted_views(rows), key=lambda view: view.since, reverse=True)
        return {"title": _("Side by side"), "session": session, "turns": turns, "rows": views[:MEMORIES]}
