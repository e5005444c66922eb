"""The page "Connect an agent": where agents connect, a token made on the spot, and what is connected."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from memories.chat.presenting import member_page
from memories.chat.snippets import snippets
from memories.errors import Conflict, existing
from memories.selectors.upstreams import VENDORS, upstream_of
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.reauthentication import ask_password
from tenants.errors import InvalidValue
from tenants.issued import keep_issued, take_issued
from tenants.middleware import TenantRequest
from tenants.models import ApiToken, Membership
from tenants.oauth.protocol import OFFERED, issuer, resource
from tenants.principal import Principal, Right
from tenants.services import issue_token, revoke_token
from tenants.tokens import TOKEN_DAYS

NEW = "new"
_RIGHTS = {
    Right.CHAT: pgettext_lazy("right", "chat"),
    Right.READ: pgettext_lazy("right", "read"),
    Right.WRITE: pgettext_lazy("right", "write"),
}


@dataclass(frozen=True, slots=True)
class ConnectedProgram:
    """A token of the member that works, or the agent that holds one by OAuth."""

    token: ApiToken
    is_agent: bool
    ends_at: datetime | None

    @property
    def rights(self) -> list[str]:
        """What it may do, in a word for each scope."""
        return [str(_RIGHTS.get(right, right)) for right in sorted(self.token.rights)]


@member_page()
def show(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The page; `?new=` shows the token with this id, once."""
    return _page(request, principal)


@member_page("POST")
def make(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """Make a token, and show it on the page."""
    if (question := ask_password(request, "connect/password_again.html")) is not None:
        return question
    form = request.POST
    scopes = [right for right in OFFERED if right in form.getlist("scopes")]
    membership = cast("TenantRequest", request).membership
    try:
        with acting_as(WideRole.STAFF):
            token, plaintext = issue_token(
                cast("Membership", membership), name=form.get("name", "").strip(), scopes=scopes, actor=principal.actor
            )
    except InvalidValue as error:
        return _page(request, principal, error=error, name=form.get("name", ""), chosen=scopes)
    keep_issued(request, token, plaintext)
    return redirect(f"{reverse('connect:home')}?{NEW}={token.pk}#token")


@member_page("POST")
def revoke(request: HttpRequest, principal: Principal, token_id: UUID) -> HttpResponse:
    """Revoke a token of the member's own, which also ends the agent that holds it."""
    with acting_as(WideRole.STAFF):
        token = existing(ApiToken.objects.filter(pk=token_id, membership_id=principal.membership_id).first(), "token")
        revoke_token(token, actor=principal.actor)
    messages.success(request, _("%(name)s has no access any more.") % {"name": token.name})
    return redirect("connect:home")


def _page(request: HttpRequest, principal: Principal, **form: Any) -> HttpResponse:
    new = request.GET.get(NEW, "")
    plaintext = take_issued(request, new) if new else ""
    context = {
        "address": resource(request),
        "plaintext": plaintext,
        "snippets": snippets(issuer(request), plaintext, models=_models(principal)),
        "programs": list(_connected(principal)),
        "scopes": [(right.value, words, right in form.get("chosen", OFFERED)) for right, words in OFFERED.items()],
        "days": TOKEN_DAYS,
        **form,
    }
    return render(request, "connect/connect.html", context, status=400 if form else 200)


def _models(principal: Principal) -> list[str]:
    """The APIs of models that the tenant passes on."""
    with suppress(Conflict):  # a key that cannot be read: the page of the policy tells whoever can mend it
        return [vendor for vendor in VENDORS if upstream_of(principal.tenant_id, vendor) is not None]
    return []


def _connected(principal: Principal) -> list[ConnectedProgram]:
    """What works now, last used first. An agent's token is renewed, so what counts is the end of the consent."""
    now, found = timezone.now(), []
    rows = ApiToken.objects.filter(membership_id=principal.membership_id, revoked_at=None)
    for token in rows.select_related("oauth_grant"):
        grant = getattr(token, "oauth_grant", None)
        if grant.ends_at > now if grant else token.is_usable_at(now):
            found.append(ConnectedProgram(token, grant is not None, grant.ends_at if grant else token.expires_at))
    return sorted(found, key=lambda each: each.token.last_used_at or each.token.created_at, reverse=True)
