"""The page on which a member allows an agent that asks by OAuth, or does not."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _

from memories.chat.presenting import member_page
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.reauthentication import ask_password
from tenants.middleware import TenantRequest
from tenants.oauth.clients import form_source, host_of
from tenants.oauth.grants import AuthorizationRequest, allow, read_request
from tenants.oauth.protocol import OFFERED, OAuthError, issuer, resource
from tenants.principal import Principal, Right

_SENT = (
    "response_type", "client_id", "redirect_uri", "state", "scope", "code_challenge", "code_challenge_method",
    "resource",
)  # fmt: skip


@member_page("GET", "HEAD", "POST")
def decide(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Ask the member, and send the browser back to the client with the decision.

    The form repeats the request, which is checked again, and names the membership that the member saw.
    """
    sent = request.POST if request.method == "POST" else request.GET
    try:
        with acting_as(WideRole.STAFF):
            wanted = read_request(sent, resource=resource(request), asked_by=str(principal.user_id))
    except OAuthError as error:
        return _told(request, error)
    answer = _decided(request, principal, wanted) if request.method == "POST" else _asked(request, wanted)
    # Browsers hold the redirect that follows the form to the page's `form-action`, too.
    answer._csp_update = {"form-action": [form_source(wanted.redirect_uri)]}  # type: ignore[attr-defined]  # django-csp's
    return answer


def _asked(request: HttpRequest, wanted: AuthorizationRequest, note: str = "") -> HttpResponse:
    sent = request.POST if request.method == "POST" else request.GET
    context: dict[str, Any] = {
        "wanted": wanted,
        "document_host": form_source(wanted.client.client_id) if "/" in wanted.client.client_id else "",
        "fixed": [OFFERED[right] for right in wanted.scopes if right is Right.READ],
        "choices": [(right.value, OFFERED[right]) for right in wanted.scopes if right is not Right.READ],
        "sent": [(name, value) for name in _SENT for value in sent.getlist(name)],
        "note": note,
        "here": f"{request.path}?{urlencode([(name, value) for name in _SENT for value in sent.getlist(name)])}",
    }
    return render(request, "connect/consent.html", context)


def _decided(request: HttpRequest, principal: Principal, wanted: AuthorizationRequest) -> HttpResponse:
    sent = request.POST
    if sent.get("membership") != str(principal.membership_id):
        return _asked(request, wanted, _("You have changed the account or organisation meanwhile. Look again."))
    if sent.get("decision") != "allow":
        return _back(request, wanted.redirect_uri, error="access_denied", state=wanted.state)
    if (question := ask_password(request, "connect/password_again.html")) is not None:
        return question
    chosen = {right for right in wanted.scopes if right is Right.READ or right in sent.getlist("scopes")}
    try:
        with acting_as(WideRole.STAFF):
            membership = cast("TenantRequest", request).membership
            code = allow(wanted, membership, chosen) if membership else ""
    except OAuthError as error:
        return _asked(request, wanted, str(error))
    return _back(request, wanted.redirect_uri, code=code, state=wanted.state)


def _told(request: HttpRequest, error: OAuthError) -> HttpResponse:
    """Say what is wrong, with a link by which the client learns of it, if it is known who the client is.

    Nobody is sent on unasked: anybody may register an address, and would have a redirect from this site (RFC 9700).
    """
    context: dict[str, Any] = {"error": _(str(error))}
    if error.redirect:
        said = {"error": error.code, "error_description": str(error), "state": error.state}
        context |= {"back": _address(request, error.redirect, **said), "host": host_of(error.redirect)}
    return render(request, "connect/refused.html", context, status=error.status)


def _back(request: HttpRequest, address: str, **said: str) -> HttpResponse:
    """Redirect to the client, whose address may have the scheme of an app."""
    return HttpResponse(status=303, headers={"Location": _address(request, address, **said)})


def _address(request: HttpRequest, address: str, **said: str) -> str:
    """The client's address with these parameters, and the issuer (RFC 9207)."""
    query = urlencode({name: value for name, value in said.items() if value} | {"iss": issuer(request)})
    return f"{address}{'&' if '?' in address else '?'}{query}"
