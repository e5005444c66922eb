"""Before and after stand side by side, and what differs is marked."""

from __future__ import annotations

import re

from django.utils import translation

from memoryhub.installation import BASE_DIR
from tenants.audit.fields import field_words
from tenants.audit.sentences import ValueDifference, ValuePiece, differences


def test_the_words_that_differ_are_marked() -> None:
    (row,) = differences({"home_city": "lives in Hull now"}, {"home_city": "lives in York now"})
    assert row == ValueDifference(
        "home city",
        (ValuePiece("lives in", marked=False), ValuePiece("Hull", marked=True), ValuePiece("now", marked=False)),
        (ValuePiece("lives in", marked=False), ValuePiece("York", marked=True), ValuePiece("now", marked=False)),
        "changed",
    )


def test_what_differs_comes_first() -> None:
    rows = differences({"a": 1, "b": True, "c": None}, {"a": 1, "b": False, "d": [1, 2]})
    assert [(row.name, row.state) for row in rows] == [("b", "changed"), ("d", "added"), ("c", "before"), ("a", "same")]
    assert [piece.text for row in rows for piece in (*row.before, *row.after)] == [
        "yes", "no", "[1, 2]", "nothing", "1", "1",
    ]  # fmt: skip


def test_fields_and_states_are_named_in_the_language_of_the_page() -> None:
    with translation.override("de"):
        rows = differences({"status": "active", "is_staff": False}, {"status": "stale", "category": "stale"})
    assert [row.name for row in rows] == ["Status", "Kategorie", "Personal"]
    assert [piece.text for row in rows for piece in (*row.before, *row.after)] == ["aktiv", "überholt", "stale", "nein"]


def test_long_texts_are_not_compared_word_by_word() -> None:
    (row,) = differences({"text": "word " * 2000}, {"text": "other " * 2000})
    assert len(row.before) == len(row.after) == 1 and row.state == "changed"


def test_a_number_is_written_as_the_language_has_it() -> None:
    with translation.override("de"):
        (row,) = differences({"confidence": 0.25}, {"confidence": 0.25})
    assert row.before == (ValuePiece("0,25", marked=False),)


def test_each_field_that_the_code_records_has_words() -> None:
    code = "".join(file.read_text() for app in ("memories", "tenants") for file in (BASE_DIR / app).rglob("*.py"))
    named = set(re.findall(r'(?:after|before)(?:: [\w\[\], ]+)?(?:=| = )\{"(\w+)"', code))
    assert len(named) > 30
    with translation.override("de"):
        assert [name for name in sorted(named) if field_words(name) == name.replace("_", " ")] == []
