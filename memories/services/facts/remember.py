"""Facts: store what is true. The gates (key, hash, likeness) decide whether it is new, known, or replaces something.

Invariant: after a write the owner has one current fact for each key, for each wording, and for what only says the same
in other words; what it replaced is still there, superseded, with a link and an audit event.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from memories.consolidation.rules import likeness
from memories.constants import HARSH_PENALTY
from memories.errors import Conflict
from memories.hygiene.expiry import Dates
from memories.hygiene.text import content_hash
from memories.models import Episode, Fact
from memories.search.outbox import enqueue, enqueue_many
from memories.selectors.history.row_record import record_of
from memories.services.contradictions import resolve
from memories.services.facts.closing import close, current_rows, link, require_place, snapshot
from memories.services.facts.drafts import FactDraft, checked_fact
from memories.services.facts.duplicates import IN_OTHER_WORDS, WHOSE, alike_fact
from memories.services.facts.junk import refuse_junk_fact, refuse_repeat, refuse_reworded
from memories.services.ownership import SHARED, own_episodes, owner_columns, owner_lock
from memories.services.retention.dates import Rules, check_dates, given_dates, rules_for, set_dates, to_come
from memories.services.screening import Screen
from memories.types import (
    CONFIDENCE_OF_SOURCE,
    Contradiction,
    Kind,
    Scope,
    Source,
    Status,
    WriteOutcome,
    WriteResult,
)
from memoryhub.db.compiled_query import Prepared
from tenants.audit.chain import EventDraft, record_event, record_events
from tenants.principal import Principal


def remember_fact(
    principal: Principal,
    *,
    text: str,
    key: str = "",
    category: str = "",
    source: Source = Source.USER_STATED,
    confidence: float | None = None,
    valid_from: datetime | None = None,
    valid_to: datetime | None = None,
    learned_at: datetime | None = None,
    supporting_episode_ids: Sequence[UUID] = (),
    supersedes_ids: Sequence[UUID] = (),
    contradiction: Contradiction = Contradiction.NATURAL,
    scope: Scope = Scope.USER,
    task: str = "",
    pinned: bool = False,
    fact_id: UUID | None = None,
    reason: str = "",
    review_after: datetime | None = None,
    expires_at: datetime | None = None,
) -> WriteOutcome:
    """Store a fact: created, merged into an equal one, or superseding what it makes false.

    It supersedes `supersedes_ids` and any current fact with the same `key` and another wording, and settles what else
    it plainly contradicts: the surer one stays, or a person is asked (`contradictions/`; queued for review). After a
    harsh contradiction it is believed less, by HARSH_PENALTY. An equal statement merges, in the same words or in others
    with the same details: higher confidence, union of support, verified now. Raises InvalidInput, NotFound (a
    superseded or supporting id that is not the owner's), Conflict (one that was superseded already, or is of another
    scope or task; or an agent repeats what was recalled for it),
    Blocked (it holds what is not stored), Forbidden; then nothing is stored.
    """
    check_dates(review_after, expires_at, now=timezone.now())
    draft = checked_fact(
        FactDraft(
            text=text,
            key=key,
            category=category,
            source=source,
            confidence=CONFIDENCE_OF_SOURCE[source] if confidence is None else confidence,
            valid_from=valid_from,
            valid_to=valid_to,
            learned_at=learned_at or timezone.now(),
            supporting_episode_ids=tuple(dict.fromkeys(supporting_episode_ids)),
            supersedes_ids=tuple(dict.fromkeys(supersedes_ids)),
            contradiction=contradiction,
            scope=scope,
            task=task,
            pinned=pinned,
            fact_id=fact_id,
            reason=reason,
            review_after=review_after,
            expires_at=expires_at,
        ),
        Screen(principal),
    )
    refuse_junk_fact(principal, draft)
    with owner_lock(principal, scope):
        return resolved(principal, write_fact(principal, _in_its_category(principal, draft)))


def resolved(principal: Principal, outcome: WriteOutcome) -> WriteOutcome:
    """`outcome` of a write with what became of what the new fact contradicts; the caller holds the owner's lock.

    An import does without: it stores what was believed elsewhere as it was, and the daily scan looks through it.
    """
    if outcome.result not in (WriteResult.CREATED, WriteResult.SUPERSEDED):
        return outcome
    return resolve(principal, _FACT.all(outcome.memory_id)[0]).told(outcome)


def _fact(fact_id: UUID) -> QuerySet[Fact]:
    return Fact.objects.filter(pk=fact_id).order_by()


def _same_owner(tenant_id: UUID | None, user_id: UUID | None, scope: str, task: str | None) -> QuerySet[Fact]:
    return Fact.objects.filter(**dict(zip(WHOSE, (tenant_id, user_id, scope, task), strict=True))).current()


def _of_wording(
    tenant_id: UUID | None, user_id: UUID | None, scope: str, task: str | None, digest: str
) -> QuerySet[Fact]:
    return _same_owner(tenant_id, user_id, scope, task).filter(content_hash=digest).order_by("pk")[:1]


def _of_key(tenant_id: UUID | None, user_id: UUID | None, scope: str, task: str | None, key: str) -> QuerySet[Fact]:
    return _same_owner(tenant_id, user_id, scope, task).filter(key=key)


_FACT = Prepared(_fact)
_OF_WORDING = Prepared(_of_wording)
_OF_KEY = Prepared(_of_key)


def write_fact(principal: Principal, draft: FactDraft) -> WriteOutcome:
    """Pass the gates and write; the caller holds the owner's lock and has checked the draft."""
    columns = owner_columns(principal, draft.scope, draft.task)
    if draft.fact_id and Fact.objects.filter(**columns, pk=draft.fact_id).exists():
        return WriteOutcome(WriteResult.MERGED, Kind.SEMANTIC, draft.fact_id, reason="It is stored already.")
    support = own_episodes(principal, draft.supporting_episode_ids)
    whose = [columns[name] for name in WHOSE]
    equal = _OF_WORDING.first(*whose, content_hash(draft.text))
    if equal is None:
        equal = alike_fact(columns, draft.text, draft.key, not_ids=draft.supersedes_ids)
        draft = replace(draft, reason=draft.reason or IN_OTHER_WORDS) if equal else draft
    named = current_rows(principal, Kind.SEMANTIC, draft.supersedes_ids, shared=draft.scope in SHARED)
    replaced = [row for row in named if row != equal]
    if draft.key:
        known = {row.pk for row in replaced}
        rivals = [row for row in _OF_KEY.all(*whose, draft.key) if row != equal and row.pk not in known]
        if equal is None and (newer := next((row for row in rivals if row.learned_at > draft.learned_at), None)):
            return _join_history(principal, columns, draft, support, newer)
        replaced += rivals
    require_place(replaced, draft.scope, draft.task)
    if equal is not None and not replaced:
        refuse_repeat(principal, equal, support)
    if equal is None and not replaced:
        refuse_reworded(principal, draft.text, support)
    # A slot that somebody pinned stays pinned, whatever its value; what merely replaces other pinned facts does not.
    slot = [row for row in replaced if draft.key and isinstance(row, Fact) and row.key == draft.key]
    draft = replace(draft, pinned=draft.pinned or any(row.pinned for row in slot))
    began = max(draft.learned_at, equal.learned_at) if equal else draft.learned_at
    close(replaced, at=began, valid_to=draft.valid_from or began, contradiction=draft.contradiction)
    if equal is not None:
        fact, result = _merge(principal, equal, draft, support), WriteResult.MERGED
    else:
        if replaced and draft.contradiction is Contradiction.HARSH:
            draft = replace(draft, penalty=HARSH_PENALTY)
        fact = create_fact(principal, columns, draft, support)
        result = WriteResult.SUPERSEDED if replaced else WriteResult.CREATED
    link(principal, replaced, fact, reason=draft.reason)
    return WriteOutcome(result, Kind.SEMANTIC, fact.pk, tuple(row.pk for row in replaced), draft.reason)


def _in_its_category(principal: Principal, draft: FactDraft) -> FactDraft:
    """What replaces facts and names no category stays in theirs: a correction of a preference is a preference."""
    if draft.category or not (draft.key or draft.supersedes_ids):
        return draft
    columns = owner_columns(principal, draft.scope, draft.task)
    known = Fact.objects.filter(**columns).current().exclude(category="")
    replaced = known.filter(pk__in=draft.supersedes_ids) if draft.supersedes_ids else ()
    named = {row.pk: row.category for row in replaced}
    in_slot = _OF_KEY.all(*(columns[name] for name in WHOSE), draft.key) if draft.key else []
    of_named = next((named[pk] for pk in draft.supersedes_ids if pk in named), "")
    return replace(draft, category=next((row.category for row in in_slot if row.category), of_named))


def _join_history(
    principal: Principal,
    columns: dict[str, UUID | str | None],
    draft: FactDraft,
    support: Sequence[Episode],
    newer: Fact,
) -> WriteOutcome:
    """Store a statement older than what is believed of the same key: it was true once, and it replaces nothing."""
    ended: dict[str, object] = {
        "status": Status.SUPERSEDED,
        "superseded_at": newer.learned_at,
        "contradiction": Contradiction.NATURAL,
    }
    if draft.valid_to is None:
        ends = newer.valid_from or newer.learned_at
        ended["valid_to"] = max(ends, draft.valid_from) if draft.valid_from else ends
    fact = create_fact(principal, {**columns, **ended}, draft, support)
    link(principal, [fact], newer, reason=draft.reason or "older than what is believed now")
    return WriteOutcome(WriteResult.CREATED, Kind.SEMANTIC, fact.pk, reason="A newer statement is believed.")


def insert_facts(principal: Principal, drafts: Sequence[FactDraft]) -> None:
    """Store checked drafts in bulk, past the gates; the caller holds the owner's lock.

    For drafts that meet no gate: they supersede nothing, and neither their keys nor their wordings are current or come
    twice. The database refuses all of them if that is wrong. Raises NotFound (a supporting id that is not the owner's).
    """
    known = {
        row.pk: row for row in own_episodes(principal, {pk for draft in drafts for pk in draft.supporting_episode_ids})
    }
    support = [[known[pk] for pk in draft.supporting_episode_ids] for draft in drafts]
    columns = [owner_columns(principal, draft.scope, draft.task) for draft in drafts]
    _insert(principal, columns, drafts, support)


def create_fact(
    principal: Principal, columns: Mapping[str, object], draft: FactDraft, support: Sequence[Episode]
) -> Fact:
    """Store a checked draft past the gates; the caller holds the owner's lock and has seen to what the gates see to.

    `columns` say whose it is (`owner_columns`) and may override the draft.
    """
    return _insert(principal, [columns], [draft], [support])[0]


def _insert(
    principal: Principal,
    columns: Sequence[Mapping[str, object]],
    drafts: Sequence[FactDraft],
    support: Sequence[Sequence[Episode]],
) -> list[Fact]:
    """The rows with their support, audit and outbox; `columns` say whose each is and may override the draft."""
    rules = {scope: rules_for(principal, scope) for scope in {draft.scope for draft in drafts}}
    facts = [_row(whose, draft, rules[draft.scope]) for whose, draft in zip(columns, drafts, strict=True)]
    Fact.objects.bulk_create(facts, batch_size=500)
    links = Fact.supporting_episodes.through
    links.objects.bulk_create(
        (
            links(fact_id=fact.pk, episode_id=episode.pk)
            for fact, episodes in zip(facts, support, strict=True)
            for episode in episodes
        ),
        batch_size=500,
    )
    record_events(
        principal,
        [
            EventDraft(
                "fact.created",
                Kind.SEMANTIC.value,
                fact.pk,
                draft.reason,
                after=_told(fact, draft),
                row=record_of(fact),
            )
            for fact, draft in zip(facts, drafts, strict=True)
        ],
    )
    enqueue_many(facts)
    return facts


def _told(fact: Fact, draft: FactDraft) -> dict[str, object]:
    """What an auditor is told of a new fact; why it is believed less, if it is."""
    return snapshot(fact) | ({"penalty": draft.penalty} if draft.penalty else {})


def _row(columns: Mapping[str, object], draft: FactDraft, rules: Rules) -> Fact:
    values: dict[str, object] = {
        "text": draft.text,
        "content_hash": content_hash(draft.text),
        "likeness": likeness(draft.text),
        "key": draft.key,
        "category": draft.category,
        "source": draft.source,
        "confidence": max(0.0, round(draft.confidence - draft.penalty, 6)),
        "valid_from": draft.valid_from,
        "valid_to": draft.valid_to,
        "learned_at": draft.learned_at,
        "pinned": draft.pinned,
        "promoted_from": draft.promoted_from,
        "last_verified_at": draft.last_verified_at,
        "sensitivity": dict(draft.sensitivity),
    }
    if draft.dated_from is not None:
        values["created_at"] = draft.dated_from
    fact = Fact(pk=draft.fact_id or uuid.uuid4(), **values | dict(columns))
    given = Dates(draft.review_after, draft.expires_at)
    set_dates(fact, rules, at=draft.dated_from or draft.learned_at, given=given)
    return fact


def _merge(principal: Principal, fact: Fact, draft: FactDraft, support: Sequence[Episode]) -> Fact:
    """Fold an equal statement into `fact`, whose words and `learned_at` stay: it was believed since then."""
    before = snapshot(fact)
    rules = rules_for(principal, fact.scope)
    given = to_come(given_dates(fact, rules), now=timezone.now())
    fact.status, fact.staleness = Status.ACTIVE, 0.0
    fact.confidence = max(fact.confidence, draft.confidence)
    fact.last_verified_at = max(draft.learned_at, fact.last_verified_at or draft.learned_at)
    fact.key = fact.key or draft.key
    fact.category = fact.category or draft.category
    fact.pinned = fact.pinned or draft.pinned
    fact.valid_from, fact.valid_to = _joint_validity(fact, draft)
    set_dates(
        fact,
        rules,
        at=max(draft.dated_from or draft.learned_at, fact.learned_at),
        given=Dates(draft.review_after or given.review_after, draft.expires_at or given.expires_at),
    )
    fact.version += 1
    fact.save()
    if support:
        fact.supporting_episodes.add(*support)
    record_event(
        principal,
        action="fact.merged",
        target_kind=Kind.SEMANTIC.value,
        target_id=fact.pk,
        reason=draft.reason,
        before=before,
        # The words are where they were said: the trail of a fact that stays would keep those of a forgotten episode.
        after=snapshot(fact) | {"told_in": [str(episode.pk) for episode in support]},
        row=record_of(fact),
    )
    enqueue(fact)
    return fact


def _joint_validity(fact: Fact, draft: FactDraft) -> tuple[datetime | None, datetime | None]:
    """When an equal statement holds: as the one learned later says, if it says so and it is not turned round by it."""
    told = (fact.valid_from or draft.valid_from, fact.valid_to)
    if draft.learned_at < max(fact.learned_at, fact.last_verified_at or fact.learned_at):
        return told
    newer = (draft.valid_from or fact.valid_from, draft.valid_to or fact.valid_to)
    begins, ends = newer
    return newer if begins is None or ends is None or begins <= ends else told


def pin_fact(principal: Principal, *, fact_id: UUID, pinned: bool) -> None:
    """Pin a fact (it comes first and goes into every prompt), or unpin it. Raises NotFound, Conflict."""
    with owner_lock(principal):
        (fact,) = current_rows(principal, Kind.SEMANTIC, [fact_id])
        if not isinstance(fact, Fact):
            raise Conflict("Only facts can be pinned.")
        if fact.pinned == pinned:
            return
        rules = rules_for(principal, fact.scope)
        given = given_dates(fact, rules)
        fact.pinned = pinned
        # What was pinned has no dates but those that were given; from now on it ages again.
        set_dates(fact, rules, at=timezone.now(), given=given)
        fact.save(update_fields=["pinned", "review_after", "expires_at", "updated_at"])
        record_event(
            principal,
            action="fact.pinned" if pinned else "fact.unpinned",
            target_kind=Kind.SEMANTIC.value,
            target_id=fact.pk,
            row=record_of(fact),
        )
