"""Deciding reviews: a person answers what a machine found, and can take the answer back.

Invariant: an item is answered once, by a person (the member, an administrator of their tenant, platform staff), in one
transaction with all that follows from it; the trail of the memory's owner says who it was. An undo opens it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from memories.constants import MAX_MEMORY_CHARACTERS
from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text
from memories.models import ReviewDecision, ReviewItem, ReviewKind
from memories.selectors.reviews import UNANSWERED, is_decidable, review_to_decide
from memories.services import settling
from memories.services.ownership import owner_lock
from memories.services.reviews import AUDIT_KIND, subject
from memories.services.screening import Screen, screened_reason
from memories.services.settling import Wording
from memories.types import Scope
from tenants.audit import record_event
from tenants.errors import Forbidden
from tenants.principal import ActorKind, Principal

DECISIONS: Mapping[ReviewKind, tuple[ReviewDecision, ...]] = {
    ReviewKind.CONTRADICTION: (
        ReviewDecision.KEEP_ONE,
        ReviewDecision.KEEP_BOTH,
        ReviewDecision.MERGE,
        ReviewDecision.EDIT,
    ),
    ReviewKind.EVICTION: (ReviewDecision.EVICT, ReviewDecision.KEEP),
}
_PERSONS = (ActorKind.MEMBER, ActorKind.TOKEN, ActorKind.STAFF)
# Which words each decision stores.
_WORDS: Mapping[ReviewDecision, tuple[str, ...]] = {
    ReviewDecision.MERGE: ("text",),
    ReviewDecision.EDIT: ("first_text", "second_text"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person decides.

    `keep` names the fact that stays (keep_one); `never_true` says that what goes never was; `text` takes the place of
    both (merge), `first_text` and `second_text` of one each (edit; empty or unchanged: it stays).
    """

    decision: ReviewDecision
    keep: UUID | None = None
    never_true: bool = False
    text: str = ""
    first_text: str = ""
    second_text: str = ""
    reason: str = ""


def decide(principal: Principal, *, item_id: UUID, answer: Answer) -> ReviewItem:
    """Answer an open item, and do what follows.

    Raises NotFound, InvalidInput, Blocked (its words hold what is not stored), Forbidden (no person decides), Conflict
    (it was answered already, or there is nothing to decide any more); then nothing changes.
    """
    _require_person(principal)
    item = review_to_decide(principal, item_id)
    _check(item, answer)
    reason = screened_reason(principal, answer.reason)
    words = _words(principal, answer)
    with _locked(principal, item):
        item = review_to_decide(principal, item_id)
        _claim(item, answer.decision)
        outcome = _carry_out(principal, item, answer, words, reason)
        item.decision, item.outcome = answer.decision, outcome.to_json()
        item.decided_by_id, item.decided_at = _who(principal), timezone.now()
        item.save(update_fields=["decision", "outcome", "decided_by", "decided_at"])
        told = subject(item) | {"decision": str(answer.decision)} | outcome.to_json()
        _tell(principal, item, "review.decided", reason, told)
        return item


def undo_decision(principal: Principal, *, item_id: UUID, reason: str = "") -> ReviewItem:
    """Take an answer back: what it ended is believed again, as new rows, and the item is open again.

    Raises NotFound, InvalidInput, Forbidden, Conflict (it is not answered, or what followed was changed since).
    """
    _require_person(principal)
    item = review_to_decide(principal, item_id)
    reason = screened_reason(principal, reason)
    with _locked(principal, item):
        item = review_to_decide(principal, item_id)
        if item.decision in UNANSWERED:
            raise Conflict("It is not decided, so there is nothing to undo.")
        undone = str(item.decision)
        settling.take_back(principal, item, reason=reason or "undone")
        item.decision, item.outcome, item.decided_by_id, item.decided_at = ReviewDecision.OPEN, {}, None, None
        item.save()
        if not is_decidable(item):
            raise Conflict("What it was about has been replaced or removed since; undo that first.")
        _tell(principal, item, "review.undone", reason, subject(item) | {"decision": undone})
        return item


def _require_person(principal: Principal) -> None:
    if principal.actor_kind not in _PERSONS:
        raise Forbidden("A person decides this, not an agent.")


def _check(item: ReviewItem, answer: Answer) -> None:
    """Raise InvalidInput for an answer that does not fit the question."""
    possible = DECISIONS[ReviewKind(item.kind)]
    if answer.decision not in possible:
        raise InvalidInput("decision", f"must be one of {', '.join(possible)}.")
    if answer.decision is ReviewDecision.KEEP_ONE and answer.keep not in (item.first_id, item.second_id):
        raise InvalidInput("keep", "must be one of the two facts.")
    for name in _WORDS.get(answer.decision, ()):
        clean_text(getattr(answer, name), field=name, limit=MAX_MEMORY_CHARACTERS, required=name == "text")


def _words(principal: Principal, answer: Answer) -> dict[str, Wording]:
    """What the answer stores, screened before any lock is held: a refusal is noted, whatever becomes of the rest."""
    screen = Screen(principal)
    words = {}
    for name in _WORDS.get(answer.decision, ()):
        text = getattr(answer, name)
        if text.strip():
            stored, marks = screen.memory({name: text})
            words[name] = Wording(name, stored[name], marks)
    return words


@contextmanager
def _locked(principal: Principal, item: ReviewItem) -> Iterator[None]:
    with owner_lock(principal, Scope.TENANT if item.user_id is None else Scope.USER):
        yield


def _claim(item: ReviewItem, decision: ReviewDecision) -> None:
    """Make it answered, before what follows would withdraw it. Raises Conflict."""
    if item.decision not in UNANSWERED:
        raise Conflict("This was settled already. Undo that decision to decide anew.")
    if not is_decidable(item):
        raise Conflict("There is nothing to decide any more: what it was about has been replaced or removed since.")
    ReviewItem.objects.filter(pk=item.pk).update(decision=decision)


def _carry_out(
    principal: Principal, item: ReviewItem, answer: Answer, words: Mapping[str, Wording], reason: str
) -> settling.Outcome:
    because = reason or "settled in a review"
    steps: dict[ReviewDecision, Callable[[], settling.Outcome]] = {
        ReviewDecision.KEEP_ONE: lambda: settling.keep_one(
            principal, item, kept_id=answer.keep, never_true=answer.never_true, reason=because
        ),
        ReviewDecision.KEEP_BOTH: lambda: settling.keep_both(principal, item, reason=because),
        ReviewDecision.MERGE: lambda: settling.merge(
            principal, item, words["text"], never_true=answer.never_true, reason=because
        ),
        ReviewDecision.EDIT: lambda: settling.edit(
            principal, item, words, never_true=answer.never_true, reason=because
        ),
        ReviewDecision.EVICT: lambda: settling.evict(principal, item, reason=because),
        ReviewDecision.KEEP: lambda: settling.keep(principal, item, reason=because),
    }
    return steps[answer.decision]()


def _who(principal: Principal) -> UUID | None:
    """The user who decided: staff by themselves, a token for its member."""
    return principal.actor_id if principal.actor_kind is ActorKind.STAFF else principal.user_id


def _tell(principal: Principal, item: ReviewItem, action: str, reason: str, after: Mapping[str, Any]) -> None:
    record_event(principal, action=action, target_kind=AUDIT_KIND, target_id=item.pk, reason=reason, after=dict(after))
