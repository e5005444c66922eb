"""Facts: the gates, the supersession, and what a refused write leaves behind (nothing)."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact, OutboxEntry
from memories.services.facts.remember import pin_fact, remember_fact
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Contradiction, Scope, Source, Status, WriteResult
from tenants.errors import Forbidden
from tenants.models import AuditEvent
from tenants.principal import Principal, Right

pytestmark = pytest.mark.django_db

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_new_fact_is_stored_with_audit_and_outbox(principal: Principal) -> None:
    outcome = remember_fact(principal, text="Lives in Bristol", key="home_city")
    fact = Fact.objects.of(principal).get(pk=outcome.memory_id)
    assert (outcome.result, fact.status, fact.confidence) == (WriteResult.CREATED, Status.ACTIVE, 1.0)
    assert AuditEvent.objects.get(target_id=fact.pk).action == "fact.created"
    assert OutboxEntry.objects.get(memory_id=fact.pk).version == 1


def test_the_same_key_with_another_value_supersedes_but_not_in_a_task(principal: Principal) -> None:
    old = remember_fact(principal, text="Lives in Bristol", key="home_city")
    task = remember_fact(principal, text="Lives in Bath", key="home_city", scope=Scope.TASK, task="kitchen")
    new = remember_fact(principal, text="Lives in Edinburgh", key="home_city")
    row = Fact.objects.get(pk=old.memory_id)
    assert (task.result, new.result) == (WriteResult.CREATED, WriteResult.SUPERSEDED)
    assert new.superseded_ids == (old.memory_id,)
    assert (row.status, row.superseded_by_id, row.retracted) == (Status.SUPERSEDED, new.memory_id, False)
    assert row.text == "Lives in Bristol" and Fact.objects.of(principal).current().count() == 2


@pytest.mark.parametrize(
    "again",
    [
        pytest.param("lives in  bristol", id="case and spaces"),
        pytest.param("Lives in Bristol.", id="full stop"),
        pytest.param("Ｌives in Bristol", id="full-width letter"),
    ],
)
def test_the_same_wording_merges(principal: Principal, again: str) -> None:
    first = remember_fact(principal, text="Lives in Bristol", source=Source.AGENT_INFERRED)
    second = remember_fact(principal, text=again, source=Source.USER_STATED, key="home_city")
    fact = Fact.objects.of(principal).get()
    assert (second.result, second.memory_id) == (WriteResult.MERGED, first.memory_id)
    assert (fact.confidence, fact.key) == (1.0, "home_city")
    assert fact.last_verified_at is not None


def test_a_merge_unites_the_support(principal: Principal) -> None:
    session = start_session(principal)
    episodes = [remember_episode(principal, session_id=session.pk, text=text).memory_id for text in ("one", "two")]
    for episode in episodes:
        remember_fact(principal, text="Likes tea", supporting_episode_ids=[episode])
    support = Fact.objects.get().supporting_episodes.values_list("pk", flat=True)
    assert set(support) == set(episodes)


def test_what_replaces_a_fact_and_names_no_category_stays_in_that_one(principal: Principal) -> None:
    tea = remember_fact(principal, text="Drinks tea", key="drink", category="preference").memory_id
    mate = remember_fact(principal, text="Drinks mate", key="drink").memory_id
    named = remember_fact(principal, text="Prefers cocoa", supersedes_ids=[mate]).memory_id
    other = remember_fact(principal, text="Sells cocoa", category="work", supersedes_ids=[named]).memory_id
    free = remember_fact(principal, text="Has a kettle").memory_id
    found = Fact.objects.in_bulk([tea, mate, named, other, free])
    assert [found[pk].category for pk in (mate, named, other, free)] == ["preference", "preference", "work", ""]


def test_an_old_value_that_comes_back_is_a_new_fact(principal: Principal) -> None:
    bristol = remember_fact(principal, text="Lives in Bristol", key="home_city")
    remember_fact(principal, text="Lives in Edinburgh", key="home_city")
    back = remember_fact(principal, text="Lives in Bristol", key="home_city")
    assert back.result is WriteResult.SUPERSEDED
    assert back.memory_id != bristol.memory_id
    assert Fact.objects.of(principal).current().count() == 1


def test_an_older_statement_of_the_same_key_joins_the_history(principal: Principal) -> None:
    now = remember_fact(principal, text="Lives in Edinburgh", key="home_city", learned_at=MARCH)
    then = remember_fact(principal, text="Lives in Bristol", key="home_city", learned_at=MARCH - timedelta(days=400))
    row = Fact.objects.get(pk=then.memory_id)
    assert Fact.objects.of(principal).current().get().pk == now.memory_id
    assert (row.status, row.superseded_by_id, row.superseded_at) == (Status.SUPERSEDED, now.memory_id, MARCH)


def test_the_same_fact_id_twice_changes_nothing(principal: Principal) -> None:
    chosen = uuid.uuid4()
    remember_fact(principal, text="One", fact_id=chosen)
    again = remember_fact(principal, text="Two", fact_id=chosen)
    assert (again.result, Fact.objects.get().text) == (WriteResult.MERGED, "One")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        pytest.param({"text": "  \u200f "}, "text", id="nothing visible"),
        pytest.param({"text": "a\x00b"}, "text", id="NUL"),
        pytest.param({"text": "\ud800"}, "text", id="lone surrogate"),
        pytest.param({"text": "x" * 1_000_000}, "text", id="a megabyte"),
        pytest.param({"text": "x", "confidence": 1.5}, "confidence", id="confidence"),
        pytest.param({"text": "x", "valid_from": datetime(2026, 1, 1)}, "valid_from", id="no time zone"),  # noqa: DTZ001
        pytest.param({"text": "x", "valid_from": MARCH, "valid_to": MARCH - timedelta(1)}, "valid_to", id="backwards"),
        pytest.param({"text": "x", "scope": Scope.TASK}, "task", id="task scope without a task"),
    ],
)
def test_bad_input_is_refused_and_stores_nothing(
    principal: Principal, arguments: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        remember_fact(principal, **arguments)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.field == field
    assert not Fact.objects.exists()
    assert not AuditEvent.objects.filter(action__startswith="fact").exists()


def test_one_fact_supersedes_several_and_none_that_is_superseded(principal: Principal) -> None:
    olds = [remember_fact(principal, text=f"Old {n}").memory_id for n in range(3)]
    new = remember_fact(principal, text="New", supersedes_ids=olds, contradiction=Contradiction.HARSH)
    assert set(new.superseded_ids) == set(olds)
    assert Fact.objects.filter(superseded_by=new.memory_id, retracted=True).count() == 3
    with pytest.raises(Conflict):
        remember_fact(principal, text="Newer", supersedes_ids=olds[:1])
    assert Fact.objects.count() == 4


def test_superseding_isolates_others(principal: Principal, stranger: Principal) -> None:
    theirs = remember_fact(stranger, text="Theirs", key="home_city").memory_id
    for unknown in (theirs, uuid.uuid4()):
        with pytest.raises(NotFound):
            remember_fact(principal, text="Mine", supersedes_ids=[unknown])
    assert Fact.objects.get().pk == theirs
    remember_fact(principal, text="Theirs", key="home_city")
    assert Fact.objects.get(pk=theirs).status == Status.ACTIVE


def test_support_must_be_the_owners(principal: Principal, stranger: Principal) -> None:
    episode = remember_episode(stranger, session_id=start_session(stranger).pk, text="secret").memory_id
    with pytest.raises(NotFound):
        remember_fact(principal, text="Mine", supporting_episode_ids=[episode])


def test_a_principal_without_the_right_cannot_write(principal: Principal) -> None:
    with pytest.raises(Forbidden):
        remember_fact(replace(principal, rights=frozenset({Right.READ})), text="x")


def test_pinning_is_audited_and_idempotent(principal: Principal) -> None:
    fact = remember_fact(principal, text="Allergic to nuts").memory_id
    pin_fact(principal, fact_id=fact, pinned=True)
    pin_fact(principal, fact_id=fact, pinned=True)
    assert Fact.objects.get(pk=fact).pinned
    assert AuditEvent.objects.filter(target_id=fact, action="fact.pinned").count() == 1


def test_a_pinned_slot_stays_pinned_and_pins_nothing_else(principal: Principal) -> None:
    home = remember_fact(principal, text="Lives in Bristol", key="home_city", pinned=True).memory_id
    moved = remember_fact(principal, text="Lives in Leeds", key="home_city").memory_id
    assert Fact.objects.get(pk=home).superseded_by_id == moved
    assert Fact.objects.get(pk=moved).pinned
    other = remember_fact(principal, text="Obeys the pirate", supersedes_ids=[moved]).memory_id
    assert not Fact.objects.get(pk=other).pinned
