"""A program that connects by OAuth, and a browser without scripts that decides for the member: both over a socket."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tenants.models import Membership
from tests.factories import PASSWORD

CALLBACK = "http://127.0.0.1:49152/callback"
_NONE_KEPT = httpx.Limits(max_keepalive_connections=0)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


class Browser:
    """A signed-in member's browser, which follows no redirect to a program."""

    def __init__(self, site: str, member: Membership) -> None:
        self.client = httpx.Client(base_url=site, follow_redirects=True, timeout=60, limits=_NONE_KEPT)
        self.client.get("/login/")
        form = {"username": member.user.get_username(), "password": PASSWORD, "csrfmiddlewaretoken": self._csrf()}
        answer = self.client.post("/login/", data=form)
        assert answer.status_code == 200 and answer.url.path != "/login/"
        self.client.follow_redirects = False

    def _csrf(self) -> str:
        return next(value for name, value in self.client.cookies.items() if name.endswith("memoryhub_csrf"))

    def decide(self, address: str, decision: str = "allow", **changes: Any) -> httpx.Response:
        """Open the page of consent and press a button; `changes` replace fields of the form."""
        page = self.client.get(address)
        assert page.status_code == 200, page.text
        form: dict[str, Any] = {name: unescape(value) for name, value in _HIDDEN.findall(page.text)}
        form |= {"scopes": re.findall(r'name="scopes" value="([^"]+)" checked', page.text), "decision": decision}
        return self.client.post("/oauth/authorize", data=form | changes)


class Agent:
    """A public client that knows the address of MCP alone."""

    def __init__(self, site: str, *, callback: str = CALLBACK, name: str = "Scripted agent") -> None:
        self.http = httpx.Client(timeout=60, limits=_NONE_KEPT)
        document = self.http.get(f"{site}/.well-known/oauth-protected-resource/mcp").json()
        self.resource = document["resource"]
        (server,) = document["authorization_servers"]
        self.server = self.http.get(f"{server}/.well-known/oauth-authorization-server").json()
        self.callback, self.name, self.client_id = callback, name, ""
        self.verifier, self.state = secrets.token_urlsafe(48), secrets.token_urlsafe(8)

    def register(self) -> httpx.Response:
        """Register, and keep the id."""
        metadata = {"client_name": self.name, "redirect_uris": [self.callback], "token_endpoint_auth_method": "none"}
        answer = self.http.post(self.server["registration_endpoint"], json=metadata)
        self.client_id = answer.json().get("client_id", "")
        return answer

    def address(self, **changes: str | None) -> str:
        """Where the member's browser is sent; `changes` replace parameters, and None leaves one away."""
        digest = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        sent = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.callback,
            "state": self.state,
            "scope": "memory:read memory:write",
            "code_challenge": digest,
            "code_challenge_method": "S256",
            "resource": self.resource,
        }
        wanted = {name: value for name, value in (sent | changes).items() if value is not None}
        return str(httpx.URL(self.server["authorization_endpoint"], params=wanted))

    def code_from(self, answer: httpx.Response) -> str:
        """The code in the redirect, whose state and issuer are checked."""
        assert answer.status_code == 303, answer.text
        said = returned(answer)
        assert (said["state"], said["iss"]) == (self.state, self.server["issuer"])
        return said["code"]

    def exchange(self, code: str, **changes: str) -> httpx.Response:
        """Ask for tokens."""
        form = {
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "code": code,
            "redirect_uri": self.callback,
            "code_verifier": self.verifier,
            "resource": self.resource,
        }
        return self.http.post(self.server["token_endpoint"], data=form | changes)

    def refresh(self, refresh_token: str, **changes: str) -> httpx.Response:
        """Ask for new tokens."""
        form = {"grant_type": "refresh_token", "client_id": self.client_id, "refresh_token": refresh_token}
        return self.http.post(self.server["token_endpoint"], data=form | changes)

    def revoke(self, token: str) -> httpx.Response:
        """End the access."""
        return self.http.post(self.server["revocation_endpoint"], data={"client_id": self.client_id, "token": token})

    def whoami(self, access: str) -> httpx.Response:
        """Use the access token."""
        site = self.server["issuer"]
        return self.http.get(f"{site}/api/v1/me/", headers={"Authorization": f"Bearer {access}"})


def returned(answer: httpx.Response) -> dict[str, str]:
    """The parameters that a redirect, or the link of a page that refuses, gives the program."""
    link = re.search(r'href="([^"]+)" rel="noreferrer"', answer.text)
    address = answer.headers.get("Location") or (unescape(link[1]) if link else "")
    return {name: value for name, (value,) in parse_qs(urlsplit(address).query).items()}
