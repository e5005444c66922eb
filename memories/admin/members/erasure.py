"""Erasing a member, or keeping from that: how both stand, and asking for them. For administrators of the tenant."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from memories.admin.members.page import Looking, MemberPage
from memories.errors import MemoriesError
from memories.models import OPEN_ERASURES, ErasureState
from memories.selectors.erasure import holds_on, latest_request, owner_of
from memories.selectors.policies import policy_of
from memories.services.admin_requests import REASON_CHARACTERS
from memories.services.erasure.holds import place_hold
from memories.services.erasure.requests import ask_erasure
from tenants.errors import TenantsError
from tenants.principal import ADMINISTERS


def shown(looking: Looking) -> HttpResponse:
    """The holds in force and the last request, with what can be asked for."""
    member = looking.membership
    holds = list(holds_on(owner_of(member)).select_related("placed_by").order_by("placed_at"))
    request = latest_request(member.pk)
    erased = request is not None and request.started_at is not None
    gone = request is not None and request.state == ErasureState.DONE
    return looking.render(
        "admin/memories/member/erasure.html",
        title="Erase or hold",
        holds=holds,
        erasure=request,
        may_ask=not erased and (request is None or request.state not in OPEN_ERASURES),
        gone=gone,
        may_hold=not gone and not any(hold.user_id for hold in holds),
        second=policy_of(member.tenant_id).erasure_needs_second,
        most=REASON_CHARACTERS,
    )


def ask(looking: Looking) -> HttpResponse:
    """Ask for the erasure; who sends this wrote the member's name to show that they mean it."""
    if looking.request.POST.get("sure", "").strip() != looking.membership.user.get_username():
        messages.error(looking.request, "Nothing was asked for: write the member's username to confirm it.")
        return HttpResponseRedirect(looking.url("erasure"))

    def asked() -> str:
        request = ask_erasure(looking.actor, membership_id=looking.membership.pk, reason=_reason(looking))
        return reverse("admin:memories_erasurerequest_change", args=[request.pk])

    return _done(looking, asked, "The erasure is asked for.")


def hold(looking: Looking) -> HttpResponse:
    """Place a legal hold on this member."""

    def placed() -> str:
        member = looking.membership
        place_hold(looking.actor, tenant_id=member.tenant_id, membership_id=member.pk, reason=_reason(looking))
        return looking.url("erasure")

    return _done(looking, placed, "From now on nothing of this member is erased or expires.")


def _done(looking: Looking, act: Callable[[], str], sentence: str) -> HttpResponse:
    try:
        address = act()
    except (MemoriesError, TenantsError) as error:
        messages.error(looking.request, str(error)[:1].upper() + str(error)[1:])
        return HttpResponseRedirect(looking.url("erasure"))
    messages.success(looking.request, sentence)
    return HttpResponseRedirect(address)


def _reason(looking: Looking) -> str:
    return str(looking.request.POST.get("reason", ""))


PAGES = (
    MemberPage("erasure", "erasure/", shown, roles=ADMINISTERS, tab="Erase or hold"),
    MemberPage("erasure_ask", "erasure/ask/", ask, roles=ADMINISTERS, methods=("POST",)),
    MemberPage("hold_place", "erasure/hold/", hold, roles=ADMINISTERS, methods=("POST",)),
)
