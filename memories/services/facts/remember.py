"""Store facts. The gates (key, hash, likeness) decide whether a fact is new, is merged, or supersedes others.

After a write the owner has one current fact per key, per text, and per group of equivalent texts. Superseded facts
stay, with a link and an audit event.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict, Unpack
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.consolidation.rules import likeness
from memories.constants import HARSH_PENALTY
from memories.errors import Conflict
from memories.hygiene.ageing import Dates
from memories.hygiene.text import content_hash
from memories.models import Episode, Fact
from memories.services.contradictions import resolve
from memories.services.facts.closing import (
    Ended,
    Supersedable,
    close,
    current_rows,
    record_ended,
    require_place,
    snapshot,
)
from memories.services.facts.drafts import FactDraft, checked
from memories.services.facts.gates import (
    IN_OTHER_WORDS,
    alike_fact,
    merge_fact,
    refuse_junk_fact,
    refuse_repeat,
    refuse_reworded,
    same_app,
)
from memories.services.retention.dates import check_dates, given_dates, set_dates
from memories.services.reviews.queue import is_asked_about
from memories.services.screening import Screen
from memories.services.write import SHARED, Write, app_of, own_episodes, owner_columns, write
from memories.types import Contradiction, Kind, Scope, Source, Status, WriteOutcome, WriteResult
from memoryhub.db.compiled_query import Prepared
from tenants.principal import Principal


class FactDetails(TypedDict, total=False):
    """The optional arguments of `remember_fact`; see `FactDraft`."""

    key: str
    category: str
    source: Source
    confidence: float | None
    valid_from: datetime | None
    valid_to: datetime | None
    supporting_episode_ids: Sequence[UUID]
    supersedes_ids: Sequence[UUID]
    contradiction: Contradiction
    scope: Scope
    task: str
    pinned: bool
    reason: str
    review_after: datetime | None
    expires_at: datetime | None
    metadata: Mapping[str, Any]


def remember_fact(
    principal: Principal,
    *,
    text: str,
    learned_at: datetime | None = None,
    fact_id: UUID | None = None,
    **details: Unpack[FactDetails],
) -> WriteOutcome:
    """Store a fact: created, merged into an equal one, or superseding others.

    It supersedes `supersedes_ids` and any current fact with the same `key` and another text, and settles other plain
    contradictions: higher confidence wins, or a person is asked (`contradictions/`; result `queued_for_review`). After
    a harsh contradiction the new fact's confidence is lower by HARSH_PENALTY. A merge keeps the higher confidence,
    unites the support and the metadata, and counts as a confirmation.

    Raises InvalidInput, NotFound (a superseded or supporting id that is not the owner's), Conflict (a superseded id is
    not current or is in another scope or task, or an agent repeats a memory recalled for it), Blocked, Forbidden; then
    nothing is stored.
    """
    draft = drafted_fact(principal, Screen(principal), text=text, learned_at=learned_at, fact_id=fact_id, **details)
    with write(principal, draft.scope) as w:
        return store_fact(w, draft)


def drafted_fact(
    principal: Principal,
    screen: Screen,
    *,
    text: str,
    learned_at: datetime | None = None,
    fact_id: UUID | None = None,
    **details: Unpack[FactDetails],
) -> FactDraft:
    """The checked draft of a fact that `remember_fact` describes. Raises InvalidInput, Blocked."""
    now = timezone.now()
    draft = FactDraft(text=text, learned_at=learned_at or now, memory_id=fact_id, **details)
    check_dates(draft.review_after, draft.expires_at, now=now)
    draft = checked(draft, screen)
    refuse_junk_fact(principal, draft)
    return draft


def store_fact(w: Write, draft: FactDraft, named: Sequence[Supersedable] | None = None) -> WriteOutcome:
    """Pass a checked draft through the gates, write it, and settle its contradictions.

    `named` are the current rows of `supersedes_ids`, if the caller has already read them.
    """
    fact, outcome = write_fact(w, draft, named, in_their_category=True)
    if fact is None or outcome.result not in (WriteResult.CREATED, WriteResult.SUPERSEDED):
        return outcome
    return resolve(w, fact).applied_to(outcome)


def write_fact(
    w: Write, draft: FactDraft, named: Sequence[Supersedable] | None = None, *, in_their_category: bool = False
) -> tuple[Fact | None, WriteOutcome]:
    """Pass a checked draft through the gates and write it. The fact is None if `memory_id` was stored before.

    Contradictions are not settled here: an import stores facts as they were believed elsewhere and leaves
    contradictions to the daily scan. With `in_their_category`, a draft without a category takes that of the facts it
    replaces, so that a corrected preference stays a preference.
    """
    w.require_learning(draft.scope)
    place = owner_columns(w.principal, draft.scope, draft.task)
    if draft.memory_id and Fact.objects.in_place(place).filter(pk=draft.memory_id).exists():
        return None, WriteOutcome(WriteResult.MERGED, Kind.SEMANTIC, draft.memory_id, reason="It is stored already.")
    support = own_episodes(w.principal, draft.supporting_episode_ids)
    own, slot = _comparable(w, place, draft)
    digest = content_hash(draft.text)
    equal = min((row for row in own if row.content_hash == digest), key=lambda row: row.pk, default=None)
    if equal is None:
        equal = alike_fact(own, draft.text, draft.key, not_ids=draft.supersedes_ids)
        draft = replace(draft, reason=draft.reason or IN_OTHER_WORDS) if equal else draft
    if named is None:
        shared = draft.scope in SHARED
        named = current_rows(w, Kind.SEMANTIC, draft.supersedes_ids, shared=shared, field="supersedes_ids")
    if in_their_category and not draft.category:
        described = (row.category for row in (*slot, *named) if row.category)
        draft = replace(draft, category=next(described, ""))
    replaced = [row for row in named if row != equal]
    rivals = [row for row in slot if row != equal and row not in replaced]
    if equal is None and (newer := next((row for row in rivals if row.learned_at > draft.learned_at), None)):
        return _join_history(w, place, draft, support, newer)
    replaced += rivals
    require_place(replaced, draft.scope, draft.task)
    if equal is not None and not replaced:
        refuse_repeat(w.principal, equal, support)
    if equal is None and not replaced:
        refuse_reworded(w.principal, draft.text, support)
    # A key whose fact was pinned stays pinned. Pins of other replaced facts are not inherited.
    pinned_slot = any(isinstance(row, Fact) and row.key == draft.key and row.pinned for row in replaced if draft.key)
    penalty = HARSH_PENALTY if replaced and draft.contradiction is Contradiction.HARSH else draft.penalty
    draft = replace(
        draft, pinned=draft.pinned or pinned_slot, penalty=penalty, memory_id=draft.memory_id or uuid.uuid4()
    )
    began = max(draft.learned_at, equal.learned_at) if equal else draft.learned_at
    ended = close(
        replaced,
        at=began,
        valid_to=draft.valid_from or began,
        contradiction=draft.contradiction,
        successor_id=equal.pk if equal else draft.memory_id,
    )
    if equal is not None:
        merge_fact(w, equal, draft, support)
        fact, result = equal, WriteResult.MERGED
    else:
        (fact,) = insert_facts(w, [draft], [place], [support])
        result = WriteResult.SUPERSEDED if replaced else WriteResult.CREATED
    record_ended(w, ended, fact, reason=draft.reason)
    return fact, WriteOutcome(result, Kind.SEMANTIC, fact.pk, tuple(row.pk for row in replaced), draft.reason)


def _comparable(w: Write, place: Mapping[str, Any], draft: FactDraft) -> tuple[list[Fact], list[Fact]]:
    """The current facts of this scope and task into which the draft may merge, and those of its key; by one query.

    What a member says to no app replaces what they said to any.
    """
    whose = (place[name] for name in ("tenant_id", "user_id", "scope", "task"))
    known = _COMPARABLE.all(*whose, content_hash(draft.text), likeness(draft.text) or None, draft.key or None)
    app = app_of(w) if draft.app is None else draft.app
    own = same_app(w, app, known)
    of_all = not app and w.principal.only_app is None
    return own, [row for row in (known if of_all else own) if draft.key and row.key == draft.key]


def _gates(
    tenant_id: UUID | None,
    user_id: UUID | None,
    scope: str,
    task: str | None,
    digest: str,
    alike: str | None,
    key: str | None,
) -> QuerySet[Fact]:
    rows = Fact.objects.in_place({"tenant_id": tenant_id, "user_id": user_id, "scope": scope, "task": task}).current()
    gates = Q(content_hash=digest)
    if alike:
        gates |= Q(likeness=alike)
    if key:
        gates |= Q(key=key)
    return rows.filter(gates).annotate(asked_about=is_asked_about(Fact)).order_by()


_COMPARABLE = Prepared(_gates)


def _join_history(
    w: Write, place: Mapping[str, object], draft: FactDraft, support: Sequence[Episode], newer: Fact
) -> tuple[Fact, WriteOutcome]:
    """Store a statement older than the current fact with its key, as a superseded row that replaces nothing."""
    ended: dict[str, object] = {
        "status": Status.SUPERSEDED,
        "superseded_at": newer.learned_at,
        "contradiction": Contradiction.NATURAL,
    }
    if draft.valid_to is None:
        ends = newer.valid_from or newer.learned_at
        ended["valid_to"] = max(ends, draft.valid_from) if draft.valid_from else ends
    (fact,) = insert_facts(w, [draft], [{**place, **ended}], [support])
    record_ended(w, [Ended(fact)], newer, reason=draft.reason or "older than what is believed now")
    return fact, WriteOutcome(WriteResult.CREATED, Kind.SEMANTIC, fact.pk, reason="A newer statement is believed.")


def insert_facts(
    w: Write,
    drafts: Sequence[FactDraft],
    columns: Sequence[Mapping[str, object]],
    support: Sequence[Sequence[Episode]],
) -> list[Fact]:
    """Insert checked drafts without the gates, with support, audit events and outbox entries.

    `columns` hold the owner of each row (`owner_columns`) and may override the draft. The database rejects all rows if
    the key or text of one is already current. Raises Conflict while memory is paused.
    """
    for draft in drafts:
        w.require_learning(draft.scope)
    facts = [_row(w, whose, draft) for whose, draft in zip(columns, drafts, strict=True)]
    Fact.objects.bulk_create(facts, batch_size=500)
    links = Fact.supporting_episodes.through
    linked = [
        links(fact_id=fact.pk, episode_id=episode.pk)
        for fact, episodes in zip(facts, support, strict=True)
        for episode in episodes
    ]
    if linked:
        links.objects.bulk_create(linked, batch_size=500)
    for fact, draft in zip(facts, drafts, strict=True):
        penalty = {"penalty": draft.penalty} if draft.penalty else {}
        w.audit(".created", fact, reason=draft.reason, after=snapshot(fact) | penalty)
    w.index(*facts)
    return facts


def _row(w: Write, columns: Mapping[str, object], draft: FactDraft) -> Fact:
    values: dict[str, object] = {
        "text": draft.text,
        "content_hash": content_hash(draft.text),
        "likeness": likeness(draft.text),
        "key": draft.key,
        "category": draft.category,
        "source": draft.source,
        "confidence": max(0.0, round(draft.certainty - draft.penalty, 6)),
        "valid_from": draft.valid_from,
        "valid_to": draft.valid_to,
        "learned_at": draft.learned_at,
        "pinned": draft.pinned,
        "promoted_from": draft.promoted_from,
        "last_verified_at": draft.last_verified_at,
        "sensitivity": dict(draft.sensitivity),
        "metadata": dict(draft.metadata),
        "app": app_of(w) if draft.app is None else draft.app,
    }
    if draft.dated_from is not None:
        values["created_at"] = draft.dated_from
    fact = Fact(pk=draft.memory_id or uuid.uuid4(), **values | dict(columns))
    given = Dates(draft.review_after, draft.expires_at)
    set_dates(fact, w.rules(draft.scope), at=draft.dated_from or draft.learned_at, given=given)
    return fact


def pin_fact(principal: Principal, *, fact_id: UUID, pinned: bool) -> None:
    """Pin a fact, so that it is in every prompt, or unpin it. Raises NotFound, Conflict."""
    with write(principal) as w:
        (fact,) = current_rows(w, Kind.SEMANTIC, [fact_id])
        if not isinstance(fact, Fact):
            raise Conflict(_("Only facts can be pinned."))
        if fact.pinned == pinned:
            return
        rules = w.rules(fact.scope)
        given = given_dates(fact, rules)
        fact.pinned = pinned
        # A pinned fact keeps only explicitly given dates; after unpinning, it ages again from now.
        set_dates(fact, rules, at=timezone.now(), given=given)
        fact.save(update_fields=["pinned", "review_after", "expires_at", "updated_at"])
        w.audit(".pinned" if pinned else ".unpinned", fact)
