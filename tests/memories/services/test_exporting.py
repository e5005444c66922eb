"""Exporting memories: all of the owner's, nobody else's, and what is imported again exports the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memories.importing import MemoryRecord, parse_memories
from memories.importing.records import ItemRecord, record_line
from memories.models import Fact
from memories.selectors.memories import list_memories
from memories.services.erasure.forget import forget
from memories.services.facts.promote import promote
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.services.portability.memories_export import count_for_export, export_memories
from memories.services.portability.memories_import import import_memories
from memories.services.retention.dates import confirm_fact
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Scope, Source, Status
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import ActorKind, Principal, Right
from tests.memories.retelling import retell

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

MARCH, MAY = datetime(2025, 3, 1, tzinfo=UTC), datetime(2025, 5, 1, tzinfo=UTC)
SOON, LATER = datetime(2100, 1, 1, tzinfo=UTC), datetime(2100, 5, 1, tzinfo=UTC)


# What an export tells of the whole life of a memory.
LIFE = (
    "review_after", "expires_at", "last_verified_at", "archived_at", "evicted_at", "evicted_from", "restores",
    "promoted_from",
)  # fmt: skip


def live_a_little(principal: Principal) -> None:
    """Leave a memory of every kind, status and relation."""
    session = start_session(principal, created_at=MARCH).pk
    said = remember_episode(
        principal, session_id=session, text="I live in Bristol", speaker="Ada", happened_at=MARCH
    ).memory_id
    remember_episode(principal, session_id=session, text="Look", context="a cat", speaker="Olaf", happened_at=MAY)
    known: dict[str, Any] = {"key": "home_city", "learned_at": MARCH, "supporting_episode_ids": [said], "pinned": True}
    home = remember_fact(principal, text="Lives in Bristol", **known).memory_id
    leeds = supersede(principal, old_ids=[home], text="Lives in Leeds", valid_from=MAY).memory_id
    correct(principal, kind=Kind.SEMANTIC, memory_id=leeds, text="Lives in York")
    one, two = (
        remember_fact(principal, text=text, learned_at=MARCH, source=Source.PATTERN).memory_id
        for text in ("Cat", "Dog")
    )
    remember_fact(principal, text="Has pets", supersedes_ids=[one, two], category="home")
    gone = remember_fact(principal, text="Rents a van", key="van", learned_at=MARCH).memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=gone)
    remember_fact(principal, text="Owns a van", key="van")
    remember_fact(principal, text="Boxes are packed", scope=Scope.TASK, task="move")
    old = remember_playbook(principal, title="Bleed", steps=["open"], success_count=2, last_success_at=MAY).memory_id
    correct(principal, kind=Kind.PROCEDURAL, memory_id=old, text="open\npush")
    Fact.objects.of(principal).filter(text="Has pets").update(status=Status.STALE)
    evicted = remember_fact(principal, text="Likes rain", learned_at=MARCH).memory_id
    Fact.objects.of(principal).filter(pk=evicted).update(
        status=Status.EVICTED, evicted_at=MAY, evicted_from=Status.STALE
    )
    Fact.objects.of(principal).filter(text="Lives in Bristol").update(archived_at=SOON)
    Fact.objects.of(principal).filter(text="Rents a van").update(
        status=Status.EVICTED, evicted_at=MAY, evicted_from=Status.SUPERSEDED
    )
    retell(principal, *Fact.objects.of(principal).values_list("pk", flat=True))
    retire(principal, kind=Kind.SEMANTIC, memory_id=remember_fact(principal, text="Sings", key="hobby").memory_id)
    undo(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.of(principal).get(text="Sings").pk)
    boxes = Fact.objects.of(principal).get(text="Boxes are packed").pk
    promote(principal, kind=Kind.SEMANTIC, memory_id=boxes, to=Scope.USER)
    tea = remember_fact(principal, text="Prefers tea", learned_at=MARCH).memory_id
    confirm_fact(principal, fact_id=tea)
    remember_fact(principal, text="Prefers rail", expires_at=LATER, review_after=SOON)


def memories_in(exported: Iterable[MemoryRecord | ItemRecord]) -> list[MemoryRecord]:
    return [each for each in exported if isinstance(each, MemoryRecord)]


def nameless(exported: Iterable[MemoryRecord | ItemRecord]) -> list[str]:
    """The lines of an export with each id replaced by its text, for comparing two owners' exports."""
    records = memories_in(exported)
    text = {record.id: f"{record.title}{record.text}" for record in records}
    sessions = {record.session: f"session {n}" for n, record in enumerate(records)}
    return sorted(
        record_line(
            replace(
                record,
                id=text[record.id],
                session=sessions[record.session] if record.session else "",
                supersedes=tuple(sorted(text[name] for name in record.supersedes)),
                supported_by=tuple(sorted(text[name] for name in record.supported_by)),
                restores=text.get(record.restores, ""),
                promoted_from=text.get(record.promoted_from, ""),
            )
        )
        for record in records
    )


def test_what_is_imported_again_exports_the_same(principal: Principal, other_tenant_member: Principal) -> None:
    live_a_little(principal)
    lines = [record_line(record) for record in export_memories(principal)]
    import_memories(other_tenant_member, parse_memories(lines))
    again = nameless(export_memories(other_tenant_member))
    assert again == nameless(parse_memories(lines))
    assert len(again) == 19
    told = "".join(again)
    assert all(f'"{name}"' in told for name in LIFE)


def test_an_export_imported_by_its_own_member_adds_nothing(principal: Principal) -> None:
    live_a_little(principal)
    records = memories_in(export_memories(principal))
    report = import_memories(principal, records)
    assert (report.total_added, report.merged, report.known) == (0, 0, len(records))
    assert list(export_memories(principal)) == records


def test_who_imports_a_memory_says_that_it_holds_now_even_after_its_end(principal: Principal) -> None:
    record = MemoryRecord(kind=Kind.SEMANTIC, text="Prefers tea", learned_at=MARCH)
    import_memories(principal, [replace(record, id="first", expires_at=MAY)])
    assert not list_memories(principal, Kind.SEMANTIC)
    import_memories(principal, [replace(record, id="second")])
    fact = Fact.objects.get()
    assert ([row.pk for row in list_memories(principal, Kind.SEMANTIC)], fact.learned_at) == ([fact.pk], MARCH)
    assert fact.review_after > timezone.now() + timedelta(days=89)  # type: ignore[operator]  # it has one


def test_an_erased_link_of_a_chain_leaves_an_export_that_can_be_imported(
    principal: Principal, other_member: Principal
) -> None:
    live_a_little(principal)
    forget(principal, kind=Kind.SEMANTIC, memory_id=Fact.objects.of(principal).get(text="Lives in Leeds").pk)
    import_memories(other_member, memories_in(export_memories(principal)))
    theirs = Fact.objects.of(other_member)
    assert theirs.get(text="Lives in Bristol").superseded_by == theirs.get(text="Lives in York")


def test_an_export_is_recorded_before_anything_leaves(principal: Principal) -> None:
    export_memories(principal)
    assert AuditEvent.objects.get(action="memory.exported").owner_id == principal.user_id
    with pytest.raises(Forbidden):
        export_memories(replace(principal, rights=frozenset({Right.WRITE})))


def test_an_export_isolates_other_members(principal: Principal, other_member: Principal) -> None:
    live_a_little(other_member)
    assert list(export_memories(principal, catalog=True)) == []
    assert count_for_export(principal) == 0


def test_an_export_isolates_other_tenants(principal: Principal, other_tenant_member: Principal) -> None:
    entry = MemoryRecord(kind=Kind.CATALOG, title="Price list", text="Confidential")
    import_memories(replace(other_tenant_member, actor_kind=ActorKind.SYSTEM), [entry])
    live_a_little(other_tenant_member)
    assert list(export_memories(principal, catalog=True)) == []


def test_the_catalog_is_exported_when_asked_for(principal: Principal) -> None:
    source = "https://shop.example/r"
    entry = MemoryRecord(kind=Kind.CATALOG, title="Returns", text="Within 30 days.", source_url=source)
    import_memories(replace(principal, actor_kind=ActorKind.SYSTEM), [entry])
    (exported,) = memories_in(export_memories(principal, catalog=True))
    assert (exported.title, exported.source_url) == ("Returns", source)
    assert list(export_memories(principal)) == []


def test_an_export_asks_the_database_a_few_times_whatever_its_length(
    principal: Principal, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    import_memories(principal, [MemoryRecord(kind=Kind.SEMANTIC, text=f"fact {n}") for n in range(40)])
    with django_assert_max_num_queries(20):
        assert len(list(export_memories(principal))) == 40
