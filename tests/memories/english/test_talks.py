"""The rules read two years of one person's talk: nothing invented, nothing wrongly superseded, four fifths found."""

from __future__ import annotations

import pytest

from memories.english.extractor import RuleExtractor
from memories.models import ConsolidationRun, Fact
from memories.selectors.history.chains import verify_chains
from memories.services.consolidation import consolidate, rerun
from tenants.principal import Principal
from tests.factories import MakeMember, own_principal
from tests.memories.english.script import load
from tests.memories.english.script.measure import Score, measure
from tests.memories.english.script.played import batches, held, played
from tests.memories.english.script.stored import learned, tell

SCRIPT = load()
ENOUGH = 0.8
HALF = 0.5


def check(score: Score) -> None:
    assert score.invented == []
    assert score.wrong_ends == []
    assert score.wrong_times == []
    assert score.facts >= ENOUGH * score.expected_facts, score.missed
    assert score.ends >= ENOUGH * score.expected_ends, score.missed


@pytest.mark.parametrize("size", [1, 7, 20, 60])
def test_the_rules_keep_what_was_said_and_end_what_it_made_false(size: int) -> None:
    memory, spoken = played(SCRIPT, size)
    check(measure(SCRIPT, held(memory, spoken)))


@pytest.mark.parametrize("size", [1, 20, 60])
def test_reading_it_all_again_changes_nothing(size: int) -> None:
    memory, spoken = played(SCRIPT, 20)
    before = dict(memory.facts)
    for batch in batches(spoken, size):
        assert memory.consolidate(RuleExtractor(), batch) == []
    assert memory.facts == before


@pytest.mark.parametrize("talk", ["jonas", "priya"])
@pytest.mark.parametrize("size", [1, 20])
def test_other_people_are_read_with_gaps_but_without_inventions(talk: str, size: int) -> None:
    script = load(talk)
    score = measure(script, held(*played(script, size)))
    assert (score.invented, score.wrong_ends, score.wrong_times) == ([], [], [])
    assert score.facts >= HALF * score.expected_facts, score.missed
    assert score.ends >= HALF * score.expected_ends, score.missed


@pytest.fixture
def mira(make_member: MakeMember) -> Principal:
    """The person of the script, who has said all of it."""
    principal = own_principal(make_member(name=SCRIPT.person))
    tell(principal, SCRIPT)
    return principal


@pytest.mark.long
@pytest.mark.parametrize("batch", [pytest.param(1, id="turn by turn"), pytest.param(20, id="twenty at a time")])
def test_a_real_memory_comes_to_hold_as_much(mira: Principal, batch: int) -> None:
    report = consolidate(mira, extractor=RuleExtractor(), batch=batch)
    assert (report.episodes, report.waiting, report.error) == (60, 0, "")
    check(measure(SCRIPT, learned(mira, SCRIPT)))
    assert verify_chains().ok


@pytest.mark.long
def test_consolidating_a_real_memory_again_changes_nothing(mira: Principal) -> None:
    consolidate(mira, extractor=RuleExtractor(), batch=20)
    rows = Fact.objects.of(mira).order_by("pk").values_list("text", "status", "version", "superseded_by")
    before = list(rows.all())
    assert consolidate(mira, extractor=RuleExtractor(), batch=20).episodes == 0
    for run in list(ConsolidationRun.objects.of(mira)):
        rerun(mira, run.pk, extractor=RuleExtractor())
    assert list(rows.all()) == before
