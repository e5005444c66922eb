"""Pages for erasures and legal holds: request, approval, refusal, progress, receipt, and release.

Administrators decide and auditors read. The pages show counts, ids and times, never the text of a memory.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timeuntil
from django.utils.translation import gettext as _
from django.views.generic.edit import FormMixin, ProcessFormView

from memories.models import OPEN_ERASURES, ErasureRequest, LegalHold, RequestState
from memories.selectors.erasure import holds_on, latest_request, on_hold, owner_of
from memories.services.admin_requests import REASON_CHARACTERS
from memories.services.approvals import needs_second, staff_rules
from memories.services.erasure.receipt import download, verify_receipt
from memories.services.erasure.requests import approve_erasure, ask_erasure, place_hold, refuse_erasure, release_hold
from memories.services.erasure.stages import STAGES
from memories.services.erasure.stores import OUTBOX, STORES
from memories.staff.base import REFUSALS, MemberView, StaffView, TenantObjectView, may_see
from memoryhub.languages import gettext_lazy
from tenants.models import Tenant
from tenants.principal import ADMINISTERS, AUDITS
from tenants.selectors import tenant_ids_of

_HOUR = timedelta(hours=1)
# The page of an approved erasure refreshes itself from so long before it begins.
_SOON = timedelta(minutes=10)
PILLS = {
    RequestState.ASKED: "warning",
    RequestState.APPROVED: "accent",
    RequestState.RUNNING: "accent",
    RequestState.STOPPED: "danger",
    RequestState.DONE: "success",
    RequestState.REFUSED: "",
}
SENTENCES = {
    RequestState.ASKED: gettext_lazy("Waits for a second person to approve it."),
    RequestState.APPROVED: gettext_lazy("Is approved, and begins in a moment."),
    RequestState.RUNNING: gettext_lazy("Is being carried out."),
    RequestState.STOPPED: gettext_lazy("Is stopped by a legal hold; it continues when the hold is released."),
    RequestState.DONE: gettext_lazy("Is done: nothing is left, and the receipt says so."),
    RequestState.REFUSED: gettext_lazy("Was refused; nothing was erased."),
}
HELD = gettext_lazy("Is approved, and begins when the legal hold is released.")
NOT_BEGUN = gettext_lazy(
    "Is stopped by a legal hold before it began: nothing was erased. It begins when the hold is released."
)
# What an erasure counts, by its name in the receipt.
COUNTED = {store.name: gettext_lazy(store.noun) for store in (*STORES, OUTBOX)} | {
    "tokens": gettext_lazy("API tokens"),
    "keys": gettext_lazy("search keys"),
    "logins": gettext_lazy("signed-in browsers"),
    "copies": gettext_lazy("copies of their memories that others could read"),
    "hygiene": gettext_lazy("marks of how far a scan had come with them"),
    "payloads": gettext_lazy("texts in their own audit log"),
    "payloads_elsewhere": gettext_lazy("texts about them in other audit logs"),
    "names": gettext_lazy("their names, addresses and ids elsewhere"),
    "access": gettext_lazy("ways to sign in or act as them"),
    "index": gettext_lazy("their entries in the search index"),
    "index_check": gettext_lazy("differences between search index and database"),
}
HOLDS = gettext_lazy(
    "The receipt holds: the signature is good, every question was asked again just now, and nothing is left."
)


class ErasureReasonForm(forms.Form):
    """The reason for a request or decision; the service validates it."""

    reason = forms.CharField(required=False, strip=False)


class EraseForm(ErasureReasonForm):
    """A request to erase a member; `sure` repeats the username as confirmation."""

    sure = forms.CharField(required=False)


class ErasureDecisionForm(ErasureReasonForm):
    """The decision to approve or refuse an erasure, with a reason."""

    decision = forms.ChoiceField(choices=[("approve", gettext_lazy("Approve")), ("refuse", gettext_lazy("Refuse"))])


class MemberErasure(MemberView):
    """The holds on a member, the latest erasure request, and the forms that an administrator may submit."""

    roles = ADMINISTERS
    tab = "erasure"
    title = gettext_lazy("Erase or hold")
    template_name = "admin/memories/member/erasure.html"

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return self.shown()

    def shown(self, *, reason: str = "", status: int = 200) -> HttpResponse:
        """The page; `reason` gives back what was typed into a form that was refused."""
        member = self.member
        holds = list(holds_on(owner_of(member)).select_related("placed_by").order_by("placed_at"))
        erasure = latest_request(member.pk)
        begun = erasure is not None and erasure.started_at is not None
        gone = erasure is not None and erasure.state == RequestState.DONE
        return self.render(
            status=status,
            reason=reason,
            holds=holds,
            erasure=erasure,
            may_ask=not begun and (erasure is None or erasure.state not in OPEN_ERASURES),
            gone=gone,
            may_hold=not gone and not any(hold.user_id for hold in holds),
            second=needs_second(member.tenant_id, self.staff),
            delay=staff_rules(member.tenant_id).erasure_delay // _HOUR,
            most=REASON_CHARACTERS,
        )


class AskErasure(MemberErasure):
    """POST: request the erasure of the member; it is approved at once unless it needs a second person.

    A refusal comes back as the page of the form; GET leads there.
    """

    confirmed = True

    def get(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return self.redirect("erasure")

    def post(self, request: HttpRequest) -> HttpResponse:
        form = EraseForm(request.POST)
        if form.is_valid() and form.cleaned_data["sure"].split() == str(self.member.user).split():
            with self.refusals_shown():
                erasure = ask_erasure(self.actor, membership_id=self.member.pk, reason=form.cleaned_data["reason"])
                self.success(_report(erasure))
                return HttpResponseRedirect(reverse("staff:erasure_request", args=[erasure.pk]))
        else:
            self.refuse(_("Nothing was erased or asked for: write the member's name as it is shown to confirm it."))
        return self.shown(reason=form.data.get("reason", ""), status=400)


class HoldMember(MemberView):
    """POST: place a legal hold on the member."""

    http_method_names = ["post"]
    roles = ADMINISTERS

    def post(self, request: HttpRequest) -> HttpResponse:
        held = {"tenant_id": self.member.tenant_id, "membership_id": self.member.pk}
        with self.refusals_shown():
            place_hold(self.actor, **held, reason=_reason(request))
            self.success(_("From now on nothing of this member is erased or expires."))
        return self.redirect("erasure")


class ErasureRequestView(TenantObjectView[ErasureRequest]):
    """The state of an erasure request, the decision form, and the receipt."""

    roles = AUDITS
    title = gettext_lazy("Erasure")
    template_name = "admin/memories/erasurerequest/page.html"
    context_object_name = "erasure"

    def enter(self) -> None:
        super().enter()
        self.may_decide = may_see(self.staff, self.object.tenant_id, ADMINISTERS)

    def rows(self) -> QuerySet[ErasureRequest]:
        return ErasureRequest.objects.select_related("tenant", "membership__user", "asked_by", "decided_by")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        erasure = self.object
        state = RequestState(erasure.state)
        own = erasure.asked_by_id == self.staff.pk
        stages = list(STAGES)
        held = on_hold(owner_of(erasure.membership))
        return super().get_context_data(
            member_name=erasure.membership.user.shown_name,
            sentence=_sentence(erasure, held=held),
            pill=PILLS[state],
            doing=STAGES.get(erasure.stage, ""),
            step=stages.index(erasure.stage) + 1 if erasure.stage in STAGES else 0,
            steps=len(stages),
            counts=sorted((COUNTED.get(name, name), count) for name, count in erasure.progress.items()),
            held=held,
            live=state in (RequestState.APPROVED, RequestState.RUNNING, RequestState.STOPPED)
            and _left(erasure) < _SOON,
            waits=state is RequestState.APPROVED and bool(_left(erasure)),
            may_approve=self.may_decide and not own and state is RequestState.ASKED,
            may_refuse=self.may_decide and erasure.started_at is None and state is not RequestState.REFUSED,
            own=own and state is RequestState.ASKED,
            answers=_answers(erasure),
            **kwargs,
        )

    def redirect(self) -> HttpResponse:
        """Redirect to the page of the request."""
        return HttpResponseRedirect(reverse("staff:erasure_request", args=[self.object.pk]))


class DecideErasure(ErasureRequestView):
    """POST: approve or refuse a request; an invalid form changes nothing."""

    http_method_names = ["post"]
    confirmed = True

    def post(self, request: HttpRequest, **__: object) -> HttpResponse:
        if not self.may_decide:
            raise PermissionDenied(_("Only an administrator decides."))
        form = ErasureDecisionForm(request.POST)
        if not form.is_valid():
            self.refuse(_("Nothing was decided: approve or refuse."))
            return self.redirect()
        with self.refusals_shown():
            if form.cleaned_data["decision"] == "approve":
                approve_erasure(self.actor, request_id=self.object.pk)
                self.object.refresh_from_db()
                self.success(_report(self.object))
            else:
                refuse_erasure(self.actor, request_id=self.object.pk, reason=form.cleaned_data["reason"])
                self.success(_("The erasure is refused; nothing was erased."))
        return self.redirect()


class ErasureReceipt(ErasureRequestView):
    """The receipt as a JSON file with its digest and signature. Raises Http404 before the receipt exists."""

    def enter(self) -> None:
        super().enter()
        if not self.object.receipt_digest:
            raise Http404("There is no receipt yet.")

    def get(self, request: HttpRequest, **__: object) -> HttpResponse:  # noqa: ARG002
        answer = HttpResponse(json.dumps(download(self.object), indent=2), content_type="application/json")
        answer["Content-Disposition"] = f'attachment; filename="erasure-{self.object.pk}.json"'
        answer["Cache-Control"] = "no-store"
        return answer


class VerifyReceipt(ErasureReceipt):
    """POST: check the signature and digest of the receipt, and repeat each of its queries."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, **__: object) -> HttpResponse:  # noqa: ARG002
        verdict = verify_receipt(json.loads(json.dumps(download(self.object))))
        if verdict.ok:
            self.success(HOLDS)
        else:
            self.refuse(_("The receipt does not hold. %(why)s") % {"why": " ".join(verdict.troubles)})
        return self.redirect()


class LegalHoldView(TenantObjectView[LegalHold]):
    """One legal hold, with a release form for administrators."""

    roles = AUDITS
    title = gettext_lazy("Legal hold")
    template_name = "admin/memories/legalhold/hold.html"
    context_object_name = "hold"

    def enter(self) -> None:
        super().enter()
        self.may_release = may_see(self.staff, self.object.tenant_id, ADMINISTERS)

    def rows(self) -> QuerySet[LegalHold]:
        return LegalHold.objects.select_related("tenant", "user", "placed_by", "released_by")

    def get(self, request: HttpRequest, **__: object) -> HttpResponse:  # noqa: ARG002
        return self.render(may_release=self.may_release)


class ReleaseHold(LegalHoldView):
    """POST: release a legal hold."""

    http_method_names = ["post"]
    confirmed = True

    def post(self, request: HttpRequest, **__: object) -> HttpResponse:
        if not self.may_release:
            raise PermissionDenied(_("Only an administrator releases a legal hold."))
        with self.refusals_shown():
            release_hold(self.actor, hold_id=self.object.pk, reason=_reason(request))
            self.success(_("The hold is released."))
        return HttpResponseRedirect(reverse("staff:legal_hold", args=[self.object.pk]))


class HoldTenantForm(ErasureReasonForm):
    """A tenant that the reader administers, and the reason for the hold."""

    tenant = forms.ModelChoiceField(Tenant.objects.none(), empty_label=None)


class HoldTenant(FormMixin[HoldTenantForm], ProcessFormView, StaffView):
    """Place a legal hold on a whole tenant. A tenant that the reader does not administer gives a 404."""

    roles = ADMINISTERS
    title = gettext_lazy("Legal hold")
    template_name = "admin/memories/legalhold/place.html"
    form_class = HoldTenantForm

    def get_form(self, form_class: type[HoldTenantForm] | None = None) -> HoldTenantForm:
        form = super().get_form(form_class)
        tenants = Tenant.objects.order_by("name")
        if not self.staff.is_superuser:
            tenants = tenants.filter(pk__in=tenant_ids_of(self.staff, ADMINISTERS))
        cast("forms.ModelChoiceField[Tenant]", form.fields["tenant"]).queryset = tenants
        return form

    def form_valid(self, form: HoldTenantForm) -> HttpResponse:
        given = form.cleaned_data
        try:
            hold = place_hold(self.actor, tenant_id=given["tenant"].pk, reason=given["reason"])
        except REFUSALS as error:
            self.refuse(error)
            return self.render(form=form, status=400)
        self.success(_("From now on nothing of this tenant is erased or expires."))
        return HttpResponseRedirect(reverse("staff:legal_hold", args=[hold.pk]))

    def form_invalid(self, form: HoldTenantForm) -> HttpResponse:  # noqa: ARG002
        raise Http404("No such tenant.")


def _reason(request: HttpRequest) -> str:
    form = ErasureReasonForm(request.POST)
    return form.cleaned_data["reason"] if form.is_valid() else ""


def _sentence(erasure: ErasureRequest, *, held: bool) -> str:
    """The state of the request as a sentence without its subject."""
    state = RequestState(erasure.state)
    if state is RequestState.STOPPED and erasure.started_at is None:
        return NOT_BEGUN
    if state is RequestState.APPROVED and held:
        return HELD
    if state is RequestState.APPROVED and (left := _left(erasure)):
        return _("Is approved, and begins in %(time)s. Until then it can be withdrawn.") % {
            "time": timeuntil(timezone.now() + left)
        }
    return str(SENTENCES[state])


def _report(erasure: ErasureRequest) -> str:
    """The state of the request as a sentence for the message after a decision."""
    sentence = _sentence(erasure, held=on_hold(owner_of(erasure.membership)))
    return _("The erasure %(state)s") % {"state": f"{sentence[0].lower()}{sentence[1:]}"}


def _left(erasure: ErasureRequest) -> timedelta:
    """The time until an approved erasure may begin; zero once it may."""
    nothing = timedelta(0)
    return max(nothing, erasure.begins_at - timezone.now()) if erasure.begins_at else nothing


def _answers(erasure: ErasureRequest) -> list[dict[str, Any]]:
    """The queries that the receipt records, in plain words, each with the number of rows erased from that store."""
    counts = {**erasure.receipt.get("erased", {}), "copies": erasure.receipt.get("promoted_copies", 0)}
    return [
        {**each, "words": COUNTED.get(each["store"], each["query"]), "erased": counts.get(each["store"], "")}
        for each in erasure.receipt.get("asked", [])
    ]
