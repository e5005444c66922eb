"""The page of one review: the memories with their source and history, and the forms that decide it.

Opening it writes a read event to the owner's audit log first. Staff without the right to decide for the tenant can only
read. `services/reviews/decisions` makes every decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from memories.errors import Blocked, InvalidInput
from memories.hygiene.ageing import AGE_WEIGHT, CONTRADICTION_WEIGHT, DISUSE_WEIGHT, age, disuse, staleness
from memories.hygiene.sensitivity import findings
from memories.models import Fact, ReviewDecision, ReviewItem, ReviewKind
from memories.presenting.lines import state_word
from memories.presenting.memory import compared, source_words
from memories.presenting.reasons import reason_words
from memories.selectors.history.stories import event_reason, supporting_episodes
from memories.selectors.memories import chain_of, history_of
from memories.selectors.retention import rows_of, standing_of, surroundings_of, use_by
from memories.selectors.reviews import UNANSWERED, events_of_review, is_decidable
from memories.services.admin_requests import note_review_read, note_shared_review_read
from memories.services.reviews.decisions import ReviewChoice, decide, undo_decision
from memories.services.screening import Screen
from memories.staff.base import REFUSALS, TenantObjectView, purpose_of, refusal_words
from memories.types import Owner
from memoryhub.languages import gettext_lazy, number
from memoryhub.redirects import next_address
from tenants.admin.scoping import acting, signed_in
from tenants.audit.fields import field_words, value_words
from tenants.errors import Forbidden, NoMembership, TenantsError
from tenants.middleware import request_id_of
from tenants.models import Membership, User
from tenants.principal import ActorKind, Principal
from tenants.principals import STAFF_ROLES, principal_of, reading_principal, staff_principal
from tenants.selectors import active_memberships, administers, has_active_member

_WORDS = ("text", "first_text", "second_text", "reason")
_DONE: Mapping[ReviewDecision, str] = {
    ReviewDecision.KEEP_ONE: gettext_lazy("One fact was kept; the other one is superseded by it."),
    ReviewDecision.KEEP_BOTH: gettext_lazy("Both facts were kept."),
    ReviewDecision.MERGE: gettext_lazy("The new wording replaced both facts."),
    ReviewDecision.EDIT: gettext_lazy("The facts were reworded."),
    ReviewDecision.EVICT: gettext_lazy("The memory was evicted."),
    ReviewDecision.KEEP: gettext_lazy("The memory was kept."),
}


QUESTIONS: Mapping[ReviewKind, str] = {
    ReviewKind.CONTRADICTION: gettext_lazy("Which one holds?"),
    ReviewKind.EVICTION: gettext_lazy("Should it go?"),
    ReviewKind.CORRECTION: gettext_lazy("Is the correction right?"),
}


class AnswerForm(forms.Form):
    """A decision as the page submits it; the service validates the wording."""

    decision = forms.ChoiceField(choices=[(each.value, each.value) for each in ReviewDecision])
    keep = forms.UUIDField(required=False)
    never_true = forms.BooleanField(required=False)
    text = forms.CharField(required=False)
    first_text = forms.CharField(required=False)
    second_text = forms.CharField(required=False)
    reason = forms.CharField(required=False)

    @property
    def answer(self) -> ReviewChoice:
        """The decision for the service. Raises InvalidInput for an invalid form."""
        if not self.is_valid():
            raise InvalidInput("decision", _("must be one of those on the page."))
        given = self.cleaned_data
        words = {name: given[name].replace("\r\n", "\n") for name in _WORDS}
        return ReviewChoice(
            ReviewDecision(given["decision"]), keep=given["keep"], never_true=given["never_true"], **words
        )


def review_url(item_id: UUID) -> str:
    """The URL of a review."""
    return reverse("staff:review", args=[item_id])


class ReviewItemPage(TenantObjectView[ReviewItem]):
    """The page of a review; POST decides it and, with `next`, goes back to the page that has the form."""

    roles = STAFF_ROLES
    template_name = "admin/memories/reviewitem/review.html"
    context_object_name = "item"

    def rows(self) -> QuerySet[ReviewItem]:
        return ReviewItem.objects.unscoped("staff look at their tenants").filter(Q(user=None) | has_active_member())

    def get(self, request: HttpRequest, **__: object) -> HttpResponse:  # noqa: ARG002
        return self.show()

    def post(self, request: HttpRequest, **__: object) -> HttpResponse:
        item, form = self.object, AnswerForm(request.POST)
        try:
            answer = form.answer
            decide(decider(request, item), item_id=item.pk, answer=answer)
        except InvalidInput as error:
            return self.show(error=refusal_words(error), given=_given(form))
        except Blocked as error:
            screen = Screen(decider(request, item))
            given = {name: screen.said(text).text for name, text in _given(form).items()}
            return self.show(error=findings.refusal(error, to_people=True), given=given)
        except REFUSALS as error:
            self.refuse(error)
        else:
            undo = format_html('<a href="{}#undo">{}</a>', review_url(item.pk), _("Undo"))
            self.success(format_html("{} {}", _DONE[answer.decision], undo))
        return HttpResponseRedirect(next_address(request, review_url(item.pk)))

    def show(self, *, error: str = "", given: Mapping[str, str] | None = None) -> HttpResponse:
        """Render the memories and the forms; `given` refills a refused form, and `error` says why it was refused."""
        item = self.object
        try:
            principal = reader(self.request, item)
        except TenantsError as refused:
            raise PermissionDenied(str(refused)) from refused
        return self.render(
            status=400 if error else 200,
            title=_(QUESTIONS[ReviewKind(item.kind)]),
            sides=sides_of(principal, item),
            evidence=evidence(item),
            parts=parts_of(item, now=timezone.now()),
            # Read events would crowd out the decisions.
            events=[(each, event_reason(each)) for each in events_of_review(item).exclude(action="review.read")],
            open=is_decidable(item),
            may_decide=may_decide(self.staff, item),
            answered=item.decision not in UNANSWERED,
            error=error,
            given=given or {},
        )


class UndoReview(ReviewItemPage):
    """POST: undo a decision."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, **__: object) -> HttpResponse:
        item = self.object
        with self.refusals_shown():
            undo_decision(decider(request, item), item_id=item.pk)
            evicted = item.decision == ReviewDecision.EVICT
            if evicted and item.first_id:
                done = _(
                    "Undone: the memory is recalled again, and the review is open. It counts as confirmed just now."
                )
            elif evicted:
                done = _("Undone: the memory is recalled again, and the review is open.")
            else:
                done = _("Undone: all is as it was, and the review is open.")
            self.success(done)
        return HttpResponseRedirect(review_url(item.pk))


def _given(form: AnswerForm) -> dict[str, str]:
    return {name: str(form[name].value() or "") for name in (*_WORDS, "decision")}


def reader(request: HttpRequest, item: ReviewItem) -> Principal | None:
    """Write the read event and return the principal that reads the item. Raises Forbidden, NoMembership.

    The result is None for shared memory if the reader is no active member of the tenant.
    """
    if item.user_id is None:
        note_shared_review_read(acting(request), item)
        own = _membership(item, signed_in(request))
        return None if own is None else _in_person(request, own)
    owner = _owner(item)
    principal = reading_principal(
        owner, staff=signed_in(request), request_id=request_id_of(request), purpose=purpose_of(request, owner)
    )
    note_review_read(principal, item)
    return principal


def decider(request: HttpRequest, item: ReviewItem) -> Principal:
    """The principal that decides an item. Raises Forbidden, NoMembership."""
    if item.user_id is None:
        own = _membership(item, signed_in(request))
        if own is None or not administers(signed_in(request), item.tenant_id):
            raise Forbidden(_("Only an administrator of the tenant decides about what it shares."))
        return _in_person(request, own)
    return staff_principal(_owner(item), staff=signed_in(request), request_id=request_id_of(request))


def may_decide(user: User, item: ReviewItem) -> bool:
    """Whether this user may decide the item: the member alone decides a correction."""
    if item.kind == ReviewKind.CORRECTION:
        return False
    return administers(user, item.tenant_id) or (user.is_superuser and item.user_id is not None)


def _owner(item: ReviewItem) -> Membership:
    found = active_memberships().filter(tenant=item.tenant_id, user=item.user_id).first()
    if found is None:
        raise NoMembership(_("This member is not active."))
    return found


def _membership(item: ReviewItem, user: User) -> Membership | None:
    return active_memberships().filter(tenant=item.tenant_id, user=user.id).first()


def _in_person(request: HttpRequest, membership: Membership) -> Principal:
    return principal_of(membership, actor_kind=ActorKind.MEMBER, request_id=request_id_of(request))


def sides_of(principal: Principal | None, item: ReviewItem) -> list[dict[str, Any]]:
    """The memories of an item with source and history; without a principal, only the memories and their source."""
    found = compared(item)
    names = (_("The older one"), _("The newer one")) if len(found) > 1 else ("",)
    sides = []
    for (row, pieces), name in zip(found, names, strict=True):
        side: dict[str, Any] = {
            "row": row,
            "name": name,
            "pieces": pieces,
            "state": state_word(row),
            "source": source_words(row, staff=True),
        }
        if principal is not None:
            episodes = supporting_episodes(principal, [row.pk]).get(row.pk, ()) if isinstance(row, Fact) else ()
            events = history_of(principal, [row.pk]) if row.user_id else ()
            side |= {
                "episodes": episodes,
                "chain": chain_of(principal, row.kind, row.pk),
                "events": [(each, reason_words(event_reason(each))) for each in events],
            }
        sides.append(side)
    return sides


def evidence(item: ReviewItem) -> list[tuple[str, str]]:
    """The evidence for which the review was opened, as labels and values."""
    return [(capfirst(field_words(name)), _value(name, value)) for name, value in item.evidence.items()]


def parts_of(item: ReviewItem, *, now: datetime) -> list[tuple[str, float, float | None]]:
    """The current staleness of the memory: name, value and weight of each component, and the total with weight None.

    Empty for a memory that was proposed for eviction for another reason.
    """
    row = item.first or item.playbook
    found = rows_of(row.kind, [row.pk]) if row is not None and "staleness" in item.evidence else []
    if not found:
        return []
    owner = Owner(item.tenant_id, item.user_id)
    standing = standing_of(found[0], surroundings_of(owner, use_by(owner, now)), now=now)
    unused = disuse(standing.uses, standing.since, now=now) if standing.asked else 0.0
    return [
        (_("Age"), age(standing.confirmed_at, standing.due_at, now=now), AGE_WEIGHT),
        (_("Disuse"), unused, DISUSE_WEIGHT),
        (_("Open contradiction"), float(standing.contradicted), CONTRADICTION_WEIGHT),
        (_("Staleness now"), staleness(standing, now=now), None),
    ]


def _value(name: str, value: object) -> str:
    return number(value, 2) if isinstance(value, float) else value_words(name, str(value))
