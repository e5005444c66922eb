"""Before and after stand side by side, and what differs is marked."""

from __future__ import annotations

from django.utils import translation

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
