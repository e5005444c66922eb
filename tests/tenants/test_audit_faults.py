"""Faults of a chain in the language of the page."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from django.utils import translation

from memories.selectors.history import chain_checks, chain_events, chains, rows
from tenants.audit import digests, rights, verification
from tenants.audit.faults import FAULTS, PROBLEMS, fault_words


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("the event was changed", "das Ereignis wurde geändert"),
        (
            "the end of the chain is cut off: the anchor of 2026-11-29 names 7 events",
            "das Ende der Kette ist abgeschnitten: Der Anker vom 2026-11-29 nennt 7 Ereignisse",
        ),
        (
            "semantic 0a1b2c3d-4e5f has other words than the audit tells of, and 2 more",
            "Fakt 0a1b2c3d-4e5f hat andere Wörter, als das Prüfprotokoll festhält, und 2 weitere",
        ),
        ("user without an id cannot be read; and 3 more", "Konto ohne ID kann nicht gelesen werden; und 3 weitere"),
        ("was changed outside the application (email, role)", "wurde außerhalb der Anwendung geändert (E-Mail, Rolle)"),
        (
            "The trigger a_b is missing or disabled. The anchor file lacks the anchors 2 to 3",
            "Der Trigger a_b fehlt oder ist abgeschaltet. In der Ankerdatei fehlen die Anker 2 bis 3",
        ),
        ("", ""),
    ],
)
def test_a_fault_is_told_in_the_language_of_the_page(fault: str, words: str) -> None:
    with translation.override("de"):
        assert fault_words(fault) == words


def _code_of(*modules: ModuleType) -> str:
    return "".join(Path(str(module.__file__)).read_text() for module in modules)


def test_each_fault_of_an_event_has_words() -> None:
    code = _code_of(digests, verification)
    given = re.findall(r'(?:return|stop\(|else) ?"(the (?:event|payload|head|record) [^"]+)"', code)
    assert len(given) > 8 and set(given) <= FAULTS


def test_each_problem_of_a_row_has_words() -> None:
    code = _code_of(chain_checks, chain_events, chains, rows, rights)
    begins = "is|has|was|would|ended|brings|points|says|cannot"
    given = re.findall(rf'(?<![(f])"((?:{begins}) [^"]+)"', code)
    assert len(given) > 30 and set(given) <= PROBLEMS


@pytest.mark.parametrize(
    "fault",
    [
        "The trigger audit_head_only_grows is missing or disabled.",
        "Line 3 of the anchor file was changed (it is now 0a1b2c3d4e5f).",
        "Line 3 of the anchor file is not anchor 4.",
        "Anchor 4 of 2026-11-29T10:00:00+00:00 is in the anchor file, and not in the database.",
        "The anchor file has 2 faults.",
    ],
)
def test_a_finding_about_what_guards_the_log_has_words(fault: str) -> None:
    assert fault_words(fault) == fault
    with translation.override("es"):
        assert fault_words(fault) != fault and fault_words(fault).endswith(".")
