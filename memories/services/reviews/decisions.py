"""Deciding reviews: a person answers what a machine found, and can take the answer back.

Invariant: an item is answered once, by a person (the member, an administrator of their tenant, platform staff), in one
transaction with all that follows from it; the owner's audit log names the person. An undo opens it again.

Settling: what follows from the answer to a review, and how that is taken back. Its callers hold the owner's lock.

Invariant: no row is rewritten. What an answer ends is superseded or evicted as everywhere else; taking it back closes
what it wrote as never true and stores what it had ended anew (ADR 10). An `Outcome` holds ids and dates, no words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from memories.constants import MAX_MEMORY_CHARACTERS
from memories.errors import Conflict, InvalidInput
from memories.hygiene.text import clean_text, content_hash
from memories.models import Fact, Playbook, ReviewDecision, ReviewItem, ReviewKind
from memories.selectors.reviews import UNANSWERED, is_decidable, review_to_decide
from memories.services.facts.closing import Supersedable, close, record_ended, same_wording
from memories.services.facts.drafts import FactDraft, draft_of
from memories.services.facts.remember import write_fact
from memories.services.facts.undo import bring_back
from memories.services.retention.dates import confirm_row
from memories.services.retention.restore import restore
from memories.services.reviews.queue import AUDIT_KIND, subject, withdraw
from memories.services.screening import Screen, screened_reason
from memories.services.write import Write, owner_columns, write
from memories.types import CONFIDENCE_OF_SOURCE, CURRENT, Contradiction, Scope, Source, Status, WriteResult
from tenants.errors import Forbidden
from tenants.principal import ActorKind, Principal

_DATES = ("last_verified_at", "review_after", "expires_at")


@dataclass(frozen=True, slots=True)
class Wording:
    """Screened words for a fact, the field that they came in, and the marks of what was in them."""

    field: str
    text: str
    marks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Step:
    """One supersession: what ended, its successor, and whether the successor was written for it."""

    ended: tuple[UUID, ...]
    by: UUID
    wrote: bool

    def to_json(self) -> dict[str, Any]:
        """As an item keeps it."""
        return {"ended": [str(pk) for pk in self.ended], "by": str(self.by), "wrote": self.wrote}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an answer did. `confirmed` has the dates of facts before they were; `pair` are the two that now stand."""

    steps: tuple[Step, ...] = ()
    confirmed: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    evicted: UUID | None = None
    pair: tuple[UUID, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As an item keeps it; what there is none of is left out."""
        told: dict[str, Any] = {
            "steps": [step.to_json() for step in self.steps],
            "confirmed": dict(self.confirmed),
            "evicted": str(self.evicted) if self.evicted else None,
            "pair": [str(pk) for pk in self.pair],
        }
        return {name: value for name, value in told.items() if value}


def keep_one(w: Write, item: ReviewItem, *, kept_id: UUID | None, never_true: bool, reason: str) -> Outcome:
    """The other one is superseded by the one that stays, which counts as confirmed."""
    first, second = _pair(item)
    kept, other = (first, second) if first.pk == kept_id else (second, first)
    at = max(timezone.now(), kept.learned_at, other.learned_at)
    began = kept.valid_from or kept.learned_at
    ended = close([other], at=at, valid_to=began if began > other.learned_at else at, contradiction=_how(never_true))
    record_ended(w, ended, kept, reason=reason)
    return Outcome((Step((other.pk,), kept.pk, wrote=False),), _confirm(w, [kept], reason))


def keep_both(w: Write, item: ReviewItem, *, reason: str) -> Outcome:
    """Both count as confirmed; the pair is not asked about again."""
    return Outcome(confirmed=_confirm(w, _pair(item), reason))


def merge(w: Write, item: ReviewItem, wording: Wording, *, never_true: bool, reason: str) -> Outcome:
    """One wording takes the place of both. Raises InvalidInput if one of them says just that."""
    pair = _pair(item)
    if any(same_wording(row.text, wording.text) for row in pair):
        raise InvalidInput(wording.field, "says the same as one of the two; keep that one instead.")
    return Outcome((_write(w, pair, wording, never_true=never_true, reason=reason),))


def edit(w: Write, item: ReviewItem, words: Mapping[str, Wording], *, never_true: bool, reason: str) -> Outcome:
    """New wordings for one or both, which then both stand. Raises InvalidInput if nothing is worded anew."""
    steps, pair = [], []
    for name, row in zip(("first_text", "second_text"), _pair(item), strict=True):
        wording = words.get(name)
        if wording is None or same_wording(row.text, wording.text):
            pair.append(row.pk)
            continue
        row.refresh_from_db()
        if row.status not in CURRENT:
            raise InvalidInput("first_text", "says the same as the other one; keep that one instead.")
        steps.append(_write(w, [row], wording, never_true=never_true, reason=reason))
        pair.append(steps[-1].by)
    if not steps:
        raise InvalidInput("first_text", "must be worded anew, or the second one.")
    return Outcome(tuple(steps), pair=tuple(pair))


def evict(w: Write, item: ReviewItem, *, reason: str) -> Outcome:
    """Out of recall and search, and erased some weeks later by the collection, unless it is brought back."""
    row = _row(item)
    row.evicted_from, row.evicted_at, before = row.status, timezone.now(), row.status
    row.status = Status.EVICTED
    row.version += 1
    row.save(update_fields=["status", "evicted_from", "evicted_at", "version", "updated_at"])
    w.audit(".evicted", row, reason=reason, before={"status": str(before)})
    w.index(row)
    withdraw(w, [row.pk])
    return Outcome(evicted=row.pk)


def keep(w: Write, item: ReviewItem, *, reason: str) -> Outcome:
    """A fact counts as confirmed; a how-to has no dates to begin anew."""
    row = _row(item)
    if isinstance(row, Fact):
        return Outcome(confirmed=_confirm(w, [row], reason))
    w.audit(".kept", row, reason=reason)
    return Outcome()


def take_back(w: Write, item: ReviewItem, *, reason: str) -> None:
    """Undo what followed from the answer; `item`, which the caller saves, is about what is believed then.

    Raises Conflict if what was written or kept has been replaced or removed since.
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
    for name in ("first", "second"):
        row_back = back.get(getattr(item, f"{name}_id"))
        if row_back is not None:
            setattr(item, f"{name}_id", row_back.pk)


def _write(w: Write, rows: Sequence[Fact], wording: Wording, *, never_true: bool, reason: str) -> Step:
    """Store the wording in the place of these rows, with all that they were learned from.

    A member's own words are believed as such; what staff writes for them is believed as the surest of the old ones.
    """
    surest = max(rows, key=lambda row: row.confidence)
    by_staff = w.principal.actor_kind is ActorKind.STAFF
    support = {pk for row in rows for pk in row.supporting_episodes.values_list("pk", flat=True)}
    draft: FactDraft = draft_of(
        rows[0],
        learned_at=max(timezone.now(), *(row.learned_at for row in rows)),
        reason=reason,
        text=wording.text,
        # What says just this already keeps its own key: those that it replaces need theirs to come back.
        key="" if _is_known(w, rows[0], wording) else next((row.key for row in rows if row.key), ""),
        category=next((row.category for row in rows if row.category), ""),
        source=Source(surest.source) if by_staff else Source.USER_STATED,
        confidence=surest.confidence if by_staff else CONFIDENCE_OF_SOURCE[Source.USER_STATED],
        valid_from=None,
        valid_to=None,
        supporting_episode_ids=tuple(support) if rows[0].user_id else (),
        supersedes_ids=tuple(row.pk for row in rows),
        contradiction=_how(never_true),
        pinned=any(row.pinned for row in rows),
        sensitivity=wording.marks,
    )
    _, outcome = write_fact(w, draft)
    return Step(outcome.superseded_ids, outcome.memory_id, wrote=outcome.result is not WriteResult.MERGED)


def _is_known(w: Write, row: Fact, wording: Wording) -> bool:
    place = owner_columns(w.principal, Scope(row.scope), row.task or "")
    return Fact.objects.in_place(place).current().filter(content_hash=content_hash(wording.text)).exists()


def _take_back_step(w: Write, step: Mapping[str, Any], reason: str) -> dict[UUID, Supersedable]:
    """What came back, by what it brings back."""
    rows = Fact.objects.in_place({"tenant_id": w.owner.tenant_id})
    by = rows.filter(pk=step["by"]).first()
    ended = list(rows.filter(pk__in=step["ended"], status=Status.SUPERSEDED).order_by("learned_at", "pk"))
    if by is None or len(ended) != len(step["ended"]) or any(row.superseded_by_id != by.pk for row in ended):
        raise Conflict("The memories of this decision were forgotten or changed since; it cannot be undone as a whole.")
    if rows.filter(restores__in=step["ended"]).exists():
        raise Conflict("This memory was brought back already; its history shows the current one.")
    if step["wrote"] and by.status not in CURRENT:
        raise Conflict("The memory that this decision wrote has been replaced or removed since; undo that first.")
    at = max(timezone.now(), by.learned_at)
    mistaken = [by] if step["wrote"] else []
    closed = close(mistaken, at=at, valid_to=at, contradiction=Contradiction.HARSH)
    back = {row.pk: bring_back(w, row, at=at, reason=reason) for row in ended}
    record_ended(w, closed, next(iter(back.values())), reason=reason)
    return back


def _confirm(w: Write, rows: Sequence[Fact], reason: str) -> dict[str, dict[str, str | None]]:
    """Confirm facts; what was so before, by id."""
    before: dict[str, dict[str, str | None]] = {str(row.pk): {"status": str(row.status), **_dates(row)} for row in rows}
    for row in rows:
        confirm_row(w, row, now=timezone.now(), reason=reason)
        before[str(row.pk)]["confirmed_at"] = _dates(row)["last_verified_at"]
    return before


def _unconfirm(w: Write, fact_id: UUID, before: Mapping[str, str | None], reason: str) -> None:
    """Set the dates back, unless the fact ended or was confirmed again since."""
    fact = Fact.objects.in_place({"tenant_id": w.owner.tenant_id}).filter(pk=fact_id, status__in=CURRENT).first()
    if fact is None or _dates(fact)["last_verified_at"] != before["confirmed_at"]:
        return
    for name in _DATES:
        setattr(fact, name, _moment(before[name]))
    fact.status = before["status"] or Status.ACTIVE
    fact.version += 1
    fact.save(update_fields=["status", *_DATES, "version", "updated_at"])
    w.audit(".unconfirmed", fact, reason=reason)
    w.index(fact)


def _pair(item: ReviewItem) -> tuple[Fact, Fact]:
    if item.first is None or item.second is None:
        raise Conflict("This review has nothing to decide any more.")
    return item.first, item.second


def _row(item: ReviewItem) -> Fact | Playbook:
    row = item.first or item.playbook
    if row is None:
        raise Conflict("This review has nothing to decide any more.")
    return row


def _how(never_true: bool) -> Contradiction:  # noqa: FBT001 - says which
    return Contradiction.HARSH if never_true else Contradiction.NATURAL


def _dates(fact: Fact) -> dict[str, str | None]:
    moments: dict[str, datetime | None] = {name: getattr(fact, name) for name in _DATES}
    return {name: moment.isoformat() if moment else None for name, moment in moments.items()}


def _moment(told: str | None) -> datetime | None:
    return parse_datetime(told) if told else None


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
class ReviewChoice:
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


def decide(principal: Principal, *, item_id: UUID, answer: ReviewChoice) -> ReviewItem:
    """Answer an open item, and do what follows.

    Raises NotFound, InvalidInput, Blocked (its words hold what is not stored), Forbidden (no person decides), Conflict
    (it was answered already, or there is nothing to decide any more); then nothing changes.
    """
    _require_person(principal)
    item = review_to_decide(principal, item_id)
    _check(item, answer)
    reason = screened_reason(principal, answer.reason)
    words = _words(principal, answer)
    with _locked(principal, item) as w:
        item = review_to_decide(principal, item_id)
        _claim(item, answer.decision)
        outcome = _carry_out(w, item, answer, words, reason)
        item.decision, item.outcome = answer.decision, outcome.to_json()
        item.decided_by_id, item.decided_at = _who(principal), timezone.now()
        item.save(update_fields=["decision", "outcome", "decided_by", "decided_at"])
        told = subject(item) | {"decision": str(answer.decision)} | outcome.to_json()
        _tell(w, item, "review.decided", reason, told)
        return item


def undo_decision(principal: Principal, *, item_id: UUID, reason: str = "") -> ReviewItem:
    """Take an answer back: what it ended is believed again, as new rows, and the item is open again.

    Raises NotFound, InvalidInput, Forbidden, Conflict (it is not answered, or what followed was changed since).
    """
    _require_person(principal)
    item = review_to_decide(principal, item_id)
    reason = screened_reason(principal, reason)
    with _locked(principal, item) as w:
        item = review_to_decide(principal, item_id)
        if item.decision in UNANSWERED:
            raise Conflict("This review is not decided, so there is nothing to undo.")
        undone = str(item.decision)
        take_back(w, item, reason=reason or "undone")
        item.decision, item.outcome, item.decided_by_id, item.decided_at = ReviewDecision.OPEN, {}, None, None
        item.save()
        if not is_decidable(item):
            raise Conflict("The memories of this review have been replaced or removed since; undo that first.")
        _tell(w, item, "review.undone", reason, subject(item) | {"decision": undone})
        return item


def _require_person(principal: Principal) -> None:
    if principal.actor_kind not in _PERSONS:
        raise Forbidden("A person decides reviews, not an agent.")


def _check(item: ReviewItem, answer: ReviewChoice) -> None:
    """Raise InvalidInput for an answer that does not fit the question."""
    possible = DECISIONS[ReviewKind(item.kind)]
    if answer.decision not in possible:
        raise InvalidInput("decision", f"must be one of {', '.join(possible)}.")
    if answer.decision is ReviewDecision.KEEP_ONE and answer.keep not in (item.first_id, item.second_id):
        raise InvalidInput("keep", "must be one of the two facts.")
    for name in _WORDS.get(answer.decision, ()):
        clean_text(getattr(answer, name), field=name, limit=MAX_MEMORY_CHARACTERS, required=name == "text")


def _words(principal: Principal, answer: ReviewChoice) -> dict[str, Wording]:
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
def _locked(principal: Principal, item: ReviewItem) -> Iterator[Write]:
    with write(principal, Scope.TENANT if item.user_id is None else Scope.USER) as w:
        yield w


def _claim(item: ReviewItem, decision: ReviewDecision) -> None:
    """Make it answered, before what follows would withdraw it. Raises Conflict."""
    if item.decision not in UNANSWERED:
        raise Conflict("This review was decided already. Undo that decision to decide anew.")
    if not is_decidable(item):
        raise Conflict("This review has nothing to decide any more: its memories have been replaced or removed since.")
    ReviewItem.objects.unscoped("rows by ids under the lock").filter(pk=item.pk).update(decision=decision)


def _carry_out(w: Write, item: ReviewItem, answer: ReviewChoice, words: Mapping[str, Wording], reason: str) -> Outcome:
    because = reason or "settled in a review"
    steps: dict[ReviewDecision, Callable[[], Outcome]] = {
        ReviewDecision.KEEP_ONE: lambda: keep_one(
            w, item, kept_id=answer.keep, never_true=answer.never_true, reason=because
        ),
        ReviewDecision.KEEP_BOTH: lambda: keep_both(w, item, reason=because),
        ReviewDecision.MERGE: lambda: merge(w, item, words["text"], never_true=answer.never_true, reason=because),
        ReviewDecision.EDIT: lambda: edit(w, item, words, never_true=answer.never_true, reason=because),
        ReviewDecision.EVICT: lambda: evict(w, item, reason=because),
        ReviewDecision.KEEP: lambda: keep(w, item, reason=because),
    }
    return steps[answer.decision]()


def _who(principal: Principal) -> UUID | None:
    """The user who decided: staff by themselves, a token for its member."""
    return principal.actor_id if principal.actor_kind is ActorKind.STAFF else principal.user_id


def _tell(w: Write, item: ReviewItem, action: str, reason: str, after: Mapping[str, Any]) -> None:
    w.audit(action, target_kind=AUDIT_KIND, target_id=item.pk, reason=reason, after=dict(after))
