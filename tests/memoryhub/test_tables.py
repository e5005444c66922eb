"""Tables say what is stored; in CSV no cell is a formula."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryhub.signing.archive import RowTable, TableFormat, as_file, defused, rows_in

COLUMNS = ("id", "text", "share", "when", "tags", "yes")
ID = UUID("5f5dfd5b-7f1d-4f11-9a3c-0f3e2a1c9b77")
WHEN = datetime(2026, 3, 5, 9, 30, tzinfo=UTC)


def written(form: TableFormat, *rows: tuple[object, ...], columns: tuple[str, ...] = COLUMNS) -> bytes:
    file = as_file(RowTable("plants", columns, rows), form)
    return file.header + b"".join(file.rows)


def test_csv_opens_in_a_spreadsheet_as_it_was_stored() -> None:
    text = 'repotted the "Monstera",\nthen watered it – slowly'
    content = written(TableFormat.CSV, (ID, text, 0.75, WHEN, ["fern", "moss"], True), (ID, "", -2, None, [], False))
    assert content.startswith(b"\xef\xbb\xbf")
    header, first, second = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    assert tuple(header) == COLUMNS
    assert first == [str(ID), text, "0.75", "2026-03-05T09:30:00+00:00", '["fern", "moss"]', "true"]
    assert second == [str(ID), "", "-2", "", "[]", "false"]


def test_json_lines_say_exactly_what_is_stored() -> None:
    content = written(TableFormat.JSON_LINES, (ID, "=1+1", 0.75, WHEN, ["fern"], True))
    assert json.loads(content) == {
        "id": str(ID), "text": "=1+1", "share": 0.75, "when": "2026-03-05T09:30:00+00:00", "tags": ["fern"],
        "yes": True,
    }  # fmt: skip
    assert content.count(b"\n") == 1 and content.endswith(b"\n")


@pytest.mark.parametrize(
    "text", ["=SUM(A1)", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "  =1+1", "\t=1+1", "\r\n=1+1", "\tplain", "＝1+1"]
)
def test_no_cell_is_a_formula(text: str) -> None:
    assert defused(text) == f"'{text}"
    record = written(TableFormat.CSV, (text,), columns=("text",)).split(b"\r\n", 1)[1]
    ((cell,),) = csv.reader(io.StringIO(record.decode(), newline=""))
    assert cell == f"'{text}"


@given(st.lists(st.lists(st.text(alphabet='a,"\n\r=\0é', max_size=8), min_size=2, max_size=2), max_size=6))
def test_rows_of_csv_are_counted_whatever_the_cells_hold(rows: list[list[str]]) -> None:
    content = written(TableFormat.CSV, *[tuple(row) for row in rows], columns=("one", "two"))
    assert rows_in("plants.csv", iter(io.BytesIO(content))) == len(rows)
