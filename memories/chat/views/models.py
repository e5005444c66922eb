"""Connect a language model: its address, key and name, tried before they are stored in the tenant's policy."""

from __future__ import annotations

from contextlib import closing
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from memories.chat.presenting import member_page, refusal
from memories.errors import Conflict, InvalidInput
from memories.llm.base import ModelFault, TextPiece
from memories.models import MemoryPolicy
from memories.selectors.upstreams import CHAT_VENDOR, VENDORS, shown_upstreams, upstream_of
from memories.services.policies import administrator, checked_policy, set_policy
from memoryhub.db.scope import WideRole, acting_as
from memoryhub.reauthentication import ask_password
from tenants.principal import Principal

# Seconds in which a model has to answer when it is tried; somebody waits for the page.
TRIAL_SECONDS = 20.0
_TRIAL = ({"role": "user", "content": "Reply with the word OK."},)


@member_page()
def show(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The page. Raises Forbidden for members who may not change the tenant's policy."""
    administrator(principal, principal.tenant_id)
    return _page(request, principal)


@sensitive_post_parameters("key")
@member_page("POST")
def connect(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """POST: try a model, and store it if it answers. A key that is left empty stays, for the same address."""
    administrator(principal, principal.tenant_id)
    form = {name: request.POST.get(name, "").strip() for name in ("url", "key", "model")}
    without_key = request.POST.copy()
    without_key.pop("key", None)
    request.POST = without_key  # type: ignore[assignment]  # the page that asks for the password repeats what was posted
    if (question := ask_password(request, "connect/password_for_model.html")) is not None:
        return question
    try:
        upstreams = _with_model(principal.tenant_id, form)
        _try(principal.tenant_id, upstreams[CHAT_VENDOR])
        with acting_as(WideRole.STAFF):
            set_policy(principal, tenant_id=principal.tenant_id, upstreams=upstreams)
    except (InvalidInput, Conflict) as error:
        return _page(request, principal, error=refusal(error, _named(error)), url=form["url"], model=form["model"])
    except ModelFault as fault:
        reason = _("Nothing was stored. %(reason)s") % {"reason": fault.message}
        return _page(request, principal, error=reason, url=form["url"], model=form["model"])
    messages.success(request, _("Connected: %(model)s answers in the chat.") % {"model": form["model"]})
    return redirect("chat:new")


@member_page("POST")
def disconnect(request: HttpRequest, principal: Principal) -> HttpResponseBase:
    """POST: let the chat answer offline again. The address and the key of the API stay."""
    administrator(principal, principal.tenant_id)
    if (question := ask_password(request, "connect/password_for_model.html")) is not None:
        return question
    kept = _stored(principal.tenant_id)
    kept.get(CHAT_VENDOR, {}).pop("model", None)
    with acting_as(WideRole.STAFF):
        set_policy(principal, tenant_id=principal.tenant_id, upstreams=kept)
    messages.success(request, _("Disconnected. The chat answers offline."))
    return redirect("connect:model")


def _stored(tenant_id: UUID) -> dict[str, dict[str, Any]]:
    """The tenant's upstreams in the form that leaves their keys as they are."""
    stored = MemoryPolicy.objects.filter(tenant_id=tenant_id).values_list("upstreams", flat=True).first() or {}
    return {vendor: {**each, "key": None} for vendor, each in stored.items()}


def _with_model(tenant_id: UUID, form: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The tenant's upstreams with the submitted model, validated. Raises InvalidInput."""
    if not form["model"]:
        raise InvalidInput("model", _("Enter the name of the model."))
    own = {"url": form["url"].rstrip("/"), "key": form["key"] or None, "model": form["model"]}
    upstreams = _stored(tenant_id) | {CHAT_VENDOR: own}
    checked_policy({"upstreams": upstreams})
    return upstreams


def _try(tenant_id: UUID, own: dict[str, Any]) -> None:
    """Ask the model for a word. Raises ModelFault, Conflict (it answered nothing, or a stored key cannot be read)."""
    from memories.llm.completions import OpenAIChat  # noqa: PLC0415 - takes a second, which offline use saves

    key = own["key"]
    if key is None:
        stored = upstream_of(tenant_id, CHAT_VENDOR)
        key = stored.key if stored is not None and stored.checked and stored.url == own["url"] else ""
    limits = {"stall_seconds": TRIAL_SECONDS, "answer_seconds": TRIAL_SECONDS}
    model = OpenAIChat(name=own["model"], base_url=own["url"], api_key=key, retries=0, checked=True, **limits)
    with closing(model), closing(model.outputs({"messages": list(_TRIAL)})) as outputs:
        if not any(isinstance(output, TextPiece) for output in outputs):
            raise Conflict(_("Nothing was stored: the model answered without a word."))


def _named(error: InvalidInput | Conflict) -> str:
    """What the reader calls the field of an error."""
    field = error.field.rpartition(".")[2] if isinstance(error, InvalidInput) else ""
    return {"url": _("The address"), "key": _("The key"), "model": _("The model")}.get(field, "")


def _page(request: HttpRequest, principal: Principal, *, error: str = "", **form: str) -> HttpResponse:
    stored = MemoryPolicy.objects.filter(tenant_id=principal.tenant_id).values_list("upstreams", flat=True).first()
    own = shown_upstreams(stored or {}).get(CHAT_VENDOR, {})
    context = {"own": own, "usual": VENDORS[CHAT_VENDOR], "error": error, "form": {**own, **form}}
    return render(request, "connect/model.html", context, status=400 if error else 200)
