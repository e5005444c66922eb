"""Rows as CSV for spreadsheets and as JSON Lines for programs.

Invariant: JSON Lines says exactly what is stored. CSV may not: a text that a spreadsheet would run as a formula is
written with an apostrophe before it (https://owasp.org/www-community/attacks/CSV_Injection).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from memoryhub.signing.archive import ArchiveFile

# Excel knows text in UTF-8 by this mark.
_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
# What begins a formula, in the full width of East Asian spreadsheets too.
_FORMULA = frozenset("=+-@＝＋－＠")


class TableFormat(StrEnum):
    """How a table is written."""

    CSV = "csv"
    JSON_LINES = "jsonl"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain values, each in the order of `columns`; read once."""

    name: str
    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]


def as_file(table: Table, form: TableFormat) -> ArchiveFile:
    """The table as a file of an archive."""
    if form is TableFormat.CSV:
        header = csv_line(table.columns)
        return ArchiveFile(f"{table.name}.csv", map(csv_line, table.rows), header=_MARK.encode() + header)
    lines = (json_line(dict(zip(table.columns, row, strict=True))) for row in table.rows)
    return ArchiveFile(f"{table.name}.jsonl", lines)


def json_line(values: Mapping[str, Any]) -> bytes:
    """One line of JSON; times as ISO 8601, ids and decimals as text."""
    return json.dumps(values, ensure_ascii=False, allow_nan=False, default=_text).encode(errors="surrogatepass") + b"\n"


def csv_line(values: Iterable[Any]) -> bytes:
    """One record of CSV (RFC 4180): texts quoted and defused, numbers as they are, nothing for None."""
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_NONNUMERIC).writerow([_cell(value) for value in values])
    return line.getvalue().encode(errors="replace")


def count_rows(lines: Iterable[bytes]) -> int:
    """How many records of CSV these lines are, the header among them: a quoted cell may hold line ends."""
    count, within = 0, False
    for line in lines:
        within ^= line.count(b'"') % 2 == 1
        count += not within
    return count


def rows_in(name: str, lines: Iterator[bytes]) -> int:
    """How many rows a file of an archive has, by its name."""
    if name.endswith(".csv"):
        return max(count_rows(lines) - 1, 0)
    return sum(1 for _ in lines)


def defused(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would take it for a formula."""
    risky = text.lstrip()[:1] in _FORMULA or text[:1] in ("\t", "\r", "\n")
    return f"'{text}" if risky else text


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    if isinstance(value, list | tuple | dict):
        return defused(json.dumps(value, ensure_ascii=False, default=_text))
    return defused(value if isinstance(value, str) else _text(value))


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    raise TypeError(f"A table cannot hold a {type(value).__name__}.")
