"""Sweeping: who is due, and that nobody's failure keeps others waiting."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from memories.consolidation.material import FaultKind, Material, Proposal
from memories.models import ConsolidationRun, EpisodeLedger, Fact, MemoryPolicy, Trigger
from memories.services.consolidation import Busy, consolidate, running
from memories.services.consolidation.running import Due, consolidate_owner, due, sweep
from memories.services.sessions.turns import begin_turn, finish_turn
from tenants.errors import Forbidden
from tenants.models import Membership
from tenants.principal import Principal
from tests.memories.services.consolidation.conftest import ScriptedExtractor, fault, literally, tell

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _by_batch(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEMORYHUB_CONSOLIDATE = "batch"
    monkeypatch.setattr(
        "memories.services.consolidation.running.consolidation_extractor", lambda: ScriptedExtractor([literally])
    )


def triggers() -> list[Trigger]:
    return [owner.trigger for owner in due(timezone.now())]


def test_twenty_new_episodes_are_due_and_one_after_a_day(principal: Principal) -> None:
    tell(principal, *(f"Owns map {number}" for number in range(19)))
    EpisodeLedger.objects.update(waiting_since=timezone.now() - timedelta(hours=23))
    assert triggers() == []
    EpisodeLedger.objects.update(waiting_since=timezone.now() - timedelta(hours=24))
    assert triggers() == [Trigger.AGE]
    tell(principal, "Owns map 19")
    assert triggers() == [Trigger.COUNT]


def test_a_tenant_decides_for_its_members_alone(principal: Principal, other_tenant_member: Principal) -> None:
    MemoryPolicy.objects.create(tenant_id=principal.tenant_id, consolidate_every=2)
    for somebody in (principal, other_tenant_member):
        tell(somebody, "Plays the cello", "Keeps bees")
    assert [(owner.tenant_id, owner.user_id) for owner in due(timezone.now())] == [
        (principal.tenant_id, principal.user_id)
    ]


def test_every_turn_is_due_in_the_mode_turn(principal: Principal, settings: Settings) -> None:
    settings.MEMORYHUB_CONSOLIDATE = "turn"
    tell(principal, "Plays the cello")
    assert triggers() == [Trigger.TURN]
    sweep()
    assert Fact.objects.of(principal).get().text == "Plays the cello"
    assert triggers() == []


@pytest.mark.django_db(transaction=True)
def test_the_end_of_a_turn_wakes_the_consolidator_in_the_mode_turn(
    principal: Principal, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    monkeypatch.setattr("memories.services.sessions.episodes.wake_on_commit", woken.append)
    for mode, wakes in (("batch", []), ("turn", ["memories.consolidate"])):
        settings.MEMORYHUB_CONSOLIDATE = mode
        turn = begin_turn(principal, text="Plays the cello")
        assert woken == []
        finish_turn(principal, session_id=turn.session_id, turn=turn.turn, text="Noted.")
        assert woken == wakes


@pytest.mark.parametrize(("mode", "seconds"), [("off", 60.0), ("batch", -1.0)], ids=["on demand alone", "time is over"])
def test_a_sweep_begins_nobody(
    principal: Principal, settings: Settings, monkeypatch: pytest.MonkeyPatch, mode: str, seconds: float
) -> None:
    settings.MEMORYHUB_CONSOLIDATE = mode
    monkeypatch.setattr(running, "SWEEP_SECONDS", seconds)
    tell(principal, *(f"Owns map {number}" for number in range(30)))
    assert sweep() == []
    assert not ConsolidationRun.objects.exists()


def test_a_failure_waits_for_its_time_and_keeps_nobody_else(
    principal: Principal, other_member: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for somebody in (principal, other_member):
        tell(somebody, *(f"Owns map {number}" for number in range(20)))
    consolidate(principal, extractor=ScriptedExtractor([fault(FaultKind.PASSING)]))
    assert [report.episodes for report in sweep()] == [20]
    assert Fact.objects.of(other_member).count() == 20
    EpisodeLedger.objects.of(principal).update(retry_at=timezone.now())
    assert triggers() == [Trigger.RETRY]
    assert [report.episodes for report in sweep()] == [20]


def test_an_ended_membership_waits(principal: Principal, membership: Membership) -> None:
    tell(principal, *(f"Owns map {number}" for number in range(20)))
    Membership.objects.filter(pk=membership.pk).update(is_active=False)
    assert triggers() == [] and sweep() == []
    assert not Fact.objects.exists()


def test_owners_take_turns(principal: Principal, other_member: Principal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "OWNER_SECONDS", 0.0)
    tell(principal, *(f"Owns map {number}" for number in range(60)))
    tell(other_member, *(f"Owns map {number}" for number in range(20)))
    assert [report.episodes for report in sweep()] == [20, 20, 20, 20]
    runs = ConsolidationRun.objects.order_by("started_at").values_list("user_id", flat=True)
    assert list(runs) == [principal.user_id, other_member.user_id, principal.user_id, principal.user_id]


def test_a_batch_that_is_halved_is_finished_whatever_the_time(
    principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "OWNER_SECONDS", 0.0)
    useless = ScriptedExtractor([fault(FaultKind.UNUSABLE)])
    monkeypatch.setattr("memories.services.consolidation.running.consolidation_extractor", lambda: useless)
    tell(principal, *(f"Owns map {number}" for number in range(20)))
    assert [(report.given_up, report.waiting) for report in sweep()] == [(1, 19)]
    assert EpisodeLedger.objects.get().consolidated == 1


def test_a_lease_from_a_clock_that_was_put_back_is_free(principal: Principal) -> None:
    tell(principal, *(f"Owns map {number}" for number in range(20)))
    EpisodeLedger.objects.update(leased_until=timezone.now() + timedelta(minutes=1))
    assert triggers() == []
    with pytest.raises(Busy):
        consolidate(principal)
    EpisodeLedger.objects.update(leased_until=timezone.now() + timedelta(hours=1))
    assert triggers() == [Trigger.COUNT]
    assert consolidate(principal).episodes == 20


@pytest.mark.parametrize("ends", [True, False])
def test_a_membership_that_ends_meanwhile_is_no_error(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, ends: bool
) -> None:
    tell(principal, "Plays the cello")

    def read(material: Material) -> list[Proposal]:
        Membership.objects.filter(pk=principal.membership_id).update(is_active=not ends)
        return literally(material)

    extractor = ScriptedExtractor([read])
    monkeypatch.setattr(running, "consolidation_extractor", lambda: extractor)
    monkeypatch.setattr(running, "apply", refused)  # as by something unexpected, where the membership did not end
    caplog.set_level("INFO", logger="memories.services.consolidation")
    consolidate_owner(Due(principal.tenant_id, principal.user_id, Trigger.AGE))
    told = [(each.levelname, each.message) for each in caplog.records if each.name.startswith("memories.services.")]
    if ends:
        assert told == [("INFO", "A consolidation was put off: This membership is not active.")]
    else:
        assert [level for level, _ in told] == ["ERROR"] and "Forbidden" in told[0][1]
    assert Fact.objects.of(principal).count() == 0


def refused(*_: object, **__: object) -> None:
    raise Forbidden("This is somebody else's.")
