"""A secret names its owner wherever it turns up, and an id that was sent is no finding."""

from __future__ import annotations

import random
from uuid import uuid4

import pytest

from memories.types import Owner
from proof.marks import Exposure, Marks, as_text
from tests.memories.search.library import document

ADA, BOB = 1, 2


@pytest.fixture
def marks() -> Marks:
    return Marks(random.Random(1))


def test_a_secret_names_its_owner(marks: Marks) -> None:
    shown = f"<b>{marks.secret(BOB).upper()}</b>"
    assert marks.foreign(shown, {ADA}) == {(BOB, Exposure.TEXT)}
    assert not marks.foreign(shown, {ADA, BOB})


def test_an_id_is_found_with_and_without_hyphens(marks: Marks) -> None:
    id_ = uuid4()
    marks.own(BOB, [id_, None])
    assert marks.foreign(f"x{id_.hex}x", {ADA}) == marks.foreign([{"id": id_}], {ADA}) == {(BOB, Exposure.ID)}
    assert not marks.foreign(uuid4(), {ADA})


def test_what_was_sent_is_no_finding(marks: Marks) -> None:
    id_, asked, secret = uuid4(), marks.secret(BOB), marks.secret(BOB)
    marks.own(BOB, [id_])
    assert not marks.foreign(f"No such memory {id_}: {asked}", {ADA}, sent=[id_, asked])
    assert marks.foreign(f"{asked} {secret}", {ADA}, sent=asked) == {(BOB, Exposure.TEXT)}


def test_everything_in_a_value_is_read() -> None:
    stored = document(Owner(uuid4(), uuid4()), "Ada likes tea")
    assert "Ada likes tea" in as_text([{"a": (stored, b"bytes")}]) and str(stored.id) in as_text(stored)
