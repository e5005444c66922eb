"""The tool that forgets: it proposes, and the member decides, in their client if it can ask them (docs/adr/0025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.core import signing
from django.urls import reverse

from memories.agent.tool_schemas import BadArguments
from memories.api.mcp.forms import MAX_LISTED_RECORDS, InputRequired, McpCall, ProposeArguments
from memories.api.views.base import own_memory
from memories.models.base import MemoryRow
from memories.services.erasure.proposals import confirm, find_proposal, keep, plan_of, propose
from tenants.principal import Right

# How long the member has for an answer.
ANSWER_SECONDS = 600
_SALT = "memories.api.mcp.forget"
ASK: Final = "forget"
_WAITS = "the member, who confirms it at confirm_at or with a request of their own. Tell them. Nothing is erased yet."
_OTHER_STATE = "requestState is not of this call, or too old; call forget again without it."
# In characters: of a text in the result, and in the question.
_SHOWN, _ASKED = 1_000, 200
_CONFIRMATION: Mapping[str, Any] = {
    "type": "object",
    "properties": {ASK: {"type": "boolean", "title": "Forget it for good", "default": False}},
    "required": [ASK],
}


def forget(call: McpCall, wanted: ProposeArguments) -> dict[str, Any]:
    """Propose to forget, or carry out what the member answered. Raises InputRequired if the client can ask them."""
    ids = sorted(str(each) for each in wanted.memory_ids)
    caller = f"{call.principal.membership_id} {call.principal.actor_id}"
    if call.state is not None:
        return _decided(call, _proposal_of(call.state, caller, ids))
    targets = [(own_memory(call.principal, each).kind, each) for each in wanted.memory_ids]
    proposal, _ = propose(call.principal, targets=targets)
    shown = _proposed(call, proposal.pk)
    if call.can_ask and Right.DECIDE in call.principal.rights:
        raise _question(shown, signing.dumps([caller, ids, str(proposal.pk)], salt=_SALT))
    return shown


def _question(shown: Mapping[str, Any], state: str) -> InputRequired:
    # Each text on one line, so that none shows as several.
    listed = "\n".join(f"- {' '.join(text.split())[:_ASKED]}" for text in shown["would_go"])
    more = f"\n{shown['not_listed']} more would go that are not listed here." if shown["not_listed"] else ""
    question = f"Forget this for good, with the words it was learned from?\n{listed}{more}"
    return InputRequired(ASK, question, _CONFIRMATION, state)


def _proposal_of(state: object, caller: str, ids: list[str]) -> UUID:
    """The proposal that the member was asked about. Raises BadArguments for a state of another call, or an old one."""
    try:
        asked, named, proposal_id = signing.loads(str(state), salt=_SALT, max_age=ANSWER_SECONDS)
    except (signing.BadSignature, UnicodeEncodeError):  # of a lone surrogate no signature is made
        raise BadArguments(_OTHER_STATE) from None
    if (asked, named) != (caller, ids):
        raise BadArguments(_OTHER_STATE)
    return UUID(proposal_id)


def _decided(call: McpCall, proposal_id: UUID) -> dict[str, Any]:
    answer = call.answers.get(ASK) if isinstance(call.answers, dict) else None
    action, content = (answer.get("action"), answer.get("content")) if isinstance(answer, dict) else (None, None)
    if action == "accept" and isinstance(content, dict) and content.get(ASK) is True:
        proposal = confirm(call.principal, proposal_id)
        until = proposal.erase_at.isoformat() if proposal.erase_at else ""
        return {"result": "forgotten", "proposal_id": str(proposal_id), "undo_until": until}
    if action in ("accept", "decline"):
        keep(call.principal, proposal_id)
        return {"result": "kept", "proposal_id": str(proposal_id)}
    shown = _proposed(call, proposal_id)
    if action is None and call.can_ask:
        raise _question(shown, str(call.state))
    return shown


def _proposed(call: McpCall, proposal_id: UUID) -> dict[str, Any]:
    plan = plan_of(call.principal, find_proposal(call.principal, proposal_id))
    shown = {"would_go": _texts(plan.rows), "stays": _texts(plan.stays)}
    not_listed = max(0, len(plan.rows) - MAX_LISTED_RECORDS)
    return {
        "result": "proposed",
        "proposal_id": str(proposal_id),
        **shown,
        "not_listed": not_listed,
        "waits_for": _WAITS,
        "confirm_at": call.origin + reverse("chat:forgetting", args=[proposal_id]),
    }


def _texts(rows: Sequence[MemoryRow]) -> list[str]:
    return [row.searchable_text[:_SHOWN] for row in rows[:MAX_LISTED_RECORDS]]
