"""Attacks on OAuth: codes and refresh tokens of others, tokens of one's own consent, and what others have connected."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets

from proof.attack import Attempt, attack
from proof.attacks.web import API, API_LISTS, by_page
from proof.marks import Exposure
from proof.requests import ProofRequest, Reply, call
from proof.world import Persona, Resident
from tenants.models import OAuthClient
from tenants.oauth.grants import AuthorizationRequest, allow
from tenants.oauth.protocol import OFFERED, TOKEN_PATH

CLIENT = "isolation proof"
_REDIRECT, _OK = "https://client.example/callback", 200


def _code_of(resident: Resident) -> tuple[str, str]:
    """A code for the resident's consent, and the verifier that its client keeps."""
    client, _ = OAuthClient.objects.get_or_create(
        client_id=CLIENT, defaults={"name": CLIENT, "redirect_uris": [_REDIRECT]}
    )
    verifier = secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    wanted = AuthorizationRequest(client, _REDIRECT, "", challenge, tuple(OFFERED))
    return allow(wanted, resident.membership, OFFERED), verifier


def _asked(**form: str) -> Reply:
    form = {"client_id": CLIENT, "grant_type": "authorization_code", "redirect_uri": _REDIRECT} | form
    return call(ProofRequest("POST", f"/{TOKEN_PATH}", form=form))


def _given(reply: Reply, name: str) -> str:
    return str(json.loads(reply.text[reply.text.index("{") :])[name])


@attack("oauth: another's code or refresh token", weight=3)
def stolen(attempt: Attempt) -> None:
    """Bring a stolen code without its verifier, and a refresh token or code that was used already."""
    attacker, pick = attempt.attacker(Persona.RESIDENT), attempt.chance.choice
    victim = pick([each for each in attempt.world.of(Persona.RESIDENT) if each is not attacker])
    code, verifier = _code_of(victim)
    form = {"code": code, "code_verifier": secrets.token_urlsafe(48)}
    way = pick(("verifier", "client", "redirect", "again", "refreshed"))
    if way in ("client", "redirect"):
        form |= {"code_verifier": verifier}
        form |= {"client_id": "another"} if way == "client" else {"redirect_uri": f"{_REDIRECT}/"}
    elif way != "verifier":
        first = _asked(code=code, code_verifier=verifier)
        form |= {"code_verifier": verifier}
        if way == "refreshed":
            form = {"grant_type": "refresh_token", "refresh_token": _given(first, "refresh_token")}
            _asked(**form)
    reply = _asked(**form)
    attempt.scan(attacker, reply.text, sent=form)
    if reply.status == _OK:
        attempt.found(attacker, victim.number, Exposure.DONE)


@attack("oauth: lists and recall with one's own access token", weight=3)
def own_token(attempt: Attempt) -> None:
    """Connect an agent to one's own memory, and look for the words of others with it."""
    aim = attempt.aim(Persona.RESIDENT, Persona.WANDERER)
    code, verifier = _code_of(aim.attacker)
    access = _given(_asked(code=code, code_verifier=verifier), "access_token")
    request, _ = aim.fill(attempt.chance.choice(API_LISTS))
    request = ProofRequest(request.method, request.path.removesuffix("&cursor="), request.body)
    attempt.scan(aim.attacker, call(request, token=access).text, sent=request)
    if call(ProofRequest("GET", f"{API}tokens/"), token=access).status == _OK:  # no agent may make tokens
        attempt.found(aim.attacker, aim.attacker.number, Exposure.DONE)


@attack("oauth: what another has connected", weight=2)
def connected(attempt: Attempt) -> None:
    """Open one's own page of connected agents, and revoke another's token by its id."""
    aim = attempt.aim(Persona.RESIDENT)
    row = ProofRequest("POST", "/connect/tokens/{token}/revoke/", form={})
    attempt.compare(aim, row, lambda request: by_page(aim.attacker, request))
    page = call(ProofRequest("GET", "/connect/?new={token}"), cookie=aim.attacker.cookie)
    attempt.scan(aim.attacker, page.text)
