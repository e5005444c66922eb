"""Attacks on the agent, which reads and writes memory through tools.

The offline responder answers in place of the configured model, so no text of the proof leaves the machine.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from memories.agent.events import TurnStarted
from memories.agent.loop import retry_turn, run_turn
from memories.agent.model import chat_model
from memories.agent.tools import Toolbox
from proof.attack import Aim, Attempt, Response, attack
from proof.requests import ProofRequest, call
from proof.world import Persona

# A tool, its arguments, and the session in which it is called.
_Call = tuple[str, dict[str, Any], str]
MEMORY_TOOLS: tuple[_Call, ...] = (
    ("forget_memory", {"memory_ids": ["{memory}"]}, "{own_session}"),
    ("retire_memory", {"memory_ids": ["{memory}"], "contradiction": "natural"}, "{own_session}"),
    ("retire_memory", {"memory_ids": ["{memory}"], "contradiction": "harsh"}, "{own_session}"),
    ("write_memory", {"kind": "semantic", "text": "Mine", "supersedes_ids": ["{memory}"]}, "{own_session}"),
)
SESSION_TOOLS: tuple[_Call, ...] = (
    ("set_task", {"goal": "Mine"}, "{session}"),
    ("update_plan", {"steps": ["Mine"], "done": 0}, "{session}"),
    ("observe", {"text": "Mine", "importance": "critical"}, "{session}"),
    ("note", {"text": "Mine"}, "{session}"),
    ("search_session", {"query": "{words}"}, "{session}"),
    ("search_session", {"query": "look after"}, "{session}"),
    ("finish_task", {"outcome": "Mine"}, "{session}"),
)
RECALL_TOOL: _Call = ("recall_memory", {"query": "{words}", "limit": 20, "include_superseded": True}, "{own_session}")
TURNS = (
    ProofRequest("POST", "/api/v1/turns/", {"message": "What do you know of {rare}?"}),
    ProofRequest("POST", "/chat/send/", form={"message": "What do you know of {rare}?", "tenant": "{own_tenant}"}),
)


@attack("agent: asked for the words of others", weight=2)
def asked(attempt: Attempt) -> None:
    """Ask about a victim's text in a whole turn, and scan all events."""
    aim, pick = attempt.aim(), attempt.chance.choice
    message = pick([f"What do you know of {aim.target.rare}?", f"Is it true that {aim.target.words} what?"])
    session = pick([None, pick(aim.attacker.sessions)])
    events = list(run_turn(aim.who, text=message, session_id=session, model=chat_model()))
    started = next(event for event in events if isinstance(event, TurnStarted))
    attempt.world.marks.own(aim.attacker.number, [started.session_id, started.message_id, started.episode_id])
    attempt.scan(aim.attacker, events)


@attack("agent: tools with the ids of others", weight=4)
def memory_tools(attempt: Attempt) -> None:
    """Call tools as a manipulated model could, with the victim's ids or words."""
    if attempt.maybe(0.25):
        aim = attempt.aim()
        row, _ = aim.fill(RECALL_TOOL)
        attempt.scan(aim.attacker, _use(aim, row))
    else:
        _compare_tool(attempt, MEMORY_TOOLS)


@attack("agent: tools in the session of another", weight=3)
def session_tools(attempt: Attempt) -> None:
    """Read, change or end another's task, and search their session."""
    _compare_tool(attempt, SESSION_TOOLS)


@attack("agent: continue or retry a turn of another", weight=2)
def retried(attempt: Attempt) -> None:
    """Continue or retry another's conversation."""
    if attempt.maybe(0.5):
        attempt.refuses(attempt.aim(), lambda a, id_: list(retry_turn(a.who, session_id=id_, turn=1)), "session")
    else:
        attempt.refuses(
            attempt.aim(), lambda a, id_: list(run_turn(a.who, text="And then?", session_id=id_)), "session"
        )


@attack("agent: a turn by the API or the chat page", weight=1)
def streamed(attempt: Attempt) -> None:
    """Ask about a victim's text over HTTP, and scan the whole stream."""
    aim = attempt.aim(Persona.RESIDENT)
    request, _ = aim.fill(attempt.chance.choice(TURNS))
    stream = {"Accept": "text/event-stream"}
    credential = {"cookie": aim.attacker.cookie} if request.form else {"token": aim.attacker.token}
    attempt.scan(aim.attacker, call(request, headers=stream, **credential).text)


def _compare_tool(attempt: Attempt, rows: tuple[_Call, ...]) -> None:
    """Compare a tool's answers for a foreign and an unknown id; the end of the proof detects changes."""
    aim = attempt.aim()

    def use(row: _Call) -> Response:
        content = _use(aim, row)
        return Response(refused=True, text=content, compared=content)

    attempt.compare(aim, attempt.chance.choice(rows), use)


def _use(aim: Aim, row: _Call) -> str:
    name, arguments, session = row
    return Toolbox(aim.who, session_id=UUID(session), episode_id=None).run(name, arguments).content
