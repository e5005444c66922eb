"""Attacks between the apps of a tenant that keeps them apart: a call that names one must not see what another keeps."""

from __future__ import annotations

import json

from proof.attack import Attempt, attack
from proof.attacks.web import API
from proof.marks import Exposure
from proof.requests import ProofRequest, call

APP = "X-Memoryhub-App"
_APPS = ("shop", "desk", "care")
_LISTS = (
    "memories/?kind=semantic&limit=100",
    'memories/?kind=semantic&filters={{"field":"app","op":"eq","value":"{}"}}',
)
_CHANGES = (("PATCH", "", {"metadata": {"by": "me"}}), ("POST", "retire/", {"reason": "Mine"}), ("DELETE", "", None))
_NOT_FOUND = 404


@attack("apps: what another app keeps", weight=6)
def another_app(attempt: Attempt) -> None:
    """Write as one app of a member, and look for it as another, by lists, filters, recall, context and id."""
    who, chance = attempt.attacker(), attempt.chance
    app, other = chance.sample(_APPS, 2)
    text, query = f"The {other} keeps this for resident {who.number}", f"Who keeps this for resident {who.number}?"
    made = call(ProofRequest("POST", f"{API}memories/", {"text": text}), token=who.token, headers={APP: other})
    memory_id = json.loads(made.text[made.text.index("{") :])["memory_id"]
    if attempt.maybe(0.3):
        method, path, change = chance.choice([("GET", "", None), ("GET", "chain/", None), *_CHANGES])
        request = ProofRequest(method, f"{API}memories/{memory_id}/{path}", change)
        reply = call(request, token=who.token, headers={APP: app})
        if reply.status != _NOT_FOUND:
            attempt.found(who, who.number, Exposure.DONE)
        return
    condition = {"field": "app", "op": "eq", "value": other}
    bodies: list[dict[str, object]] = [{"filters": condition}, {"filters": {"not": {"not": condition}}}, {}]
    body = chance.choice(bodies)
    request, headers = chance.choice(
        [
            (ProofRequest("GET", API + chance.choice(_LISTS).format(other)), {APP: app}),
            (ProofRequest("POST", f"{API}recall/", {"query": query, "limit": 100, **body}), {APP: app}),
            (ProofRequest("POST", f"{API}recall/", {"query": query, "app": app, **body}), {APP: other}),
            (ProofRequest("POST", f"{API}context/", {"query": query, "app": app, **body}), {}),
        ]
    )
    reply = call(request, token=who.token, headers=headers)
    attempt.scan(who, reply.text)
    if memory_id in reply.text or text in reply.text:
        attempt.found(who, who.number, Exposure.TEXT)
