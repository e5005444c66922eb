"""What a member does in a list of memories: add a fact or a how-to, and change or delete those that are selected."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories.chat.forms import AddForm
from memories.chat.presenting import member_page, refusal, refusals_shown
from memories.chat.undo_offer import offer_undo
from memories.chat.views.remembered import list_page
from memories.errors import Blocked, Conflict, InvalidInput, NotFound
from memories.hygiene.sensitivity import findings
from memories.selectors.memories import get_memory, is_shared
from memories.services.erasure.proposals import propose
from memories.services.facts.by_hand import remember_by_hand
from memories.services.facts.remember import pin_fact
from memories.services.facts.supersede import retire
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.types import Kind
from memoryhub.redirects import next_address
from tenants.errors import Forbidden
from tenants.principal import Principal

# As many as a page of a list has.
MOST_SELECTED = 50


@member_page("POST")
def add(request: HttpRequest, principal: Principal, kind: Kind) -> HttpResponse:
    """POST: store a how-to, or each fact that was filled in; what is refused comes back to be changed."""
    if kind not in (Kind.SEMANTIC, Kind.PROCEDURAL):
        raise NotFound("list")
    form = AddForm(request.POST).values()
    texts = [text.strip() for text in request.POST.getlist("text") if text.strip()] or [""]
    try:
        if kind is Kind.PROCEDURAL:
            steps = [step for line in form["steps"].splitlines() if (step := line.strip())]
            remember_playbook(principal, title=form["title"], trigger=form["trigger"], steps=steps)
            saved = 1
        else:
            saved = sum(len(remember_by_hand(principal, text=text)) for text in texts)
    except InvalidInput as error:
        why = refusal(error, _("The fact") if kind is Kind.SEMANTIC else _("The how-to"))
    except Conflict as error:
        why = str(error)
    except Blocked as error:
        why = findings.refusal(error, to_people=True)
    else:
        words = ngettext("Saved %(count)d memory.", "Saved %(count)d memories.", saved)
        messages.success(request, words % {"count": saved})
        return redirect(_list(request, kind))
    return list_page(request, principal, kind, refused={**form, "texts": texts, "why": why})


@member_page("POST")
def change(request: HttpRequest, principal: Principal, kind: Kind) -> HttpResponse:
    """POST: `action` deletes, retires, pins, unpins or undoes the memories `ids`; a button of one row names its own.

    To delete is to ask first: the list then shows what goes. Ids of others are as unknown as any.
    """
    action, ids = request.POST.get("action", ""), _selected(request)
    if one := request.POST.get("delete"):
        action, ids = "delete", _uuids([one])
    onward = _list(request, kind)
    with refusals_shown(request):
        if not ids:
            raise InvalidInput("ids", _("Select at least one."))
        if any(is_shared(get_memory(principal, kind, each)) for each in ids):
            raise Forbidden(_("Only an administrator can change what is shared with everybody."))
        if action == "delete":
            proposal = propose(principal, targets=[(kind, each) for each in ids])[0]
            onward = _with(onward, forget=str(proposal.pk))
        elif action == "retire":
            retire(principal, kind=kind, memory_id=ids[0], also_ids=ids[1:])
            words = ngettext("Marked as outdated.", "Marked %(count)d as outdated.", len(ids))
            offer_undo(request, kind, ids, words % {"count": len(ids)})
        elif action in ("pin", "unpin"):
            for each in ids:
                pin_fact(principal, fact_id=each, pinned=action == "pin")
            messages.success(request, _("Pinned. Always included.") if action == "pin" else _("Unpinned."))
        elif action == "undo":
            for each in ids:
                undo(principal, kind=kind, memory_id=each)
            messages.success(request, _("Undone."))
        else:
            raise InvalidInput("action", _("Choose one of the actions of the page."))
    return redirect(onward)


def _selected(request: HttpRequest) -> list[UUID]:
    return _uuids(request.POST.getlist("ids"))


def _uuids(values: list[str]) -> list[UUID]:
    """The distinct ids. Raises NotFound for what is none, or for more than a page has."""
    try:
        found = list(dict.fromkeys(UUID(each) for each in values))
    except ValueError as error:
        raise NotFound("memory") from error
    if len(found) > MOST_SELECTED:
        raise NotFound("memory")
    return found


def _list(request: HttpRequest, kind: Kind) -> str:
    return next_address(request, reverse("remember:list", kwargs={"kind": kind}))


def _with(address: str, **parameters: str) -> str:
    parts = urlsplit(address)
    kept = dict(parse_qsl(parts.query)) | parameters
    return parts._replace(query=urlencode(kept)).geturl()
