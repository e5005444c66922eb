"""One episode that fails each time: what is behind it is learned, and it is given up by itself, where people see it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from memories.consolidation.material import Material, Proposal
from memories.errors import InvalidInput
from memories.models import ConsolidationRun, EpisodeLedger, Fact, RunState
from memories.selectors.runs import backlog_of
from memories.services.consolidation import RunReport, applying, consolidate, gathering, ledger, rerun, running
from memories.services.consolidation.running import sweep
from memoryhub.leases import EQUAL_FAILURES
from tenants.models import AuditEvent
from tenants.principal import Principal
from tests.memories.services.consolidation.conftest import ScriptedExtractor, literally, tell

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("everything_is_whole")]

POISON = "Drinks hemlock"
SAID = [f"Owns map {number}" for number in range(9)]
Spoils = Callable[[pytest.MonkeyPatch, Exception], Any]


class Killed(BaseException):
    """The process is gone."""


def poisoned(words: object, error: BaseException) -> None:
    if POISON in repr(words):
        raise error


def in_gather(patch: pytest.MonkeyPatch, error: BaseException) -> ScriptedExtractor:
    whole = gathering.gather

    def gather(principal: Principal, episodes: Collection[Any]) -> Material:
        poisoned([episode.text for episode in episodes], error)
        return whole(principal, list(episodes))

    patch.setattr(running, "gather", gather)
    return ScriptedExtractor([literally])


def in_extract(_: pytest.MonkeyPatch, error: BaseException) -> ScriptedExtractor:
    def extract(material: Material) -> list[Proposal]:
        poisoned(material, error)
        return literally(material)

    return ScriptedExtractor([extract])


def in_apply(patch: pytest.MonkeyPatch, error: BaseException) -> ScriptedExtractor:
    whole = applying.apply

    def apply(w: Any, decisions: Any, **there: Any) -> Any:
        applied = whole(w, decisions, **there)
        poisoned(decisions, error)
        return applied

    patch.setattr(running, "apply", apply)
    return ScriptedExtractor([literally])


everywhere = pytest.mark.parametrize("spoil", [in_gather, in_extract, in_apply])


def texts(principal: Principal) -> list[str]:
    return sorted(Fact.objects.of(principal).values_list("text", flat=True))


def repeated(principal: Principal, extractor: ScriptedExtractor, times: int = EQUAL_FAILURES) -> list[RunReport]:
    return [consolidate(principal, extractor=extractor) for _ in range(times)]


@everywhere
@pytest.mark.parametrize("place", [0, 5], ids=["first", "in the middle"])
def test_one_episode_that_fails_each_time_is_given_up_and_all_others_are_learned(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, spoil: Spoils, place: int
) -> None:
    tell(principal, *SAID[:place], POISON, *SAID[place:])
    with monkeypatch.context() as patch:
        *waited, last = repeated(principal, spoil(patch, InvalidInput("query", POISON)))
    assert [(report.waiting, report.given_up) for report in waited] == [(10, 0)] * (EQUAL_FAILURES - 1)
    assert (last.waiting, last.given_up, texts(principal)) == (0, 1, SAID)
    run = ConsolidationRun.objects.get(given_up=True)
    assert (run.state, run.first_ordinal, run.last_ordinal) == (RunState.FAILED, place + 1, place + 1)
    assert "InvalidInput in memories.services.consolidation.running" in run.error and POISON not in run.error
    assert AuditEvent.objects.filter(action="consolidation.given_up", target_id=run.pk).exists()
    assert (backlog_of(principal).given_up, backlog_of(principal).retry_at) == (1, None)
    assert rerun(principal, run.pk, extractor=ScriptedExtractor([literally])).decisions == {"created": 1}
    assert backlog_of(principal).given_up == 0


@everywhere
def test_what_passes_waits_and_is_never_given_up(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, spoil: Spoils
) -> None:
    tell(principal, POISON, *SAID)
    with monkeypatch.context() as patch:
        reports = repeated(principal, spoil(patch, OperationalError("database is locked")), 2 * EQUAL_FAILURES)
    assert {(report.waiting, report.given_up, len(report.runs)) for report in reports} == {(10, 0, 1)}
    retry_at = EpisodeLedger.objects.get().retry_at
    assert retry_at is not None and retry_at > timezone.now()
    assert consolidate(principal, extractor=ScriptedExtractor([literally])).episodes == 10


def test_failures_in_different_ways_are_not_equal(principal: Principal) -> None:
    tell(principal, POISON, *SAID)
    for error in (KeyError(), ValueError(), KeyError(), ValueError()):
        report = consolidate(principal, extractor=in_extract(pytest.MonkeyPatch(), error))
        assert (report.waiting, len(report.runs)) == (10, 1)


@everywhere
def test_a_process_that_is_killed_in_the_middle_leaves_everything_to_the_next(
    principal: Principal, monkeypatch: pytest.MonkeyPatch, spoil: Any
) -> None:
    tell(principal, *SAID, POISON)
    for _ in range(EQUAL_FAILURES + 1):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            consolidate(principal, extractor=spoil(patch, Killed()))
        assert texts(principal) == []
    assert consolidate(principal, extractor=ScriptedExtractor([literally])).episodes == 10
    assert not ConsolidationRun.objects.filter(given_up=True).exists()


def test_an_owner_whose_consolidation_breaks_off_keeps_no_other_waiting(
    principal: Principal, other_member: Principal, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEMORYHUB_CONSOLIDATE = "turn"
    monkeypatch.setattr(running, "consolidation_extractor", lambda: ScriptedExtractor([literally]))
    for somebody in (principal, other_member):
        tell(somebody, *SAID)
    whole = ledger.next_episodes

    def broken(who: Principal, *rest: Any) -> Any:
        if who.user_id == principal.user_id:
            raise KeyError(POISON)
        return whole(who, *rest)

    monkeypatch.setattr(running, "next_episodes", broken)
    sweep()
    assert texts(other_member) == SAID
