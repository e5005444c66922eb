"""A model's answer as proposals: labels become ids, and one that stands for nothing can mean nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memories.consolidation.extraction import NOTHING, Answer, AnswerReading, Labels, read_answer
from memories.consolidation.material import ProposedEnd, ProposedFact, ProposedOutcome, ProposedPlaybook
from memories.types import Contradiction
from tests.memories.consolidation.conftest import batch

LABELS = Labels.of(batch())


def fact(text: str, episode: str = "E1", **members: Any) -> dict[str, Any]:
    return {"text": text, "confidence": 0.9, "quote": text, "episodes": [episode], **members}


def read(**parts: Any) -> AnswerReading:
    empty: dict[str, list[Any]] = {"facts": [], "ends": [], "playbooks": [], "outcomes": []}
    return read_answer(Answer.model_validate(empty | parts), LABELS)


def test_a_fact_comes_with_all_that_it_says() -> None:
    told = fact(
        " Lives in Edinburgh ",
        key="home_city",
        category="home",
        supersedes=["F1", "F2"],
        contradiction="harsh",
        valid_from="2026-03",
        valid_to="2026-04-02",
    )
    assert read(facts=[told]).proposals == (
        ProposedFact(
            text="Lives in Edinburgh",
            supporting_episode_ids=(LABELS.episodes["E1"],),
            key="home_city",
            category="home",
            confidence=0.9,
            valid_from=datetime(2026, 3, 1, tzinfo=UTC),
            valid_to=datetime(2026, 4, 2, tzinfo=UTC),
            supersedes=(LABELS.facts["F1"], LABELS.facts["F2"]),
            contradiction=Contradiction.HARSH,
            quote=" Lives in Edinburgh ",
        ),
    )


def test_ends_playbooks_and_outcomes_come_after_the_facts_of_their_episode() -> None:
    reading = read(
        outcomes=[{"playbook": "P1", "success": False, "episodes": ["E2"], "refined_steps": ["Call a plumber"]}],
        playbooks=[{"title": "Move house", "trigger": "a move", "steps": ["Pack", "Go"], "episodes": ["E2"]}],
        ends=[{"facts": ["F2"], "quote": "left Bristol", "episodes": ["E1"], "valid_to": "2026"}],
        facts=[fact("Has a drum", "E2"), fact("Lives in Edinburgh")],
    )
    second = (LABELS.episodes["E2"],)
    assert [type(each) for each in reading.proposals[:3]] == [ProposedFact, ProposedEnd, ProposedFact]
    assert reading.found_at == (("facts", 1), ("ends", 0), ("facts", 0), ("playbooks", 0), ("outcomes", 0))
    assert reading.proposals[3:] == (
        ProposedPlaybook("Move house", "a move", ("Pack", "Go"), second),
        ProposedOutcome(LABELS.playbooks["P1"], False, second, ("Call a plumber",)),
    )


def test_new_facts_that_are_named_are_found_where_they_stand_among_the_proposals() -> None:
    reading = read(
        facts=[fact("Lives in Leith", "E3", supersedes=["N2", "F1"]), fact("Lives in Edinburgh", "E2")],
        ends=[{"facts": ["N1"], "quote": "not any more", "episodes": ["E3"]}],
    )
    edinburgh, leith, end = reading.proposals
    assert isinstance(edinburgh, ProposedFact) and edinburgh.text == "Lives in Edinburgh"
    assert isinstance(leith, ProposedFact)
    assert (leith.supersedes_places, leith.supersedes) == ((0,), (LABELS.facts["F1"],))
    assert isinstance(end, ProposedEnd)
    assert (end.fact_places, end.fact_ids) == ((1,), ())


def test_a_label_that_the_question_did_not_have_names_nothing_and_is_on_record() -> None:
    reading = read(
        facts=[fact("Lives in Edinburgh", "E9", supersedes=["F1", "F77", "N5", "E1"])],
        outcomes=[{"playbook": "F1", "success": True, "episodes": ["P1"]}],
    )
    outcome, told = sorted(reading.proposals, key=lambda each: isinstance(each, ProposedFact))
    assert isinstance(told, ProposedFact) and isinstance(outcome, ProposedOutcome)
    assert told.supporting_episode_ids == outcome.supporting_episode_ids == (NOTHING,)
    assert set(told.supersedes) == {LABELS.facts["F1"], NOTHING}
    assert outcome.playbook_id == NOTHING
    assert reading.unknown == ("E1", "E9", "F1", "F77", "N5", "P1")
