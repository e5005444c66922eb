"""The pages of signing in by SAML.

A provider posts its answer from its own site, without this site's cookie. So the answer is verified, kept for a minute
encrypted with a random key, and the browser comes with its cookie and that key: only the one that began gets in.
`RelayState` is never read.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any, Final

from cryptography.fernet import Fernet
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from memoryhub.db.scope import WideRole, acting_as
from tenants.errors import Forbidden
from tenants.middleware import request_id_of
from tenants.oidc.pages import enter, failed, provider_of, refused, too_many_of
from tenants.oidc.people import member_of
from tenants.oidc.protocol import ProviderError
from tenants.provider_models import ProviderKind
from tenants.saml.protocol import ServiceProvider, claims_of_answer, metadata_of, request_url

_ATTEMPT = "saml_attempt"
# Seconds for which an answer waits for its browser, and for which no second answer with the same assertion is taken.
_WAITS: Final = 60
_ONCE: Final = 24 * 3600


@login_not_required
@require_GET
def begin(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Send the browser to the organisation's provider."""
    if too_many := too_many_of(request, "organisation"):
        return too_many
    provider = provider_of(slug, ProviderKind.SAML)
    request_id = f"_{secrets.token_hex(20)}"
    request.session[_ATTEMPT] = {"slug": slug, "id": request_id}
    return HttpResponseRedirect(request_url(provider.sign_in_url, service_of(request, slug), request_id))


@csrf_exempt
@login_not_required
@require_POST
def answer(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Verify what a provider says, and have the browser come for it.

    An answer that nobody here asked for begins a sign-in, as from a tile on the provider's own page.
    """
    if too_many := too_many_of(request, "organisation") or too_many_of(request, "organisation_answer", slug):
        return too_many
    provider = provider_of(slug, ProviderKind.SAML)
    try:
        claims = claims_of_answer(
            request.POST.get("SAMLResponse", ""),
            issuer=provider.issuer,
            certificates=provider.certificates,
            to=service_of(request, slug),
            role_claim=provider.role_claim,
            now=timezone.now(),
        )
    except ProviderError as error:
        return failed(request, provider, error)
    if not claims["in_response_to"]:
        return redirect("saml_begin", slug)
    if not cache.add(_name("assertion", slug, claims.pop("assertion")), 1, _ONCE):
        return refused(request, _("This sign-in was begun elsewhere, or is over. Begin again."))
    ticket = Fernet.generate_key().decode()
    kept = Fernet(ticket).encrypt(json.dumps({"provider": str(provider.pk), **claims}).encode())
    cache.set(_name("answer", slug, ticket), kept, _WAITS)
    there = HttpResponseRedirect(f"{reverse('saml_done', args=[slug])}?answer={ticket}")
    there.status_code = 303
    return there


@login_not_required
@require_GET
def done(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Sign in whoever comes back to the browser that asked."""
    if too_many := too_many_of(request, "organisation"):
        return too_many
    provider = provider_of(slug, ProviderKind.SAML)
    kept: dict[str, str] = request.session.pop(_ATTEMPT, {})
    claims = _fetched(slug, request.GET.get("answer", ""))
    asked = constant_time_compare(claims.pop("in_response_to", ""), kept.get("id", "nothing"))
    if not asked or kept.get("slug") != slug or claims.pop("provider", "") != str(provider.pk):
        return refused(request, _("This sign-in was begun elsewhere, or is over. Begin again."))
    try:
        with acting_as(WideRole.STAFF):
            membership = member_of(provider, claims, request_id=request_id_of(request))
    except Forbidden as error:
        return refused(request, str(error))
    return enter(request, membership)


@login_not_required
@require_GET
def metadata(request: HttpRequest, slug: str) -> HttpResponse:
    """What the organisation's provider has to know of this site; none of it is secret."""
    provider_of(slug, ProviderKind.SAML)
    return HttpResponse(metadata_of(service_of(request, slug)), content_type="application/samlmetadata+xml")


def service_of(request: HttpRequest, slug: str) -> ServiceProvider:
    """How the tenant's provider knows this site."""
    return ServiceProvider(
        entity_id=request.build_absolute_uri(reverse("saml_metadata", args=[slug])),
        answers_at=request.build_absolute_uri(reverse("saml_answer", args=[slug])),
    )


def _fetched(slug: str, ticket: str) -> dict[str, Any]:
    """The answer that waits under the ticket, once; empty if there is none."""
    name = _name("answer", slug, ticket)
    kept = cache.get(name)
    cache.delete(name)
    claims: dict[str, Any] = json.loads(Fernet(ticket).decrypt(kept)) if kept else {}
    return claims


def _name(kind: str, slug: str, value: str) -> str:
    return f"saml:{kind}:{hashlib.sha256(f'{slug} {value}'.encode()).hexdigest()}"


urlpatterns = [
    path("login/organisation/<slug:slug>/saml/", begin, name="saml_begin"),
    path("login/organisation/<slug:slug>/saml/answer/", answer, name="saml_answer"),
    path("login/organisation/<slug:slug>/saml/done/", done, name="saml_done"),
    path("login/organisation/<slug:slug>/saml/metadata/", metadata, name="saml_metadata"),
]
