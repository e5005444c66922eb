"""Runs the conversations as real turns, each with its own member, and reads the facts around each message."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.core.management import call_command

from benchmarks.chat.conversations import CONVERSATIONS
from benchmarks.chat.examination import Exchange, Grade, grade
from memories.agent.events import ForgetProposed, TextDelta, TurnFailed, TurnStarted
from memories.agent.loop import run_turn
from memories.selectors.memories import list_memories
from memories.services.erasure.proposals import confirm
from memories.types import Kind
from tenants.principal import ActorKind, Principal
from tenants.principals import principal_of
from tenants.services import add_member, create_tenant, create_user


@dataclass(frozen=True, slots=True)
class Result:
    """A graded answer; `cpu_ms` is the turn's processor time in milliseconds."""

    who: str
    held_out: bool
    expected: Exchange
    answer: str
    facts: frozenset[str]
    grade: Grade
    cpu_ms: float


def examine() -> list[Result]:
    """Run and grade all conversations."""
    call_command("migrate", verbosity=0)
    tenant = create_tenant(name="Examination", slug="examination")
    results: list[Result] = []
    for number, conversation in enumerate(CONVERSATIONS):
        user = create_user(username=f"member-{number}", display_name=f"Member {number}")
        principal = principal_of(add_member(tenant=tenant, user=user), actor_kind=ActorKind.MEMBER)
        session_id = None
        before = _facts(principal)
        for expected in conversation.exchanges:
            began = time.process_time()
            events = list(run_turn(principal, text=expected.said, session_id=session_id))
            spent = (time.process_time() - began) * 1000
            session_id = next(event.session_id for event in events if isinstance(event, TurnStarted))
            failed = "".join(event.message for event in events if isinstance(event, TurnFailed))
            answer = "".join(event.text for event in events if isinstance(event, TextDelta)) + failed
            for event in events:
                if isinstance(event, ForgetProposed):
                    confirm(principal, event.proposal_id)  # as a member who presses Forget
            after = _facts(principal)
            judged = grade(expected, answer, before, after)
            results.append(Result(conversation.who, conversation.held_out, expected, answer, after, judged, spent))
            before = after
    return results


def _facts(principal: Principal) -> frozenset[str]:
    return frozenset(row.text for row in list_memories(principal, Kind.SEMANTIC))
