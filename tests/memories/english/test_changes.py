"""Changes to what is known, by example: corrections, new days, ends, and sentences that change nothing."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from memories.english.changes import Change, Correction, End, Shift, read_changes
from memories.english.playbooks import read_outcome
from memories.types import Contradiction

HARSH = Contradiction.HARSH

READ: dict[str, Change] = {
    "My boss is Kim, not Dana.": Correction("Dana", "Kim", "boss"),
    "No, it's an Ultegra, not a 105.": Correction("105", "an Ultegra"),
    "Sorry, typo: it's 14B, not 14.": Correction("14", "14B"),
    "Correction: b@example.org, not a@example.org.": Correction("a@example.org", "b@example.org"),
    "I said Leeds but meant York": Correction("Leeds", "York"),
    "I am not allergic to penicillin, it's ibuprofen.": Correction("penicillin", "ibuprofen"),
    "I'm not allergic to nuts, it's just a rash": End("allergic to nuts", "health"),
    "I'm allergic to cashews, not peanuts": Correction("peanuts", "cashews"),
    "Climbing is on Thursdays now": Shift("Climbing", "Thursdays"),
    "Our standup moved to 10 am": Shift("standup", "10 am"),
    "I never lived in Brighton, that was my cousin": End("Brighton", "home", HARSH),
    "I never lived there!": End("there", "home", HARSH),
    "Turns out I'm not allergic to nuts after all": End("allergic to nuts", "health", HARSH),
    "I'm not allergic to nuts any more": End("allergic to nuts", "health"),
    "I don't work at Acme any more": End("Acme", "work"),
    "I finally quit climbing, my elbow hurts": End("climbing", "habit"),
    "I stopped taking the iron tablets in July": End("iron tablets", "habit"),
    "Sold the Canyon yesterday, to a guy from Fife": End("Canyon", "owned"),
    "Our cat Rex died on Sunday": End("Rex", "living"),
    "Sam and I broke up": End("Sam", "couple"),
}

UNCHANGED = [
    "Is it not 14 but 15?", "If I left Acme I'd be broke.", "When I was five I left Leeds.", "I might quit climbing.",
    "Oh great, I left Acme. lol", "My sister left Leeds.", "It's just not right.", "He said it's Kim, not Dana.",
    "Write an email: I no longer work at Acme.", "My sister was here. Sold the Canyon yesterday!", "",
]  # fmt: skip


@pytest.mark.parametrize("told", READ)
def test_a_change_names_what_it_is_about(told: str) -> None:
    (change,) = read_changes(told)
    assert replace(change, quote="") == READ[told]
    assert change.quote and change.quote in told


@pytest.mark.parametrize("told", UNCHANGED)
def test_what_changes_nothing_is_not_read_as_a_change(told: str) -> None:
    assert read_changes(told) == ()


@pytest.mark.parametrize(
    "told",
    [
        "I left " + "a " * 195,
        "it's " + "a " * 90 + ", not " + "b " * 90,
        "it's " + "1," * 180 + " not 2",
        "A " * 190 + "and i got divorced",
        "my thing is " + "now " * 90,
        "that didn't help; what worked: " + "1. do it " * 400,
        "i fixed the " + "a " * 2_000,
        "that worked " * 300,
    ],
    ids=lambda told: told[:12],
)
def test_no_text_takes_long(told: str) -> None:
    started = time.thread_time()
    read_changes(told)
    read_outcome(told)
    assert time.thread_time() - started < 1.0
