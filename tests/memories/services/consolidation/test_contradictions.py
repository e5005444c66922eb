"""Contradictions in a consolidation: what the talks leave has none, and a model judges what rules cannot tell."""

from __future__ import annotations

import pytest

from memories.errors import Conflict
from memories.models import ConsolidationRun, Fact, ReviewItem, RunState
from memories.services.consolidation import consolidate, running
from memories.services.contradictions import scan_owner
from memories.services.facts.remember import remember_fact
from tenants.principal import Principal
from tests.factories import MakeMember, own_principal
from tests.faulty_model import tell
from tests.memories.english.script import load
from tests.memories.english.script.measure import measure
from tests.memories.english.script.stored import learned
from tests.memories.english.script.stored import tell as tell_talk
from tests.memories.services.test_contradiction_scan import CLASH, Judge

pytestmark = pytest.mark.django_db

OLD = "The allotment in Leith was given up for good"


@pytest.fixture
def heard(principal: Principal) -> None:
    """What is known of Ada, and what she said since, which is near it and nothing for plain rules."""
    remember_fact(principal, text=OLD)
    tell(principal, "Please remember that the allotment in Leith is watered by my cousin.")


@pytest.mark.english
def test_a_model_judges_what_a_batch_taught_beside_what_is_known(
    principal: Principal, heard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Judge(CLASH)
    monkeypatch.setattr(running, "contradiction_judge", lambda: judge)
    assert consolidate(principal).error == ""
    assert len(judge.seen) == 1
    assert ReviewItem.objects.get().evidence["judge"] == "judge"


@pytest.mark.english
def test_a_run_is_done_whatever_becomes_of_the_judging(
    principal: Principal, heard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise Conflict("They are too many now.")

    monkeypatch.setattr(running, "contradiction_judge", lambda: Judge(CLASH, broken))
    assert consolidate(principal).error == ""
    assert ConsolidationRun.objects.get().state == RunState.DONE
    assert Fact.objects.current().count() == 2


@pytest.mark.long
@pytest.mark.parametrize("talk", ["statements", "jonas", "priya"])
def test_a_talk_that_says_what_changed_leaves_nothing_to_ask(make_member: MakeMember, talk: str) -> None:
    script = load(talk)
    principal = own_principal(make_member(name=script.person))
    tell_talk(principal, script)

    consolidate(principal)

    score = measure(script, learned(principal, script))
    assert (score.wrong_ends, list(ReviewItem.objects.all())) == ([], [])
    assert scan_owner(principal).contradictions == 0
