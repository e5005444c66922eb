"""Faults of a chain in the language of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils import translation

from tenants.audit import digests, verification
from tenants.audit.faults import FAULTS, fault_words


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("the event was changed", "das Ereignis wurde geändert"),
        (
            "the end of the chain is cut off: the anchor of 2026-11-29 names 7 events",
            "das Ende der Kette ist abgeschnitten: Der Anker vom 2026-11-29 nennt 7 Ereignisse",
        ),
        ("semantic 0a1b2c3d-4e5f ended before it began", "Fakt 0a1b2c3d-4e5f ended before it began"),
        ("", ""),
    ],
)
def test_a_fault_is_told_in_the_language_of_the_page(fault: str, words: str) -> None:
    with translation.override("de"):
        assert fault_words(fault) == words


def test_each_fault_of_an_event_has_words() -> None:
    code = "".join(Path(str(module.__file__)).read_text() for module in (digests, verification))
    given = re.findall(r'(?:return|stop\(|else) ?"(the (?:event|payload|head|record) [^"]+)"', code)
    assert len(given) > 8 and set(given) <= FAULTS
