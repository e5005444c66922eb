"""Supersede, correct, retire: natural and harsh ends, merges, and a history that stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from memories.constants import HARSH_PENALTY
from memories.errors import Conflict, InvalidInput, NotFound
from memories.models import Fact, OutboxEntry, Playbook
from memories.recall.pipeline import recall
from memories.search.outbox import drain
from memories.selectors.memories import chain_of, history_of
from memories.services.erasure.forget import forget
from memories.services.facts.remember import remember_fact
from memories.services.facts.supersede import correct, retire, supersede
from memories.services.facts.undo import undo
from memories.services.playbooks import remember_playbook
from memories.services.sessions.episodes import remember_episode
from memories.services.sessions.sessions import start_session
from memories.types import Contradiction, Kind, Scope, Status, WriteResult
from tenants.models import AuditPayload
from tenants.principal import Principal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

MARCH, MAY, JULY = (datetime(2025, month, 1, tzinfo=UTC) for month in (3, 5, 7))


def test_a_natural_supersession_keeps_key_category_pin_and_task(principal: Principal) -> None:
    kept = {"key": "tap", "category": "home", "pinned": True, "scope": Scope.TASK, "task": "kitchen"}
    old = remember_fact(principal, text="The tap drips", **kept).memory_id  # type: ignore[arg-type]  # as named
    new = supersede(principal, old_ids=[old], text="The tap is fine").memory_id
    assert Fact.objects.filter(pk=new, **kept).exists()
    assert not Fact.objects.get(pk=old).retracted


def test_a_chain_with_a_merge_reads_oldest_first_from_any_of_its_states(principal: Principal) -> None:
    first = remember_fact(principal, text="Works at Acme").memory_id
    second = remember_fact(principal, text="Commutes by train").memory_id
    merged = supersede(principal, old_ids=[first, second], text="Works from home").memory_id
    last = supersede(principal, old_ids=[merged], text="Works in a shared studio").memory_id
    for start in (first, second, merged, last):
        assert [row.pk for row in chain_of(principal, Kind.SEMANTIC, start)] == [first, second, merged, last]


def test_the_same_wording_is_no_correction_and_an_episode_has_none(principal: Principal) -> None:
    fact = remember_fact(principal, text="Likes tea").memory_id
    with pytest.raises(InvalidInput):
        correct(principal, kind=Kind.SEMANTIC, memory_id=fact, text="likes  TEA")
    episode = remember_episode(principal, session_id=start_session(principal).pk, text="hello").memory_id
    with pytest.raises(Conflict):
        correct(principal, kind=Kind.EPISODIC, memory_id=episode, text="goodbye")


def test_correct_and_retire_isolate_others(principal: Principal, moved: tuple[UUID, UUID], stranger: Principal) -> None:
    own = remember_fact(stranger, text="Own").memory_id
    for theirs in moved:
        with pytest.raises(NotFound):
            correct(stranger, kind=Kind.SEMANTIC, memory_id=theirs, text="Mine")
        with pytest.raises(NotFound):
            retire(stranger, kind=Kind.SEMANTIC, memory_id=theirs)
        with pytest.raises(NotFound):
            retire(stranger, kind=Kind.SEMANTIC, memory_id=own, also_ids=[theirs])
        with pytest.raises(NotFound):
            chain_of(stranger, Kind.SEMANTIC, theirs)
    assert not history_of(stranger, [*moved])
    assert not Fact.objects.filter(retracted=True).exists()
    assert Fact.objects.get(pk=own).status == Status.ACTIVE


def test_what_follows_a_harsh_end_is_believed_less_once_and_the_audit_says_so(principal: Principal) -> None:
    old = remember_fact(principal, text="Has two cats").memory_id
    new = correct(principal, kind=Kind.SEMANTIC, memory_id=old, text="Has three cats").memory_id
    assert Fact.objects.get(pk=new).confidence == pytest.approx(1.0 - HARSH_PENALTY)
    created = AuditPayload.objects.get(event__target_id=new).data["after"]
    assert (created["confidence"], created["penalty"]) == (0.9, HARSH_PENALTY)
    again = remember_fact(principal, text="has three cats", confidence=0.5)
    assert (again.memory_id, Fact.objects.get(pk=new).confidence) == (new, 0.9)


def test_an_equal_fact_loses_no_belief_by_a_harsh_end_of_others(principal: Principal) -> None:
    true = remember_fact(principal, text="Has three cats").memory_id
    false = remember_fact(principal, text="Has two cats").memory_id
    outcome = supersede(principal, old_ids=[false], text="has three cats", contradiction=Contradiction.HARSH)
    assert (outcome.memory_id, outcome.result, Fact.objects.get(pk=true).confidence) == (true, WriteResult.MERGED, 1.0)


@pytest.mark.long
def test_a_chain_of_two_hundred_states_is_whole_and_read_from_its_middle(principal: Principal) -> None:
    for number in range(200):
        remember_fact(principal, text=f"Weighs {number} stone", key="weight", learned_at=MARCH + timedelta(number))
    states = list(Fact.objects.order_by("learned_at"))
    assert [row.pk for row in chain_of(principal, Kind.SEMANTIC, states[100].pk)] == [row.pk for row in states]
    drain()
    then = MARCH + timedelta(days=42, hours=1)
    assert [item.text for item in recall(principal, "what do I weigh?", as_of=then).items] == ["Weighs 42 stone"]


def test_several_are_retired_at_once_or_none(principal: Principal) -> None:
    first, second, third = (remember_fact(principal, text=text).memory_id for text in ("A", "B", "C"))
    with pytest.raises(NotFound):
        retire(principal, kind=Kind.SEMANTIC, memory_id=first, also_ids=[second, uuid4()])
    assert Fact.objects.current().count() == 3
    outcome = retire(principal, kind=Kind.SEMANTIC, memory_id=first, also_ids=[second])
    assert outcome.superseded_ids == (first, second)
    assert Fact.objects.current().get().pk == third


def test_what_never_was_is_retired_harshly_and_its_validity_stays_as_claimed(principal: Principal) -> None:
    fact = remember_fact(principal, text="Lived in Hull", valid_from=MARCH, learned_at=MAY).memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact, contradiction=Contradiction.HARSH)
    row = Fact.objects.get(pk=fact)
    assert (row.retracted, row.valid_from, row.valid_to) == (True, MARCH, None)
    drain()
    assert [item.text for item in recall(principal, "Hull?", as_of=JULY).items] == ["Lived in Hull"]


def test_when_it_stopped_being_true_can_be_told(principal: Principal) -> None:
    fact = remember_fact(principal, text="Lives in Hull", valid_from=MARCH).memory_id
    retire(principal, kind=Kind.SEMANTIC, memory_id=fact, valid_to=MAY)
    assert Fact.objects.get(pk=fact).valid_to == MAY
    with pytest.raises(InvalidInput, match="valid_to"):
        retire(principal, kind=Kind.SEMANTIC, memory_id=fact, valid_to=MAY.replace(tzinfo=None))


def test_an_end_that_was_known_is_not_put_off_by_a_supersession(principal: Principal) -> None:
    old = remember_fact(principal, text="Works at Acme", key="job", valid_from=MARCH, valid_to=MAY).memory_id
    remember_fact(principal, text="Works at Globex", key="job", valid_from=JULY)
    assert Fact.objects.get(pk=old).valid_to == MAY


@pytest.mark.parametrize(
    ("scope", "task"),
    [
        pytest.param(Scope.USER, "", id="downward"),
        pytest.param(Scope.TASK, "bathroom", id="sideways"),
    ],
)
def test_no_write_replaces_what_is_in_another_scope_or_task(principal: Principal, scope: Scope, task: str) -> None:
    old = remember_fact(principal, text="The tap drips", scope=Scope.TASK, task="kitchen").memory_id
    with pytest.raises(Conflict, match="scope and task"):
        remember_fact(principal, text="The tap is fine", supersedes_ids=[old], scope=scope, task=task)
    assert Fact.objects.get().status == Status.ACTIVE


def test_a_write_in_a_task_does_not_reach_up_to_its_user_or_tenant(
    principal: Principal, admin_principal: Principal
) -> None:
    own = remember_fact(principal, text="The tap drips").memory_id
    shared = remember_fact(admin_principal, text="The tap drips", scope=Scope.TENANT).memory_id
    for above, refusal in ((own, Conflict), (shared, NotFound)):
        with pytest.raises(refusal):
            remember_fact(principal, text="The tap is fine", supersedes_ids=[above], scope=Scope.TASK, task="kitchen")
    assert Fact.objects.current().count() == 2


# Correcting the past.


@pytest.fixture
def moved(principal: Principal) -> tuple[UUID, UUID]:
    """Ada lived in Bristol from March, so it was said, and lives in Leeds since May."""
    bristol = remember_fact(
        principal, text="Lives in Bristol", key="home_city", category="home", valid_from=MARCH, learned_at=MARCH
    ).memory_id
    return bristol, remember_fact(principal, text="Lives in Leeds", key="home_city", learned_at=MAY).memory_id


def test_what_was_replaced_is_corrected_where_it_stands(principal: Principal, moved: tuple[UUID, UUID]) -> None:
    bristol, leeds = moved
    outcome = correct(principal, kind=Kind.SEMANTIC, memory_id=bristol, text="Lives in Bath", reason="misheard")
    wrong, right = Fact.objects.get(pk=bristol), Fact.objects.get(pk=outcome.memory_id)
    assert (wrong.retracted, wrong.contradiction, wrong.superseded_by_id) == (True, "harsh", right.pk)
    assert (right.superseded_by_id, right.status, right.contradiction) == (leeds, Status.SUPERSEDED, "natural")
    assert (right.key, right.category, right.confidence) == ("home_city", "home", 0.9)
    assert (right.valid_from, right.valid_to) == (wrong.valid_from, wrong.valid_to) == (MARCH, MAY)
    assert wrong.superseded_at == right.learned_at == right.superseded_at == MAY
    assert Fact.objects.current().get().pk == leeds
    assert [row.pk for row in chain_of(principal, Kind.SEMANTIC, leeds)] == [bristol, right.pk, leeds]


def test_as_of_still_answers_with_what_was_believed(principal: Principal, moved: tuple[UUID, UUID]) -> None:
    correct(principal, kind=Kind.SEMANTIC, memory_id=moved[0], text="Lives in Bath")
    drain()
    for then, believed in ((MARCH, "Lives in Bristol"), (MAY, "Lives in Leeds"), (JULY, "Lives in Leeds")):
        assert [item.text for item in recall(principal, "where do I live?", as_of=then).items] == [believed]
    whole = recall(principal, "where do I live?", include_superseded=True).items
    assert {item.text: item.retracted for item in whole} == {
        "Lives in Bristol": True,
        "Lives in Bath": False,
        "Lives in Leeds": False,
    }


def test_the_past_can_be_corrected_again_but_not_what_is_known_to_be_wrong(
    principal: Principal, moved: tuple[UUID, UUID]
) -> None:
    bath = correct(principal, kind=Kind.SEMANTIC, memory_id=moved[0], text="Lives in Bath").memory_id
    correct(principal, kind=Kind.SEMANTIC, memory_id=bath, text="Lives in Wells")
    with pytest.raises(Conflict, match="marked as wrong already"):
        correct(principal, kind=Kind.SEMANTIC, memory_id=bath, text="Lives in Frome")


def test_the_past_is_corrected_beside_a_state_that_was_forgotten(principal: Principal) -> None:
    first, second = (
        remember_fact(principal, text=text, key="home_city", learned_at=at).memory_id
        for text, at in (("Lives in Bristol", MARCH), ("Lives in Hull", MAY))
    )
    third = remember_fact(principal, text="Lives in Leeds", key="home_city", learned_at=JULY).memory_id
    forget(principal, kind=Kind.SEMANTIC, memory_id=second)
    right = correct(principal, kind=Kind.SEMANTIC, memory_id=first, text="Lives in Bath").memory_id
    assert Fact.objects.get(pk=right).superseded_by_id == third


def test_the_steps_of_a_replaced_playbook_are_corrected(principal: Principal) -> None:
    first = remember_playbook(principal, title="Reset", steps=["Pull"]).memory_id
    second = correct(principal, kind=Kind.PROCEDURAL, memory_id=first, text="Pull\nWait").memory_id
    third = correct(principal, kind=Kind.PROCEDURAL, memory_id=second, text="Pull\nWait\nPush").memory_id
    undone = undo(principal, kind=Kind.PROCEDURAL, memory_id=third).memory_id
    retire(principal, kind=Kind.PROCEDURAL, memory_id=undone)
    fixed = correct(principal, kind=Kind.PROCEDURAL, memory_id=undone, text="Pull it\nWait").memory_id
    assert Playbook.objects.get(pk=fixed).steps == ["Pull it", "Wait"]
    assert Playbook.objects.get(pk=undone).superseded_by_id == fixed


@pytest.mark.parametrize(
    ("text", "reason"), [("lives in BRISTOL", "says the same"), ("", "is empty"), ("x" * 9_000, "is too long")]
)
def test_a_correction_of_the_past_that_cannot_be_changes_nothing(
    principal: Principal, moved: tuple[UUID, UUID], text: str, reason: str
) -> None:
    before = list(Fact.objects.order_by("pk").values()), OutboxEntry.objects.count()
    with pytest.raises(InvalidInput, match=reason):
        correct(principal, kind=Kind.SEMANTIC, memory_id=moved[0], text=text)
    assert (list(Fact.objects.order_by("pk").values()), OutboxEntry.objects.count()) == before
