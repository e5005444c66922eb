"""The pages of signing in by an organisation's own provider.

The address or short name leads to a page that names the provider's host; a link there, no form, begins, because a
policy for forms would also hold for the redirect.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from urllib.parse import urlsplit

from allauth.account.utils import perform_login
from allauth.core import ratelimit
from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from memoryhub import limits
from memoryhub.db.scope import WideRole, acting_as
from tenants.errors import Forbidden
from tenants.middleware import TENANT_SESSION_KEY, request_id_of
from tenants.models import Membership
from tenants.oidc.faults import provider_fault_words
from tenants.oidc.people import member_of
from tenants.oidc.protocol import ProviderError, SignInAttempt, authorization_url, claims_of
from tenants.oidc.providers import provider_for, secret_of
from tenants.provider_models import IdentityProvider, ProviderKind
from tenants.search_keys.claims import Undecipherable

log = logging.getLogger(__name__)
_ATTEMPT = "oidc_attempt"


class OrganisationForm(forms.Form):
    """Whose provider somebody signs in at."""

    named = forms.CharField(label=gettext_lazy("E-mail address, or short name of your organisation"), max_length=254)


@login_not_required
def choose(request: HttpRequest) -> HttpResponse:
    """Ask for the organisation, and show where its people sign in."""
    if too_many := too_many_of(request, "organisation"):
        return too_many
    form = OrganisationForm(request.POST or None)
    provider = None
    if request.method == "POST" and form.is_valid():
        with acting_as(WideRole.SIGN_IN):
            provider = provider_for(form.cleaned_data["named"])
        if provider is None:
            form.add_error("named", _("No organisation signs in by this address or name. Ask your administrator."))
    host = urlsplit(provider.sign_in_url or provider.issuer).hostname if provider else ""
    return render(request, "registration/organisation.html", {"form": form, "provider": provider, "host": host})


@login_not_required
@require_GET
def begin(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Send the browser to the organisation's provider."""
    if too_many := too_many_of(request, "organisation"):
        return too_many
    provider = provider_of(slug)
    if provider.kind == ProviderKind.SAML:
        return redirect("saml_begin", slug)
    attempt = SignInAttempt.new()
    try:
        with thread_of(provider):
            address = authorization_url(provider.issuer, provider.client_id, _callback(request, slug), attempt)
    except ProviderError as error:
        return failed(request, provider, error)
    request.session[_ATTEMPT] = {"slug": slug, **asdict(attempt)}
    return HttpResponseRedirect(address)


@login_not_required
@require_GET
def callback(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Sign in whoever comes back with an answer to what this browser asked."""
    if too_many := too_many_of(request, "organisation"):
        return too_many
    provider = provider_of(slug, ProviderKind.OIDC)
    kept = request.session.pop(_ATTEMPT, {})
    if kept.pop("slug", None) != slug or not constant_time_compare(request.GET.get("state", ""), kept.get("state")):
        return refused(request, _("This sign-in was begun elsewhere, or is over. Begin again."))
    if "code" not in request.GET:
        return refused(request, _("Your organisation's provider did not sign you in."))
    if too_many := too_many_of(request, "organisation_answer", slug):
        return too_many
    try:
        with thread_of(provider):
            claims = claims_of(
                request.GET["code"],
                issuer=provider.issuer,
                client_id=provider.client_id,
                secret=secret_of(provider),
                redirect_uri=_callback(request, slug),
                attempt=SignInAttempt(**kept),
            )
        with acting_as(WideRole.STAFF):
            membership = member_of(provider, claims, request_id=request_id_of(request))
    except (ProviderError, Undecipherable) as error:
        return failed(request, provider, error)
    except Forbidden as error:
        return refused(request, str(error))
    return enter(request, membership)


def enter(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Sign in a member that their tenant's provider named, and open that tenant."""
    request.session[TENANT_SESSION_KEY] = str(membership.tenant_id)
    answer: HttpResponse = perform_login(request, membership.user, signal_kwargs={"by_provider": True})
    return answer


def provider_of(slug: str, kind: ProviderKind | None = None) -> IdentityProvider:
    """The tenant's provider, which is in use and of this protocol. Raises Http404."""
    with acting_as(WideRole.SIGN_IN):
        provider = provider_for(slug)
    if provider is None or kind not in (None, provider.kind):
        raise Http404
    return provider


def too_many_of(request: HttpRequest, action: str, slug: str | None = None) -> HttpResponse | None:
    """A refusal if too many come from the address, or to the provider."""
    answer: HttpResponse | None = ratelimit.consume_or_429(request, action=action, key=slug, limit_get=True)
    return answer


@contextmanager
def thread_of(provider: IdentityProvider) -> Iterator[None]:
    """Use one of the threads that are the tenant's share. Raises ProviderError if there is none."""
    if not limits.fair_share.enter(provider.tenant_id):
        raise ProviderError("too many people sign in at once")
    try:
        yield
    finally:
        limits.fair_share.leave(provider.tenant_id)


def _callback(request: HttpRequest, slug: str) -> str:
    return request.build_absolute_uri(reverse("organisation_callback", args=[slug]))


def failed(request: HttpRequest, provider: IdentityProvider, error: Exception) -> HttpResponse:
    """Say that the provider could not be used, and why; it is logged."""
    said = str(error) or "its secret cannot be decrypted"
    log.warning("The identity provider of tenant %s failed: %s", provider.tenant_id, said)
    return refused(
        request, _("Your organisation's provider could not be used: %s. Try again later.") % provider_fault_words(said)
    )


def refused(request: HttpRequest, reason: str) -> HttpResponse:
    """Say why somebody is not signed in."""
    return render(request, "registration/organisation_refused.html", {"reason": reason}, status=403)


urlpatterns = [
    path("login/organisation/", choose, name="organisation"),
    path("login/organisation/<slug:slug>/", begin, name="organisation_begin"),
    path("login/organisation/<slug:slug>/callback/", callback, name="organisation_callback"),
]
