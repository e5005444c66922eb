"""Decisions on reviews: a person decides what a machine found or support proposed, and can undo the decision.

An item is decided once, by the member, an administrator of their tenant or platform staff, in one transaction with all
consequences. A correction that support proposed is decided by the member alone. The owner's audit log names the person.
An undo opens the item again.

A decision supersedes or evicts memories in the usual way. Its undo closes the rows that it wrote as never true, and
stores the ended rows again as new ones (ADR 10).

An item's `outcome` holds ids and dates, no texts: `steps`, the supersessions (`ended`, their successor `by`, and
whether the decision `wrote` it); `confirmed`, the earlier dates of confirmed facts; `evicted`; `retired`; and `pair`,
the two facts that now both hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from memories.constants import MAX_MEMORY_CHARACTERS
from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text, content_hash
from memories.models import CaseState, Fact, Playbook, ReviewDecision, ReviewItem, ReviewKind
from memories.selectors.reviews import UNANSWERED, is_decidable, review_to_decide
from memories.services.contradictions.settling import resolve
from memories.services.facts.closing import Supersedable, close, record_ended, same_wording
from memories.services.facts.drafts import FactDraft, draft_of
from memories.services.facts.remember import write_fact
from memories.services.facts.undo import bring_back
from memories.services.retention.collection import restore
from memories.services.retention.dates import confirm_row
from memories.services.reviews.queue import AUDIT_KIND, set_case_state, subject, withdraw
from memories.services.screening import Screen, screened_reason
from memories.services.write import Write, owner_columns, write
from memories.types import CONFIDENCE_OF_SOURCE, CURRENT, Contradiction, Scope, Source, Status, WriteResult
from tenants.errors import Forbidden
from tenants.principal import ActorKind, Principal

_DATES = ("last_verified_at", "review_after", "expires_at")
NOTHING_TO_DECIDE = gettext_noop("This review has nothing to decide any more.")


@dataclass(frozen=True, slots=True)
class Wording:
    """A screened text for a fact, its field in the request, and its sensitivity marks."""

    field: str
    text: str
    marks: Mapping[str, str]


DECISIONS: Mapping[ReviewKind, tuple[ReviewDecision, ...]] = {
    ReviewKind.CONTRADICTION: (
        ReviewDecision.KEEP_ONE,
        ReviewDecision.KEEP_BOTH,
        ReviewDecision.MERGE,
        ReviewDecision.EDIT,
    ),
    ReviewKind.EVICTION: (ReviewDecision.EVICT, ReviewDecision.KEEP),
    ReviewKind.CORRECTION: (ReviewDecision.ACCEPT, ReviewDecision.KEEP),
}
_PERSONS = (ActorKind.MEMBER, ActorKind.TOKEN, ActorKind.KEY, ActorKind.STAFF)
# The text fields that each decision stores.
_WORDS: Mapping[ReviewDecision, tuple[str, ...]] = {
    ReviewDecision.MERGE: ("text",),
    ReviewDecision.EDIT: ("first_text", "second_text"),
    ReviewDecision.ACCEPT: ("text",),
}


@dataclass(frozen=True, slots=True)
class ReviewChoice:
    """A person's decision.

    `keep` names the fact that stays (keep_one). `never_true`: the facts that end never were true. `text` replaces both
    facts (merge); `first_text` and `second_text` replace one each (edit; empty or unchanged keeps the fact).
    """

    decision: ReviewDecision
    keep: UUID | None = None
    never_true: bool = False
    text: str = ""
    first_text: str = ""
    second_text: str = ""
    reason: str = ""


def decide(principal: Principal, *, item_id: UUID, answer: ReviewChoice) -> ReviewItem:
    """Decide an open item and apply the consequences.

    Raises NotFound, InvalidInput, Blocked (the new text holds forbidden values), Forbidden (the principal is not a
    person), Conflict (already decided, or nothing is left to decide); then nothing changes.
    """
    _require_person(principal)
    item = review_to_decide(principal, item_id)
    _require_own(principal, item)
    if answer.decision is ReviewDecision.ACCEPT:
        answer = replace(answer, text=item.proposed, never_true=bool(item.proposed))
    _check(item, answer)
    reason = screened_reason(principal, answer.reason)
    words = _words(principal, answer)
    with write(principal, _scope_of(item)) as w:
        item = review_to_decide(principal, item_id)
        _claim(item, answer.decision)
        outcome = _Deciding(w, item, answer, words, reason or "settled in a review").carry_out()
        item.decision, item.outcome = answer.decision, {name: value for name, value in outcome.items() if value}
        item.decided_by_id, item.decided_at = _who(principal), timezone.now()
        item.save(update_fields=["decision", "outcome", "decided_by", "decided_at"])
        after = subject(item) | {"decision": str(answer.decision)} | item.outcome
        w.audit("review.decided", target_kind=AUDIT_KIND, target_id=item.pk, reason=reason, after=after)
        set_case_state(w, item, CaseState.CLOSED if item.decision == ReviewDecision.ACCEPT else CaseState.OPEN)
        return item


def undo_decision(principal: Principal, *, item_id: UUID, reason: str = "") -> ReviewItem:
    """Undo a decision: the memories that it ended are restored as new rows, and the item is open again.

    Raises NotFound, InvalidInput, Forbidden, Conflict (it is not decided, its results have changed since, or
    another correction of its fact is open).
    """
    _require_person(principal)
    item = review_to_decide(principal, item_id)
    _require_own(principal, item)
    reason = screened_reason(principal, reason)
    with write(principal, _scope_of(item)) as w:
        item = review_to_decide(principal, item_id)
        if item.decision in UNANSWERED:
            raise Conflict(_("This review is not decided, so there is nothing to undo."))
        undone = str(item.decision)
        take_back(w, item, reason=reason or "undone")
        item.decision, item.outcome, item.decided_by_id, item.decided_at = ReviewDecision.OPEN, {}, None, None
        if _asked_again(item):
            raise Conflict(_("Another correction of this memory waits for an answer; answer that first."))
        item.save()
        if not is_decidable(item):
            raise Conflict(_("The memories of this review have been replaced or removed since; undo that first."))
        after = subject(item) | {"decision": undone}
        w.audit("review.undone", target_kind=AUDIT_KIND, target_id=item.pk, reason=reason, after=after)
        set_case_state(w, item, CaseState.WAITING)
        return item


def _asked_again(item: ReviewItem) -> bool:
    """Whether another correction of the item's fact is open."""
    rows = ReviewItem.objects.unscoped("rows by ids under the lock").filter(
        kind=ReviewKind.CORRECTION, decision=ReviewDecision.OPEN, first=item.first_id
    )
    return item.kind == ReviewKind.CORRECTION and rows.exclude(pk=item.pk).exists()


def _require_person(principal: Principal) -> None:
    if principal.actor_kind not in _PERSONS:
        raise Forbidden(_("A person decides reviews, not an agent."))


def _require_own(principal: Principal, item: ReviewItem) -> None:
    """Raise Forbidden if staff would decide a correction that staff proposed."""
    if item.kind == ReviewKind.CORRECTION and principal.actor_kind is ActorKind.STAFF:
        raise Forbidden(_("Only the member decides a correction that support proposed."))


def _check(item: ReviewItem, answer: ReviewChoice) -> None:
    """Raise InvalidInput for an answer that does not fit the question."""
    possible = DECISIONS[ReviewKind(item.kind)]
    if answer.decision not in possible:
        raise InvalidInput("decision", _("must be one of %(names)s.") % {"names": ", ".join(possible)})
    if answer.decision is ReviewDecision.KEEP_ONE and answer.keep not in (item.first_id, item.second_id):
        raise InvalidInput("keep", _("must be one of the two facts."))
    for name in _WORDS.get(answer.decision, ()):
        clean_text(
            getattr(answer, name),
            field=name,
            limit=MAX_MEMORY_CHARACTERS,
            required=answer.decision is ReviewDecision.MERGE,
        )


def _words(principal: Principal, answer: ReviewChoice) -> dict[str, Wording]:
    """The answer's texts, screened before the lock so that a refusal is recorded although nothing else is stored."""
    screen = Screen(principal)
    words = {}
    for name in _WORDS.get(answer.decision, ()):
        text = getattr(answer, name)
        if text.strip():
            stored, marks = screen.memory({name: text})
            words[name] = Wording(name, stored[name], marks)
    return words


def _claim(item: ReviewItem, decision: ReviewDecision) -> None:
    """Mark the item as decided first, because ending its memories would withdraw an open one. Raises Conflict."""
    if item.decision not in UNANSWERED:
        raise Conflict(_("This review was decided already. Undo that decision to decide anew."))
    if not is_decidable(item):
        raise Conflict(
            _("This review has nothing to decide any more: its memories have been replaced or removed since.")
        )
    ReviewItem.objects.unscoped("rows by ids under the lock").filter(pk=item.pk).update(decision=decision)


def _scope_of(item: ReviewItem) -> Scope:
    return Scope.TENANT if item.user_id is None else Scope.USER


def _who(principal: Principal) -> UUID | None:
    """The user who decided: staff in person; for a token, its member."""
    return principal.actor_id if principal.actor_kind is ActorKind.STAFF else principal.user_id


@dataclass(frozen=True, slots=True)
class _Deciding:
    """The application of one decision under the owner's lock. Each method returns the item's outcome."""

    w: Write
    item: ReviewItem
    choice: ReviewChoice
    words: Mapping[str, Wording]
    reason: str

    def carry_out(self) -> dict[str, Any]:
        match self.choice.decision:
            case ReviewDecision.KEEP_ONE:
                return self._keep_one()
            case ReviewDecision.KEEP_BOTH:
                return {"confirmed": self._confirm(self._pair())}
            case ReviewDecision.MERGE:
                return self._merge()
            case ReviewDecision.EDIT:
                return self._edit()
            case ReviewDecision.EVICT:
                return self._evict()
            case ReviewDecision.ACCEPT:
                return self._accept()
            case _:
                return self._keep()

    def _keep_one(self) -> dict[str, Any]:
        """Supersede the other fact by the kept one, which counts as confirmed."""
        first, second = self._pair()
        kept, other = (first, second) if first.pk == self.choice.keep else (second, first)
        at = max(timezone.now(), kept.learned_at, other.learned_at)
        began = kept.valid_from or kept.learned_at
        valid_to = began if began > other.learned_at else at
        ended = close([other], at=at, valid_to=valid_to, contradiction=self._contradiction)
        record_ended(self.w, ended, kept, reason=self.reason)
        return {"steps": [_step([other.pk], kept.pk, wrote=False)], "confirmed": self._confirm([kept])}

    def _merge(self) -> dict[str, Any]:
        """Replace both facts by one new text. Raises InvalidInput if it equals one of them."""
        pair, wording = self._pair(), self.words["text"]
        if any(same_wording(row.text, wording.text) for row in pair):
            raise InvalidInput(wording.field, _("says the same as one of the two; keep that one instead."))
        return {"steps": [self._write(pair, wording, settles=True)]}

    def _edit(self) -> dict[str, Any]:
        """Replace the text of one or both facts, which then both hold. Raises InvalidInput if neither text is new."""
        steps, pair = [], []
        for name, row in zip(_WORDS[ReviewDecision.EDIT], self._pair(), strict=True):
            wording = self.words.get(name)
            if wording is None or same_wording(row.text, wording.text):
                pair.append(str(row.pk))
                continue
            row.refresh_from_db()
            if row.status not in CURRENT:
                raise InvalidInput("first_text", _("says the same as the other one; keep that one instead."))
            steps.append(self._write([row], wording))
            pair.append(steps[-1]["by"])
        if not steps:
            raise InvalidInput("first_text", _("must be worded anew, or the second one."))
        return {"steps": steps, "pair": pair}

    def _evict(self) -> dict[str, Any]:
        """Evict the memory from recall and search. The collection erases it some weeks later unless it is restored."""
        row = _row(self.item)
        row.evicted_from, row.evicted_at, before = row.status, timezone.now(), row.status
        row.status = Status.EVICTED
        row.version += 1
        row.save(update_fields=["status", "evicted_from", "evicted_at", "version", "updated_at"])
        self.w.audit(".evicted", row, reason=self.reason, before={"status": str(before)})
        self.w.index(row)
        withdraw(self.w, [row.pk])
        return {"evicted": str(row.pk)}

    def _accept(self) -> dict[str, Any]:
        """Replace the facts by the proposed text; without one, the fact is no longer true."""
        rows, wording = self._facts(), self.words.get("text")
        if wording is not None:
            return {"steps": [self._write(rows, wording, settles=True)]}
        at = max(timezone.now(), rows[0].learned_at)
        record_ended(
            self.w, close(rows, at=at, valid_to=at, contradiction=self._contradiction), None, reason=self.reason
        )
        return {"retired": str(rows[0].pk)}

    def _keep(self) -> dict[str, Any]:
        """Confirm facts. A playbook has no dates to renew."""
        row = _row(self.item)
        if isinstance(row, Fact):
            return {"confirmed": self._confirm(self._facts())}
        self.w.audit(".kept", row, reason=self.reason)
        return {}

    @property
    def _contradiction(self) -> Contradiction:
        return Contradiction.HARSH if self.choice.never_true else Contradiction.NATURAL

    def _facts(self) -> list[Fact]:
        return [fact for fact in (self.item.first, self.item.second) if fact is not None]

    def _pair(self) -> tuple[Fact, Fact]:
        if self.item.first is None or self.item.second is None:
            raise Conflict(_(NOTHING_TO_DECIDE))
        return self.item.first, self.item.second

    def _write(self, rows: Sequence[Fact], wording: Wording, *, settles: bool = False) -> dict[str, Any]:
        """Store the text in place of these rows, with the union of their support.

        With `settles`, it then ends or questions other facts that it contradicts, as what a member says does.
        A member's own text gets the confidence of user statements; text from staff takes source and confidence from the
        surest of the replaced facts.
        """
        surest = max(rows, key=lambda row: row.confidence)
        by_staff = self.w.principal.actor_kind is ActorKind.STAFF
        support = {pk for row in rows for pk in row.supporting_episodes.values_list("pk", flat=True)}
        draft: FactDraft = draft_of(
            rows[0],
            learned_at=max(timezone.now(), *(row.learned_at for row in rows)),
            reason=self.reason,
            text=wording.text,
            # Merging into an equal fact must not give it the key, which the replaced facts need if the decision is
            # undone.
            key="" if _is_known(self.w, rows[0], wording) else next((row.key for row in rows if row.key), ""),
            category=next((row.category for row in rows if row.category), ""),
            source=Source(surest.source) if by_staff else Source.USER_STATED,
            confidence=surest.confidence if by_staff else CONFIDENCE_OF_SOURCE[Source.USER_STATED],
            valid_from=None,
            valid_to=None,
            supporting_episode_ids=tuple(support) if rows[0].user_id else (),
            supersedes_ids=tuple(row.pk for row in rows),
            contradiction=self._contradiction,
            pinned=any(row.pinned for row in rows),
            sensitivity=wording.marks,
        )
        fact, outcome = write_fact(self.w, draft)
        wrote = outcome.result is not WriteResult.MERGED
        # What staff worded may be less sure than a rival, which would end it.
        settled = resolve(self.w, fact).superseded if settles and wrote and fact and not by_staff else ()
        return _step((*outcome.superseded_ids, *settled), outcome.memory_id, wrote=wrote)

    def _confirm(self, rows: Sequence[Fact]) -> dict[str, dict[str, str | None]]:
        """Confirm facts; return their earlier status and dates by id."""
        before: dict[str, dict[str, str | None]] = {
            str(row.pk): {"status": str(row.status), **_dates(row)} for row in rows
        }
        for row in rows:
            confirm_row(self.w, row, now=timezone.now(), reason=self.reason)
            before[str(row.pk)]["confirmed_at"] = _dates(row)["last_verified_at"]
        return before


def _step(ended: Iterable[UUID], by: UUID, *, wrote: bool) -> dict[str, Any]:
    return {"ended": [str(pk) for pk in ended], "by": str(by), "wrote": wrote}


def _is_known(w: Write, row: Fact, wording: Wording) -> bool:
    place = owner_columns(w.principal, Scope(row.scope), row.task or "")
    return Fact.objects.in_place(place).current().filter(content_hash=content_hash(wording.text)).exists()


def take_back(w: Write, item: ReviewItem, *, reason: str) -> None:
    """Undo the consequences of a decision, and point `item` to the restored rows. The caller saves it.

    Raises Conflict if a memory that was written or kept has been replaced or removed since.
    """
    outcome = item.outcome
    back: dict[UUID, Supersedable] = {}
    for step in reversed(outcome.get("steps", [])):
        back |= _take_back_step(w, step, reason)
    for pk, before in outcome.get("confirmed", {}).items():
        _unconfirm(w, UUID(pk), before, reason)
    if evicted := outcome.get("evicted"):
        row = _row(item)
        restore(w.principal, kind=row.kind, memory_id=UUID(evicted), reason=reason)
    if retired := outcome.get("retired"):
        row = _row(item)
        back[UUID(retired)] = bring_back(w, row, at=max(timezone.now(), row.learned_at), reason=reason)
    for name in ("first", "second"):
        row_back = back.get(getattr(item, f"{name}_id"))
        if row_back is not None:
            setattr(item, f"{name}_id", row_back.pk)


def _take_back_step(w: Write, step: Mapping[str, Any], reason: str) -> dict[UUID, Supersedable]:
    """Undo one supersession; return the restored rows, keyed by the id of the original."""
    rows = Fact.objects.in_place({"tenant_id": w.owner.tenant_id})
    by = rows.filter(pk=step["by"]).first()
    ended = list(rows.filter(pk__in=step["ended"], status=Status.SUPERSEDED).order_by("learned_at", "pk"))
    if by is None or len(ended) != len(step["ended"]) or any(row.superseded_by_id != by.pk for row in ended):
        raise Conflict(
            _("The memories of this decision were forgotten or changed since; it cannot be undone as a whole.")
        )
    if rows.filter(restores__in=step["ended"]).exists():
        raise Conflict(_("This memory was brought back already; its history shows the current one."))
    if step["wrote"] and by.status not in CURRENT:
        raise Conflict(_("The memory that this decision wrote has been replaced or removed since; undo that first."))
    at = max(timezone.now(), by.learned_at)
    mistaken = [by] if step["wrote"] else []
    closed = close(mistaken, at=at, valid_to=at, contradiction=Contradiction.HARSH)
    back = {row.pk: bring_back(w, row, at=at, reason=reason) for row in ended}
    record_ended(w, closed, next(iter(back.values())), reason=reason)
    return back


def _unconfirm(w: Write, fact_id: UUID, before: Mapping[str, str | None], reason: str) -> None:
    """Restore the earlier dates, unless the fact has ended or was confirmed again since."""
    fact = Fact.objects.in_place({"tenant_id": w.owner.tenant_id}).filter(pk=fact_id, status__in=CURRENT).first()
    if fact is None or _dates(fact)["last_verified_at"] != before["confirmed_at"]:
        return
    for name in _DATES:
        setattr(fact, name, parse_datetime(before[name] or ""))
    fact.status = before["status"] or Status.ACTIVE
    fact.version += 1
    fact.save(update_fields=["status", *_DATES, "version", "updated_at"])
    w.audit(".unconfirmed", fact, reason=reason)
    w.index(fact)


def _row(item: ReviewItem) -> Fact | Playbook:
    row = item.first or item.playbook
    if row is None:
        raise Conflict(_(NOTHING_TO_DECIDE))
    return row


def _dates(fact: Fact) -> dict[str, str | None]:
    moments: dict[str, datetime | None] = {name: getattr(fact, name) for name in _DATES}
    return {name: moment.isoformat() if moment else None for name, moment in moments.items()}
