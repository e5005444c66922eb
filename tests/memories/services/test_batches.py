"""Many memories in one transaction are those that single calls would have left, each with an outcome of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from memories.errors import Blocked, InvalidInput, NotFound
from memories.models import CatalogEntry, Episode, Fact, OutboxEntry, Playbook
from memories.selectors.history.chains import verify_chains
from memories.services.apps import in_app
from memories.services.batches import BatchEntry, EntryOutcome, remember_batch
from memories.services.facts.remember import remember_fact
from memories.services.policies import set_policy
from memories.services.sessions.sessions import start_session
from memories.types import Kind, Scope, Status, WriteOutcome, WriteResult
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import SYSTEM, Principal
from tests.kills import killed_anywhere

pytestmark = pytest.mark.django_db

CARD = "4111 1111 1111 " + "1111"


def stored(principal: Principal, *entries: Mapping[str, Any], kind: Kind = Kind.SEMANTIC) -> list[EntryOutcome]:
    batch = {number: BatchEntry(principal, kind, fields) for number, fields in enumerate(entries)}
    outcomes = remember_batch(principal, batch)
    return [outcomes[number] for number in batch]


def results(outcomes: list[EntryOutcome]) -> list[object]:
    return [each.result if isinstance(each, WriteOutcome) else type(each) for each in outcomes]


def current(principal: Principal) -> set[str]:
    return set(Fact.objects.of(principal).current().values_list("text", flat=True))


def test_refused_entries_stop_no_other(principal: Principal) -> None:
    unknown = uuid4()
    outcomes = stored(
        principal,
        {"text": "Likes trains."},
        {"text": f"Pays with {CARD}."},
        {"text": ""},
        {"text": "Likes boats.", "supersedes_ids": [unknown]},
        {"text": "Likes planes.", "confidence": 7.0},
        {"text": "Likes trams."},
    )
    assert results(outcomes) == [
        *(WriteResult.CREATED, Blocked, InvalidInput, NotFound, InvalidInput, WriteResult.CREATED),
    ]
    assert current(principal) == {"Likes trains.", "Likes trams."}
    (blocked,) = AuditEvent.objects.filter(owner_id=principal.user_id, action="memory.blocked")
    assert CARD not in str(blocked.payload)


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([{"text": "Likes tea."}, {"text": "likes  tea"}], id="equal texts"),
        pytest.param([{"text": "Lives in Bath", "key": "city"}, {"text": "Lives in Ely", "key": "city"}], id="a key"),
        pytest.param([{"text": "Is known."}, {"text": "Lives in Bath", "key": "held"}], id="what was stored before"),
        pytest.param([{"text": "Born in 1990"}, {"text": "Born in 1991"}, {"text": "Has a dog."}], id="contradictions"),
        pytest.param([{"text": "One.", "task": "t", "scope": Scope.TASK}, {"text": "One."}], id="a task"),
    ],
)
def test_a_batch_leaves_what_single_calls_leave(
    principal: Principal, other_member: Principal, entries: list[dict[str, Any]]
) -> None:
    for each in (principal, other_member):
        remember_fact(each, text="Is known.")
        remember_fact(each, text="Held a key.", key="held")
    single = [remember_fact(other_member, **entry) for entry in entries]
    outcomes = stored(principal, *entries)
    assert results(outcomes) == [each.result for each in single]
    seen = [
        sorted(Fact.objects.of(each).values_list("text", "status", "key", "confidence"))
        for each in (principal, other_member)
    ]
    assert seen[0] == seen[1]
    assert verify_chains().ok


def test_every_kind_is_stored(principal: Principal) -> None:
    session = start_session(principal).pk
    entries = {
        0: BatchEntry(principal, Kind.EPISODIC, {"session_id": session, "text": "I like trains."}),
        1: BatchEntry(principal, Kind.PROCEDURAL, {"title": "Board", "steps": ["Walk.", "Sit."]}),
        2: BatchEntry(principal, Kind.CATALOG, {"title": "Timetable", "text": "Every hour."}),
        3: BatchEntry(principal, Kind.EPISODIC, {"session_id": uuid4(), "text": "I like boats."}),
    }
    outcomes = remember_batch(principal, entries)
    assert results([outcomes[n] for n in entries]) == [WriteResult.CREATED, WriteResult.CREATED, Forbidden, NotFound]
    assert (Episode.objects.of(principal).count(), Playbook.objects.of(principal).count()) == (1, 1)
    assert not CatalogEntry.objects.unscoped("a test counts").exists()


def test_each_entry_is_of_its_app(principal: Principal) -> None:
    set_policy(SYSTEM, tenant_id=principal.tenant_id, apps_apart=True)
    one, two = in_app(principal, "one"), in_app(principal, "two")
    fields = {"text": "Lives in Bath", "key": "city"}
    outcomes = remember_batch(
        principal, {n: BatchEntry(who, Kind.SEMANTIC, fields) for n, who in enumerate((one, two))}
    )
    assert results(list(outcomes.values())) == [WriteResult.CREATED, WriteResult.CREATED]
    assert sorted(Fact.objects.of(principal).values_list("app", flat=True)) == ["one", "two"]


def test_facts_that_meet_no_gate_cost_a_few_statements(
    principal: Principal, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    words = [f"Keeps the {number}th stamp of the collection in album {number * 7}." for number in range(300)]
    with django_assert_max_num_queries(60 + 300):  # at most one for each, to look for contradictions
        outcomes = stored(principal, *({"text": text} for text in words))
    assert set(results(outcomes)) == {WriteResult.CREATED}
    ids = {each.memory_id for each in outcomes if isinstance(each, WriteOutcome)}
    assert OutboxEntry.objects.filter(memory_id__in=ids).count() == 300
    assert AuditEvent.objects.filter(owner_id=principal.user_id, action="fact.created").count() == 300


def test_a_batch_is_whole_or_not_at_all(principal: Principal) -> None:
    entries = [{"text": "Likes tea.", "key": "drink"}, {"text": "Likes milk.", "key": "drink"}, {"text": "Rows."}]

    def state() -> list[Any]:
        return [list(Fact.objects.of(principal).values()), AuditEvent.objects.count(), OutboxEntry.objects.count()]

    assert killed_anywhere(lambda: stored(principal, *entries), state, every=3) > 10
    assert current(principal) == {"Likes milk.", "Rows."}


def test_one_may_not_name_anothers_memories(principal: Principal, other_member: Principal) -> None:
    theirs: UUID = remember_fact(other_member, text="Plays the flute.").memory_id
    (outcome,) = stored(principal, {"text": "Plays the drums.", "supersedes_ids": [theirs]})
    assert isinstance(outcome, NotFound)
    assert Fact.objects.of(other_member).get().status == Status.ACTIVE
