"""Rows as CSV for spreadsheets and as JSON Lines for programs.

Invariant: JSON Lines says exactly what is stored. CSV may not: a text that a spreadsheet would run as a formula is
written with an apostrophe before it (https://owasp.org/www-community/attacks/CSV_Injection).

Signed archives: a zip that is written while it is sent, its manifest and the manifest's signature last.

`manifest.json` says what the archive is and names each file with its bytes, rows and sha256; `manifest.sig` signs it.
Invariants: nothing is held but the file that is being written, a piece at a time; an archive that was cut off has no
manifest, so `archive_reading` refuses it; the manifest also has the digest of all bytes of the zip before its own, so
that not one of them can be changed unnoticed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from time import monotonic
from typing import Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED

from zipstream import ZipStream

from memoryhub.signing.keys import public_keys, sign

FORMAT = "memoryhub-export"
VERSION = 1
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
_PIECE_BYTES = 64 * 1024
_ASKED_EVERY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file in an archive. Each of `rows` is the bytes of one row, its line end among them; `header` is none."""

    name: str
    rows: Iterable[bytes]
    header: bytes = b""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """What the manifest says of a file. `rows` leaves out the header of a table."""

    name: str
    bytes: int
    rows: int
    sha256: str


def nobody_minds() -> None:
    """Of an archive that may be ended once it was begun."""


def stream_archive(
    files: Iterable[ArchiveFile],
    statement: Callable[[], Mapping[str, Any]],
    *,
    may_go_on: Callable[[], object] = nobody_minds,
) -> Iterator[bytes]:
    """The bytes of an archive of `files`, in their order; what `statement` returns at their end is in the manifest.

    Raises ImproperlyConfigured before the first byte where nothing can be signed. What reading a file raises goes
    through, and the archive ends there; so does what `may_go_on` raises, which is asked every few seconds and before
    the manifest.
    """
    public_keys()
    return _Writer(files, statement, may_go_on).pieces()


class _Writer:
    """What was sent so far."""

    def __init__(
        self,
        files: Iterable[ArchiveFile],
        statement: Callable[[], Mapping[str, Any]],
        may_go_on: Callable[[], object],
    ) -> None:
        self._files = files
        self._statement = statement
        self._may_go_on = may_go_on
        self._asked = monotonic()
        self._entries: list[FileEntry] = []
        self._sent = hashlib.sha256()
        self._length = 0
        self._manifest = b""

    def pieces(self) -> Iterator[bytes]:
        """The zip. An entry is read when its turn has come and all before it is sent."""
        zipped = ZipStream(compress_type=ZIP_DEFLATED)
        for file in self._files:
            zipped.add(self._data(file), file.name)
            yield from self._sending(zipped.all_files())
        self._may_go_on()
        zipped.add(self._closing(), MANIFEST, compress_type=ZIP_STORED)
        zipped.add(self._signing(), SIGNATURE, compress_type=ZIP_STORED)
        yield from self._sending(zipped.finalize())

    def _sending(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            if piece:
                self._sent.update(piece)
                self._length += len(piece)
                yield piece
                if monotonic() - self._asked >= _ASKED_EVERY_SECONDS:
                    self._may_go_on()
                    self._asked = monotonic()

    def _data(self, file: ArchiveFile) -> Iterator[bytes]:
        digest, length, rows = hashlib.sha256(), 0, 0
        piece = bytearray(file.header)
        for row in file.rows:
            piece += row
            rows += 1
            if len(piece) >= _PIECE_BYTES:
                digest.update(piece)
                length += len(piece)
                yield bytes(piece)
                piece.clear()
        digest.update(piece)
        self._entries.append(FileEntry(file.name, length + len(piece), rows, digest.hexdigest()))
        yield bytes(piece)

    def _closing(self) -> Iterator[bytes]:
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            **self._statement(),
            "files": [asdict(entry) for entry in self._entries],
            "archive": {"bytes": self._length, "sha256": self._sent.hexdigest()},
            "signed_with": public_keys()[0].id,
        }
        self._manifest = json.dumps(manifest, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n"
        yield self._manifest

    def _signing(self) -> Iterator[bytes]:
        yield sign(self._manifest).encode() + b"\n"


# Excel knows text in UTF-8 by this mark.
_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
# What begins a formula, in the full width of East Asian spreadsheets too.
_FORMULA = frozenset("=+-@＝＋－＠")


class TableFormat(StrEnum):
    """How a table is written."""

    CSV = "csv"
    JSON_LINES = "jsonl"


@dataclass(frozen=True, slots=True)
class RowTable:
    """Rows of plain values, each in the order of `columns`; read once."""

    name: str
    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]


def as_file(table: RowTable, form: TableFormat) -> ArchiveFile:
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
