"""Parts of the chat page as rendered HTML, for scripts that put them in place of what they drew while streaming.

Invariant: one set of templates draws a turn, whether the page was loaded, streamed or refreshed.
"""

from __future__ import annotations

from django.template.loader import render_to_string

from memories.chat.sidebar import recent_sessions
from memories.chat.task import shown_task
from memories.chat.turns import panel_of, shown_turns
from memories.selectors.session_memory import working_memory
from memories.selectors.sessions import TurnView
from tenants.principal import Principal


def turn_fragments(principal: Principal, view: TurnView, *, csrf_token: str) -> dict[str, object]:
    """`turn_html` and `panel_html` of one turn, with how its answer ended (null: it has none yet)."""
    (shown,) = shown_turns(principal, [view])
    panel = panel_of(principal, view)
    task = shown_task(view.session_id, working_memory(principal, view.session_id))
    shared = {"csrf_token": csrf_token}
    return {
        "turn": view.turn,
        "state": view.answer_state.value if view.answer_state else None,
        "turn_html": render_to_string("chat/_turn.html", {"turn": shown, "selected": view.turn, **shared}),
        "panel_html": render_to_string("chat/_panel.html", {"panel": panel, "task": task, **shared}),
    }


def sessions_fragment(principal: Principal, current: object) -> str:
    """The list of conversations, with the current one marked."""
    return render_to_string("chat/_sessions.html", {"groups": recent_sessions(principal), "current": current})
