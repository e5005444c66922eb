"""The agent, which asks the member's memory on its own: asked for the words of others, and told to reach for them.

The offline responder answers, whatever model is configured: nothing of this leaves the machine.
"""

from __future__ import annotations

from uuid import UUID, uuid4

from memories.agent.events import TurnStarted
from memories.agent.loop import retry_turn, run_turn
from memories.agent.offline import OfflineResponder
from memories.agent.tools import Toolbox
from proof.attempt import Attempt, attack
from proof.http import call
from proof.residents import Part


@attack("agent: asked for the words of others", weight=2)
def asked(attempt: Attempt) -> None:
    """A whole turn: what is recalled, said and shown."""
    attacker, chance = attempt.attacker(), attempt.chance
    target = attempt.target(attempt.victim(attacker))
    message = chance.choice([f"What do you know of {target.rare}?", f"Is it true that {target.words} what?"])
    session = chance.choice([None, chance.choice(attacker.sessions)])
    events = list(run_turn(attacker.principal, text=message, session_id=session, model=OfflineResponder()))
    started = next(event for event in events if isinstance(event, TurnStarted))
    attempt.world.marks.own(attacker.number, [started.session_id, started.message_id, started.episode_id])
    attempt.shows(attacker, events)


@attack("agent: tools with the ids of others", weight=4)
def tools(attempt: Attempt) -> None:
    """What a model that was talked into it could call."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    target = attempt.target(victim)
    calls: list[tuple[str, dict[str, object]]] = [
        ("forget_memory", {"memory_id": "{id}"}),
        ("retire_memory", {"memory_ids": ["{id}"], "contradiction": chance.choice(["natural", "harsh"])}),
        ("write_memory", {"kind": "semantic", "text": "Mine", "supersedes_ids": ["{id}"]}),
        ("recall_memory", {"query": target.words, "limit": 20, "include_superseded": True}),
    ]
    name, arguments = chance.choice(calls)
    session = chance.choice(attacker.sessions)

    def use(id_: UUID) -> str:
        toolbox = Toolbox(attacker.principal, session_id=session, episode_id=None)
        filled = {key: _filled(value, id_) for key, value in arguments.items()}
        return toolbox.run(name, filled).content.replace(str(id_), "ID")

    foreign = use(target.id)
    attempt.shows(attacker, foreign)
    if name != "recall_memory":
        attempt.unequal(attacker, victim.number, foreign, use(uuid4()))


@attack("agent: tools in the session of another", weight=3)
def task(attempt: Attempt) -> None:
    """To read, change or end the task of somebody else, and to search what their session holds."""
    attacker, chance = attempt.attacker(), attempt.chance
    victim = attempt.victim(attacker)
    calls: list[tuple[str, dict[str, object]]] = [
        ("set_task", {"goal": "Mine"}),
        ("update_plan", {"steps": ["Mine"], "done": 0}),
        ("observe", {"text": "Mine", "importance": "critical"}),
        ("note", {"text": "Mine"}),
        ("search_session", {"query": attempt.target(victim).words}),
        ("search_session", {"query": "look after"}),
        ("finish_task", {"outcome": "Mine"}),
    ]
    name, arguments = chance.choice(calls)

    def use(id_: UUID) -> str:
        return Toolbox(attacker.principal, session_id=id_, episode_id=None).run(name, arguments).content

    foreign = use(chance.choice(victim.sessions))
    attempt.shows(attacker, foreign, sent=arguments)
    attempt.unequal(attacker, victim.number, foreign, use(uuid4()))


@attack("agent: a turn of another, answered again", weight=2)
def retried(attempt: Attempt) -> None:
    """To continue or retry what another said."""
    attacker = attempt.attacker()
    victim = attempt.victim(attacker)
    who = attacker.principal
    session = attempt.chance.choice(victim.sessions)
    if attempt.maybe(0.5):
        attempt.refuses(attacker, victim, lambda id_: list(retry_turn(who, session_id=id_, turn=1)), session)
    else:
        attempt.refuses(attacker, victim, lambda id_: list(run_turn(who, text="And then?", session_id=id_)), session)


@attack("agent: a turn by the API or the chat page", weight=1)
def streamed(attempt: Attempt) -> None:
    """The same over HTTP, streamed, with the page's fragments at its end."""
    attacker = attempt.attacker(Part.RESIDENT)
    message = f"What do you know of {attempt.target(attempt.victim(attacker)).rare}?"
    stream = {"Accept": "text/event-stream"}
    if attempt.maybe(0.5):
        reply = call("POST", "/api/v1/turns/", token=attacker.token, body={"message": message}, headers=stream)
    else:
        form = {"message": message, "tenant": str(attacker.principal.tenant_id)}
        reply = call("POST", "/chat/send/", cookie=attacker.cookie, form=form, headers=stream)
    attempt.shows(attacker, reply.text)


def _filled(value: object, id_: UUID) -> object:
    """The argument with the id in its place."""
    if isinstance(value, list):
        return [_filled(each, id_) for each in value]
    return str(id_) if value == "{id}" else value
