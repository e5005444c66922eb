"""Stored reasons in the language of the page."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from memories.hygiene.ageing import Cause
from memories.hygiene.junk import JunkKind, reason_of
from memories.llm import tokens
from memories.presenting.reasons import FAILURES, REASONS, reason_words
from memories.recall.tuning import propose
from memoryhub.installation import BASE_DIR


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        pytest.param("its time is over", "seine Zeit ist abgelaufen", id="of the program"),
        pytest.param(
            "one denies the other; brought up to date",
            "eines bestreitet das andere; auf den neuen Stand gebracht",
            id="settled",
        ),
        pytest.param("Ada moved; the surer one stays", "Ada moved; das Sicherere bleibt", id="settled by a model"),
        pytest.param(
            "It is no memory: it is a greeting or a yes, and tells nothing.",
            "Es ist keine Erinnerung: es ist ein Gruß oder ein Ja und sagt nichts aus.",
            id="of junk",
        ),
        pytest.param(
            "It holds what is not stored: payment card, phone.",
            "Es enthält, was nicht gespeichert wird: Kartennummer, Telefonnummer.",
            id="of a sensitive value",
        ),
        pytest.param("the same as number 2", "dasselbe wie Nummer 2", id="of a run"),
        pytest.param("imported from old phone", "importiert aus old phone", id="of an import"),
        pytest.param(
            "The model is busy. Try again in 7 seconds.",
            "Das Modell ist ausgelastet. Versuchen Sie es in 7 Sekunden erneut.",
            id="of a model",
        ),
        pytest.param(
            "0.25 had kept 1,960 of 2,000 used memories (98.0%) and left out 83 of 100 that no answer used (83.0%).",
            "0,25 hätte 1.960 von 2.000 verwendeten Erinnerungen behalten (98,0\N{NO-BREAK SPACE}%) und 83 von 100, "
            "die keine Antwort verwendete, ausgelassen (83,0\N{NO-BREAK SPACE}%).",
            id="of a threshold",
        ),
        pytest.param("Fact", "Fact", id="of a person, and a text of another page"),
        pytest.param("", "", id="none"),
    ],
)
def test_only_what_the_program_wrote_is_translated(reason: str, words: str) -> None:
    with translation.override("de"):
        assert reason_words(reason) == words


def test_the_reason_of_each_end_by_age_is_translated() -> None:
    assert set(Cause) <= REASONS


def test_the_reason_of_each_kind_of_junk_is_translated() -> None:
    assert {reason_of(kind) for kind in JunkKind} <= REASONS


def test_the_sentence_of_each_failed_answer_is_translated() -> None:
    assert {text for name, text in vars(tokens).items() if name.isupper() and isinstance(text, str)} <= FAILURES


def test_the_reason_of_each_change_that_nobody_gave_one_for_is_translated() -> None:
    code = "".join(path.read_text() for path in (BASE_DIR / "memories" / "services").rglob("*.py"))
    given = set(re.findall(r'\breason or "([^"]+)"', code))
    assert len(given) > 5 and given <= REASONS


@pytest.mark.parametrize("recorded", [[], [(0.5, True), (0.5, False)] * 60, [(0.9, True), (0.1, False)] * 60])
def test_the_reason_of_each_threshold_is_translated(recorded: list[tuple[float, bool]]) -> None:
    reason = propose(recorded).reason
    assert reason_words(reason) == reason
    with translation.override("es"):
        assert "memor" not in reason_words(reason)
