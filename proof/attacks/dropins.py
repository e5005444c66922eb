"""Attacks through the drop-ins: what a request to a model is given, and for which member. No model gets any of it."""

from __future__ import annotations

from memories.api.dropin.remembering import MemoryMode, augment, store
from memories.api.dropin.wires import ChatWire, Json, MessagesWire, ResponsesWire
from proof.attack import Attempt, attack
from proof.marks import Exposure
from proof.requests import ProofRequest, call

_WIRES = (ChatWire(), ResponsesWire(), MessagesWire())
_PATHS = ("chat/completions", "responses", "messages")
_USER = "X-Memoryhub-User"
_BAD_INPUT, _NOT_FOUND = 400, 404


@attack("drop-ins: records of others", weight=4)
def records(attempt: Attempt) -> None:
    """Ask about a victim's text, under the victim's name, in a session of theirs or of a name that both could have."""
    aim, pick = attempt.aim(), attempt.chance.choice
    wire, mode = pick(_WIRES), pick([MemoryMode.READ, MemoryMode.FULL])
    words = pick([f"What do you know of {aim.target.rare}?", f"Is it true that {aim.target.words} what?"])
    session = pick(["thread-1", str(pick(aim.attacker.sessions))])
    if mode is MemoryMode.READ:  # a session of one's own may have any name, also that of another's id
        session = str(pick(aim.victim.sessions))
    named = {"user": aim.victim.user_id, "metadata": {"user_id": aim.victim.user_id}}
    body: Json = {**named, wire.items_field: [{"role": "user", "content": words}]}
    found = augment(aim.who, wire, dict(body), mode, session)
    store(aim.who, found, "Mine")
    attempt.scan(aim.attacker, found.body, found.headers, found.note.decode(), sent=[body, session])


@attack("drop-ins: requests that name another, or two", weight=4)
def names(attempt: Attempt) -> None:
    """Name another member than the token's, or two with a key, in all the fields that name one."""
    aim, pick = attempt.aim(), attempt.chance.choice
    residents = attempt.world.residents
    other = pick([each for each in residents if each.user_id != aim.attacker.user_id]).user_id
    own, path = aim.attacker.user_id, pick(_PATHS)
    items = "input" if path == "responses" else "messages"
    body: Json = {items: [{"role": "user", "content": aim.target.rare}]}
    if attempt.maybe(0.5):
        headers, token, status = {_USER: other}, aim.attacker.token, _NOT_FOUND
    else:
        headers, token, status = {}, aim.attacker.company.key, _BAD_INPUT
        two: Json = {"user": own, "safety_identifier": other}
        odd: object = pick([[own, other], {"id": own}, 7, "", f"{own}\u200b", f"../{other}"])
        one: Json = {"user": odd}
        body |= {"metadata": {"user_id": odd}} if path == "messages" else pick([two, one])
    reply = call(ProofRequest("POST", f"/v1/{path}", body), token=token, headers=headers)
    attempt.scan(aim.attacker, reply.text, sent=[body, headers], allowed=())
    if reply.status != status:
        attempt.found(aim.attacker, aim.victim.number, Exposure.DONE)
