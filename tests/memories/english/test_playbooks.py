"""Verdicts on playbooks, by example: what worked, what did not, and what worked instead."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from memories.consolidation.material import KnownPlaybook, Material, ProposedOutcome, ProposedPlaybook
from memories.english.extractor import RuleExtractor
from tests.memories.english.memory import said

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
BOOK = KnownPlaybook(uuid4(), "Reset the hub", "the hub blinks red", ("Hold the button", "Wait for the light"))
OTHER = KnownPlaybook(uuid4(), "Descale the kettle", "", ("Pour in vinegar", "Boil it"))
TOLD = "Reset the hub (worked 3 of 4 times): 1. Hold the button 2. Wait for the light"


def judged(words: str, *, before: str = TOLD, recalled: bool = True) -> list[object]:
    given = (BOOK.id, OTHER.id) if recalled else ()
    episode = said(words, NOW, before=before, recalled=given)
    return list(RuleExtractor().extract(Material("Ada", (episode,), (), (BOOK, OTHER))).proposals)


@pytest.mark.parametrize(
    "words",
    ["That worked!", "Yes, the fix worked, thanks.", "Perfect, that did the trick", "Great, it works now", "Worked!"],
)
def test_a_confirmation_counts_for_the_playbook_that_was_given(words: str) -> None:
    (outcome,) = judged(words)
    assert isinstance(outcome, ProposedOutcome)
    assert (outcome.playbook_id, outcome.success, outcome.refined_steps) == (BOOK.id, True, ())


def test_a_rejection_brings_the_steps_that_worked() -> None:
    (outcome,) = judged("That didn't help; what worked was: 1. Unplug the hub 2. Wait ten seconds 3. Plug it in")
    assert isinstance(outcome, ProposedOutcome)
    assert (outcome.playbook_id, outcome.success) == (BOOK.id, False)
    assert outcome.refined_steps == ("Unplug the hub", "Wait ten seconds", "Plug it in")


def test_an_answer_that_gives_the_steps_in_other_words_has_given_the_playbook() -> None:
    (outcome,) = judged("That worked!", before="Please hold down its button, and wait until you see the light.")
    assert isinstance(outcome, ProposedOutcome)
    assert outcome.playbook_id == BOOK.id


def test_a_playbook_that_is_named_needs_no_answer_before() -> None:
    (outcome,) = judged("The reset the hub steps didn't work.", before="", recalled=False)
    assert isinstance(outcome, ProposedOutcome)
    assert (outcome.playbook_id, outcome.success) == (BOOK.id, False)


@pytest.mark.parametrize(
    ("words", "before"),
    [
        ("I hope that worked.", TOLD),
        ("Did that work?", TOLD),
        ("That worked for him, not for me", TOLD),
        ("It worked, but only after I also restarted the router", TOLD),
        ("That worked!", "Your meeting is at nine."),
        ("My brother worked all night.", TOLD),
        ("Yeah right, that worked. lol", TOLD),
    ],
)
def test_what_is_no_verdict_or_speaks_of_something_else_counts_for_none(words: str, before: str) -> None:
    assert judged(words, before=before) == []


@pytest.mark.parametrize(
    "words",
    [
        "I fixed the printer: 1. Switch it off 2. Remove the tray 3. Switch it on",
        "When the printer jams, switch it off, then remove the tray, then switch it on",
    ],
)
def test_a_resolution_of_several_steps_becomes_a_playbook(words: str) -> None:
    (book,) = judged(words)
    assert isinstance(book, ProposedPlaybook)
    assert [step.casefold() for step in book.steps] == ["switch it off", "remove the tray", "switch it on"]
    assert "printer" in book.trigger


def test_a_known_trigger_gets_no_second_playbook() -> None:
    assert judged("When the hub blinks red, hold the button, then wait for the light") == []
