"""The tools of MCP: the agent's own where it has one, and the reading calls of the API.

A language model fills in the arguments, so ADR 25 holds: what the user's words, as the client quotes them in `said`, do
not state is the agent's conclusion, what they do not end waits for a review, and forgetting waits for the member.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from pydantic import BaseModel

from memories.agent.context import INSTRUCTIONS, LEAST_TOKENS, context_of
from memories.agent.prompt import record_of, render_item, render_recall
from memories.agent.tool_schemas import (
    RETIRE,
    WRITE,
    BadArguments,
    RecallArguments,
    ToolArguments,
    checked_as,
    description_of,
    plain_schema,
)
from memories.agent.tools import TO_AN_AGENT, Toolbox
from memories.api.authentication import READ, READ_WRITE
from memories.api.mcp.forgetting import forget
from memories.api.mcp.forms import (
    ChangeResult,
    ContextArguments,
    ContextResult,
    CorrectArguments,
    EndArguments,
    ForgetResult,
    HistoryArguments,
    ListArguments,
    McpCall,
    OutcomeArguments,
    OutcomeResult,
    ProposeArguments,
    RecordsResult,
    RememberArguments,
)
from memories.api.problems import problem_of
from memories.api.views.base import own_memory
from memories.errors import Conflict, LimitExceeded, MemoriesError
from memories.hygiene.junk import RECORDS_NOTE
from memories.hygiene.text import clean_text
from memories.llm.base import quoted
from memories.llm.tokens import estimated
from memories.models import Fact, MessageRole, Playbook
from memories.recall.loading import recalled
from memories.recall.pipeline import recall
from memories.selectors.memories import Memory, chain_of, find_memory, list_memories
from memories.selectors.paging import page_of
from memories.selectors.policies import policy_of
from memories.services.admission import admit_session
from memories.services.playbooks import record_outcome
from memories.services.sessions.messages import Learn, MessageDraft, record_messages
from memories.types import ALL_KINDS, Kind
from memoryhub.env.limits import Bucket
from tenants.errors import TenantsError
from tenants.principal import Principal, Right

# Versions of one memory, the latest.
MAX_CHAIN = 20
# In characters, of a record in a list, and of its text if that is cut: the history of one memory shows it whole.
MAX_LISTED, MAX_SHOWN = 2_000, 1_000


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool; `needs` are the rights of its caller, without which it is not listed."""

    name: str
    title: str
    takes: type[ToolArguments]
    gives: type[BaseModel]
    needs: tuple[Right, ...]
    run: Callable[[McpCall, Any], dict[str, Any]]
    destructive: bool = False

    @property
    def bucket(self) -> Bucket:
        """The quota that a call uses."""
        return Bucket.WRITES if self.changes else Bucket.READS

    @property
    def changes(self) -> bool:
        """Whether a call may change the memory."""
        return Right.WRITE in self.needs

    def definition(self) -> dict[str, Any]:
        """The tool as clients list it."""
        hints = {"readOnlyHint": not self.changes, "openWorldHint": False}
        if self.changes:
            hints |= {"destructiveHint": self.destructive, "idempotentHint": False}
        return {
            "name": self.name,
            "title": self.title,
            "description": description_of(self.takes),
            "inputSchema": plain_schema(self.takes),
            "outputSchema": plain_schema(self.gives),
            "annotations": {"title": self.title, **hints},
        }


def permitted(principal: Principal) -> list[Tool]:
    """The tools whose rights the caller has."""
    return [tool for tool in TOOLS.values() if principal.rights.issuperset(tool.needs)]


def call_tool(tool: Tool, call: McpCall, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a call; what the client's model can mend is an error in it. Raises LimitExceeded, InputRequired."""
    try:
        for right in tool.needs:
            call.principal.require(right)
        found = tool.run(call, checked_as(tool.takes, arguments))
    except LimitExceeded:
        raise
    except BadArguments as error:
        return _failed(f"Invalid arguments: {error}")
    except (MemoriesError, TenantsError) as error:
        problem = problem_of(error, stores=tool.changes)
        if problem is None:
            raise
        return _failed(problem.detail)
    if reason := found.get("error"):
        return _failed(str(reason))
    return {"content": [{"type": "text", "text": quoted(found)}], "structuredContent": found, "isError": False}


def _failed(reason: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": reason}], "isError": True}


def _recall(call: McpCall, wanted: RecallArguments) -> dict[str, Any]:
    principal, policy = call.principal, policy_of(call.principal.tenant_id)
    found = recall(
        principal,
        wanted.query,
        types=tuple(map(Kind, wanted.types)) or ALL_KINDS,
        limit=wanted.limit,
        include_superseded=wanted.include_superseded,
        as_of=wanted.as_of,
        threshold=policy.recall_threshold,
        token_budget=max(policy.recall_tokens, LEAST_TOKENS),
        cost=lambda item: estimated(render_item(item, speaker=principal.speaker)),
    )
    rendered: dict[str, Any] = json.loads(render_recall(found, speaker=principal.speaker))
    return rendered


def _context(call: McpCall, wanted: ContextArguments) -> dict[str, Any]:
    found = context_of(call.principal, wanted.query, token_budget=wanted.token_budget)
    shown = {"text": found.text, "tokens": found.tokens, "instructions": INSTRUCTIONS}
    return shown | {"degraded": found.recall.degraded}


def _list(call: McpCall, wanted: ListArguments) -> dict[str, Any]:
    for name in ("words", "category"):  # PostgreSQL takes no NUL, not even to look for it
        clean_text(getattr(wanted, name), field=name, limit=MAX_LISTED, required=False)
    rows = list_memories(call.principal, Kind(wanted.kind), query=wanted.words, category=wanted.category)
    page = page_of(rows, limit=wanted.limit, cursor=wanted.cursor)
    return _records([_record(call, row) for row in page.rows]) | {"next_cursor": page.next_cursor}


def _history(call: McpCall, wanted: HistoryArguments) -> dict[str, Any]:
    row = find_memory(call.principal, wanted.memory_id)
    chain = chain_of(call.principal, row.kind, row.pk) or (row,)
    records = _records([_record(call, each, whole=True) for each in chain[-MAX_CHAIN:]])
    return records | {"left_out": max(0, len(chain) - MAX_CHAIN)}


def _records(records: list[dict[str, Any]]) -> dict[str, Any]:
    return {"note": RECORDS_NOTE, "memories": records}


def _record(call: McpCall, row: Memory, *, whole: bool = False) -> dict[str, Any]:
    record = record_of(recalled(row, 0.0, {}, ()), call.principal.speaker)
    if not whole and len(quoted(record)) > MAX_LISTED:
        record |= {"text": record.get("text", "")[:MAX_SHOWN], "cut": True}
        record.pop("steps", None)
    return record


def _remember(call: McpCall, wanted: RememberArguments) -> dict[str, Any]:
    arguments = wanted.model_dump(mode="json", exclude={"said"}, exclude_unset=True)
    return _ran(call, wanted.said, WRITE, arguments)


def _correct(call: McpCall, wanted: CorrectArguments) -> dict[str, Any]:
    row = own_memory(call.principal, wanted.memory_id)
    if not isinstance(row, Fact | Playbook):
        raise Conflict("Only facts and how-tos are corrected; what was said stays as it was said.")
    arguments: dict[str, Any] = {"supersedes_ids": [str(row.pk)], "contradiction": "harsh", "category": row.category}
    if isinstance(row, Playbook):
        steps = [line.strip() for line in wanted.text.splitlines() if line.strip()]
        arguments |= {"kind": "procedural", "title": row.title, "trigger": row.trigger, "steps": steps}
    else:
        arguments |= {"text": wanted.text, "key": row.key}
    return _ran(call, wanted.said, WRITE, arguments)


def _retire(call: McpCall, wanted: EndArguments) -> dict[str, Any]:
    return _ran(call, wanted.said, RETIRE, wanted.model_dump(mode="json", exclude={"said"}))


def _ran(call: McpCall, said: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of one of the agent's tools, bounded by what the user said, which joins the transcript of the day."""
    box = Toolbox(call.principal, session_id=None, episode_id=None, reasons=TO_AN_AGENT)
    if said.strip():
        session = f"mcp-{timezone.now():%Y-%m-%d}"
        admit_session(call.principal, session)
        draft = MessageDraft(MessageRole.USER, said, external_id=hashlib.sha256(said.encode()).hexdigest())
        recorded = record_messages(call.principal, [draft], session=session, learn=Learn.SCHEDULE)
        (stored,) = recorded.messages
        box = Toolbox(
            call.principal,
            session_id=recorded.session.pk,
            episode_id=stored.episode_id,
            turn=stored.message.turn,
            text=stored.message.text,
            reasons=TO_AN_AGENT,
        )
    result: dict[str, Any] = json.loads(box.run(name, arguments).content)
    return result


def _outcome(call: McpCall, wanted: OutcomeArguments) -> dict[str, Any]:
    if own_memory(call.principal, wanted.memory_id).kind is not Kind.PROCEDURAL:
        raise Conflict("This memory is no how-to; only how-tos have outcomes.")
    outcome = record_outcome(call.principal, playbook_id=wanted.memory_id, success=wanted.success, reason=wanted.reason)
    return {"memory": _record(call, find_memory(call.principal, outcome.memory_id), whole=True)}


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("recall", "Recall", RecallArguments, RecordsResult, READ, _recall),
        Tool("context", "Context for a prompt", ContextArguments, ContextResult, READ, _context),
        Tool("list", "List memories", ListArguments, RecordsResult, READ, _list),
        Tool("history", "History of a memory", HistoryArguments, RecordsResult, READ, _history),
        Tool("remember", "Remember", RememberArguments, ChangeResult, READ_WRITE, _remember),
        Tool("correct", "Correct a memory", CorrectArguments, ChangeResult, READ_WRITE, _correct),
        Tool("retire", "End what is no longer true", EndArguments, ChangeResult, READ_WRITE, _retire),
        Tool("forget", "Propose to forget", ProposeArguments, ForgetResult, READ_WRITE, forget, destructive=True),
        Tool("outcome", "Outcome of a how-to", OutcomeArguments, OutcomeResult, READ_WRITE, _outcome),
    )
}
