"""Stores many memories of one owner in one transaction, each with an outcome of its own.

Texts are screened before the owner's lock is taken. Facts that meet no gate are inserted by a few statements for all;
every other memory is stored as by its single call, in order, and undone by itself if it is refused. So an entry that is
refused stops no other, and the memories are those that single calls in this order would have left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memories.errors import Blocked, MemoriesError
from memories.models import Fact
from memories.services.catalog import remember_catalog_entry
from memories.services.contradictions import resolve
from memories.services.facts.drafts import FactDraft
from memories.services.facts.gates import meeting_no_gate
from memories.services.facts.remember import drafted_fact, insert_facts, remember_fact, store_fact
from memories.services.playbooks import remember_playbook
from memories.services.screening import QuietScreen
from memories.services.sessions.messages import remember_said
from memories.services.write import Write, owner_columns, write
from memories.types import Kind, Scope, WriteOutcome, WriteResult
from tenants.errors import TenantsError
from tenants.principal import Principal

MAX_ENTRIES = 1_000
Refusal = MemoriesError | TenantsError
EntryOutcome = WriteOutcome | Refusal


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """A memory to store, by the arguments of its single call. `principal` acts in the entry's app."""

    principal: Principal
    kind: Kind
    fields: Mapping[str, Any]


def remember(principal: Principal, kind: Kind, fields: Mapping[str, Any]) -> WriteOutcome:
    """Store one memory of any kind. Raises what the function of its kind raises."""
    match kind:
        case Kind.EPISODIC:
            return remember_said(principal, **fields)
        case Kind.SEMANTIC:
            return remember_fact(principal, **fields)
        case Kind.PROCEDURAL:
            return remember_playbook(principal, **fields)
        case _:
            return remember_catalog_entry(principal, **fields)


def remember_batch(principal: Principal, entries: Mapping[int, BatchEntry]) -> dict[int, EntryOutcome]:
    """Store the numbered entries in order; the outcome of each is a write's, or the error that refused it.

    Raises Forbidden if the principal may not write at all.
    """
    outcomes: dict[int, EntryOutcome] = {}
    drafts = _drafted(entries, outcomes)
    with write(principal) as w:
        for refused in outcomes.values():
            if isinstance(refused, Blocked):
                w.blocked(refused)
        outcomes |= _insert(w, entries, _plain(principal, drafts))
        for number, entry in entries.items():
            if number in outcomes:
                continue
            try:
                with w.savepoint():
                    outcomes[number] = _store(entry, drafts.get(number))
            except (MemoriesError, TenantsError) as error:
                outcomes[number] = error
    return outcomes


def _drafted(entries: Mapping[int, BatchEntry], outcomes: dict[int, EntryOutcome]) -> dict[int, FactDraft]:
    """The drafts of the facts, checked and screened; the refused go to `outcomes`."""
    screens: dict[Principal, QuietScreen] = {}
    drafts: dict[int, FactDraft] = {}
    for number, entry in entries.items():
        if entry.kind is not Kind.SEMANTIC:
            continue
        screen = screens.setdefault(entry.principal, QuietScreen(entry.principal))
        try:
            drafts[number] = drafted_fact(entry.principal, screen, **entry.fields)
        except MemoriesError as error:
            outcomes[number] = error
    return drafts


def _plain(principal: Principal, drafts: Mapping[int, FactDraft]) -> dict[int, FactDraft]:
    """The drafts that only add a fact: they name no others, and their keys and texts are new."""
    alone = meeting_no_gate(principal, {n: (each.task, each.key, each.text) for n, each in drafts.items()})
    return {
        number: draft
        for number, draft in drafts.items()
        if number in alone
        and draft.scope is Scope.USER
        and not draft.task
        and not draft.supersedes_ids
        and not draft.supporting_episode_ids
    }


def _insert(w: Write, entries: Mapping[int, BatchEntry], drafts: Mapping[int, FactDraft]) -> dict[int, EntryOutcome]:
    """Store facts that meet no gate, and settle the contradictions of each in order."""
    numbers: dict[Principal, list[int]] = {}
    for number in drafts:
        numbers.setdefault(entries[number].principal, []).append(number)
    facts: dict[int, Fact] = {}
    for acting, some in numbers.items():
        columns = [owner_columns(acting, Scope.USER, "")] * len(some)
        with write(acting) as in_app:
            rows = insert_facts(in_app, [drafts[number] for number in some], columns, [()] * len(some))
        facts |= dict(zip(some, rows, strict=True))
    later = {fact.pk for fact in facts.values()}
    outcomes: dict[int, EntryOutcome] = {}
    for number in sorted(facts):
        fact = facts[number]
        later.discard(fact.pk)
        stored = WriteOutcome(WriteResult.CREATED, Kind.SEMANTIC, fact.pk, reason=drafts[number].reason)
        outcomes[number] = resolve(w, fact, not_ids=later).applied_to(stored)
    return outcomes


def _store(entry: BatchEntry, draft: FactDraft | None) -> WriteOutcome:
    if draft is None:
        return remember(entry.principal, entry.kind, entry.fields)
    with write(entry.principal, draft.scope) as w:
        return store_fact(w, draft)
