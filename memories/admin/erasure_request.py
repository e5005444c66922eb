"""Erasures across the tenants in scope: asked, approved, carried out with progress, and their receipts.

Invariant: administrators decide, auditors read; a page here shows counts, ids and times, never a word of a memory. One
asks for an erasure on the pages of the member (`members/erasure.py`).
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_POST

from memories.errors import MemoriesError
from memories.models import ErasureRequest, ErasureState
from memories.selectors.erasure import on_hold, owner_of
from memories.services.erasure.receipt import download, verify_receipt
from memories.services.erasure.requests import approve_erasure, refuse_erasure
from memories.services.erasure.stages import STAGES
from tenants.admin.scoping import TenantScopedAdmin, acting, named, signed_in, stamp
from tenants.errors import TenantsError
from tenants.principal import ADMINISTERS, AUDITS
from tenants.selectors import has_role

PILLS = {
    ErasureState.ASKED: "warning",
    ErasureState.APPROVED: "accent",
    ErasureState.RUNNING: "accent",
    ErasureState.STOPPED: "danger",
    ErasureState.DONE: "success",
    ErasureState.REFUSED: "",
}
SENTENCES = {
    ErasureState.ASKED: "Waits for a second person to approve it.",
    ErasureState.APPROVED: "Is approved, and begins in a moment.",
    ErasureState.RUNNING: "Is being carried out.",
    ErasureState.STOPPED: "Is stopped by a legal hold; it goes on when that is released.",
    ErasureState.DONE: "Is done: nothing is left, and the receipt says so.",
    ErasureState.REFUSED: "Was refused; nothing was erased.",
}
HELD = "Is approved, and begins when the legal hold is released."
NOT_BEGUN = "Is stopped by a legal hold before it began: nothing was erased. It begins when that is released."
HOLDS = "The receipt holds: the signature is good, every question was asked again just now, and nothing is left."
ADDRESS = "admin:memories_erasurerequest_"


@admin.register(ErasureRequest)
class ErasureRequestAdmin(TenantScopedAdmin[ErasureRequest]):
    """A list, and a page for each request with its receipt."""

    empty_words = "No erasure was asked for. An administrator does that on the page of a member, under “Erase or hold”."
    roles = AUDITS
    list_display = ["asked", "member", "tenant", "how_it_stands", "erased", "asker", "decider", "finished_at"]
    list_display_links = None
    list_filter = ["state", ("tenant", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["tenant", "membership__user", "asked_by", "decided_by"]
    show_full_result_count = False
    search_fields = ["membership__user__username", "=id", "=membership__id"]
    search_help_text = "By member, or by the id of an erasure."
    ordering = ["-asked_at", "id"]
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - asked for on the member's pages
        return False

    def has_change_permission(self, request: HttpRequest, obj: ErasureRequest | None = None) -> bool:  # noqa: ARG002
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[ErasureRequest]:
        return super().get_queryset(request).select_related(*self.list_select_related)

    def get_urls(self) -> list[URLPattern]:
        """The list, and the pages of one request."""
        view, name = self.admin_site.admin_view, "memories_erasurerequest_"
        return [
            path("", view(self.changelist_view), name=f"{name}changelist"),
            path("<uuid:erasure_id>/", view(require_GET(self.page)), name=f"{name}change"),
            path("<uuid:erasure_id>/state/", view(require_GET(self.state)), name=f"{name}state"),
            path("<uuid:erasure_id>/decide/", view(require_POST(self.decide)), name=f"{name}decide"),
            path("<uuid:erasure_id>/verify/", view(require_POST(self.verify)), name=f"{name}verify"),
            path("<uuid:erasure_id>/receipt/", view(require_GET(self.receipt)), name=f"{name}receipt"),
        ]

    def page(self, request: HttpRequest, erasure_id: UUID) -> HttpResponse:
        """How a request stands, who decides, and the receipt."""
        erasure = self._row(request, erasure_id)
        title = {"title": "Erasure", **self.admin_site.each_context(request), "is_fullwidth": "1"}
        context = {**title, **self._context(request, erasure)}
        return TemplateResponse(request, "admin/memories/erasurerequest/page.html", context)

    def state(self, request: HttpRequest, erasure_id: UUID) -> HttpResponse:
        """The part that changes while it is carried out."""
        erasure = self._row(request, erasure_id)
        return TemplateResponse(request, "admin/memories/erasurerequest/_state.html", self._context(request, erasure))

    def decide(self, request: HttpRequest, erasure_id: UUID) -> HttpResponse:
        """Approve or refuse, whichever is said; nothing is done for a form that says neither."""
        erasure = self._row(request, erasure_id)
        if not self._may_decide(request, erasure):
            raise PermissionDenied("Only an administrator decides.")
        try:
            decision = request.POST.get("decision")
            if decision == "approve":
                approve_erasure(acting(request), request_id=erasure.pk)
                begins = HELD if on_hold(owner_of(erasure.membership)) else SENTENCES[ErasureState.APPROVED]
                self.message_user(request, f"The erasure {begins[0].lower()}{begins[1:]}", messages.SUCCESS)
            elif decision == "refuse":
                refuse_erasure(acting(request), request_id=erasure.pk, reason=request.POST.get("reason", ""))
                self.message_user(request, "The erasure is refused; nothing was erased.", messages.SUCCESS)
            else:
                self.message_user(request, "Nothing was decided: approve or refuse.", messages.ERROR)
        except (MemoriesError, TenantsError) as error:
            self.message_user(request, str(error), messages.ERROR)
        return HttpResponseRedirect(reverse(f"{ADDRESS}change", args=[erasure.pk]))

    def verify(self, request: HttpRequest, erasure_id: UUID) -> HttpResponse:
        """Check signature and digest, and ask every question of the receipt again, now; its page says the result."""
        erasure = self._done(request, erasure_id)
        verdict = verify_receipt(json.loads(json.dumps(download(erasure))))
        if verdict.ok:
            self.message_user(request, HOLDS, messages.SUCCESS)
        else:
            self.message_user(request, f"The receipt does not hold. {' '.join(verdict.troubles)}", messages.ERROR)
        return HttpResponseRedirect(reverse(f"{ADDRESS}change", args=[erasure.pk]))

    def receipt(self, request: HttpRequest, erasure_id: UUID) -> HttpResponse:
        """The receipt as a file, with digest and signature."""
        erasure = self._done(request, erasure_id)
        answer = HttpResponse(json.dumps(download(erasure), indent=2), content_type="application/json")
        answer["Content-Disposition"] = f'attachment; filename="erasure-{erasure.pk}.json"'
        answer["Cache-Control"] = "no-store"
        return answer

    @admin.display(description="asked", ordering="asked_at")
    def asked(self, erasure: ErasureRequest) -> SafeString:
        """When, as a link to its page."""
        address = reverse(f"{ADDRESS}change", args=[erasure.pk])
        return format_html('<a href="{}">{}</a>', address, stamp(erasure.asked_at))

    @admin.display(description="member")
    def member(self, erasure: ErasureRequest) -> str:
        """Whose memory; once it is erased, an id."""
        return named(erasure.membership.user) or ""

    @admin.display(description="asked by", ordering="asked_by__username")
    def asker(self, erasure: ErasureRequest) -> str | None:
        """Who asked for it."""
        return named(erasure.asked_by)

    @admin.display(description="decided by", ordering="decided_by__username")
    def decider(self, erasure: ErasureRequest) -> str | None:
        """Who approved or refused it."""
        return named(erasure.decided_by)

    @admin.display(description="state", ordering="state")
    def how_it_stands(self, erasure: ErasureRequest) -> str:
        """In a word."""
        return erasure.state

    @admin.display(description="rows erased")
    def erased(self, erasure: ErasureRequest) -> str:
        """Altogether, so far."""
        return f"{sum(erasure.progress.values()):,}"

    def _context(self, request: HttpRequest, erasure: ErasureRequest) -> dict[str, Any]:
        state = ErasureState(erasure.state)
        own = erasure.asked_by_id == signed_in(request).pk
        decides = self._may_decide(request, erasure)
        stages = list(STAGES)
        held = on_hold(owner_of(erasure.membership))
        return {
            "erasure": erasure,
            "member_name": erasure.membership.user.speaker,
            "sentence": _sentence(erasure, held=held),
            "pill": PILLS[state],
            "doing": STAGES.get(erasure.stage, ""),
            "step": stages.index(erasure.stage) + 1 if erasure.stage in STAGES else 0,
            "steps": len(stages),
            "counts": sorted(erasure.progress.items()),
            "held": held,
            "live": state in (ErasureState.APPROVED, ErasureState.RUNNING, ErasureState.STOPPED),
            "may_approve": decides and not own and state is ErasureState.ASKED,
            "may_refuse": decides and erasure.started_at is None and state is not ErasureState.REFUSED,
            "own": own and state is ErasureState.ASKED,
            "answers": _answers(erasure),
        }

    def _row(self, request: HttpRequest, erasure_id: UUID) -> ErasureRequest:
        if not self.may_enter(request):
            raise PermissionDenied
        found = self.get_queryset(request).filter(pk=erasure_id).first()
        if found is None:
            raise Http404("No such erasure.")
        return found

    def _done(self, request: HttpRequest, erasure_id: UUID) -> ErasureRequest:
        erasure = self._row(request, erasure_id)
        if not erasure.receipt_digest:
            raise Http404("There is no receipt yet.")
        return erasure

    def _may_decide(self, request: HttpRequest, erasure: ErasureRequest) -> bool:
        user = signed_in(request)
        return user.is_superuser or has_role(user, erasure.tenant_id, ADMINISTERS)


def _sentence(erasure: ErasureRequest, *, held: bool) -> str:
    """How it stands."""
    state = ErasureState(erasure.state)
    if state is ErasureState.STOPPED and erasure.started_at is None:
        return NOT_BEGUN
    return HELD if held and state is ErasureState.APPROVED else SENTENCES[state]


def _answers(erasure: ErasureRequest) -> list[dict[str, Any]]:
    """What the receipt asked, each with how many rows had been erased there."""
    counts = {**erasure.receipt.get("erased", {}), "copies": erasure.receipt.get("promoted_copies", 0)}
    return [{**each, "erased": counts.get(each["store"], "")} for each in erasure.receipt.get("asked", [])]
