"""Signed archives: writes a zip as a stream, and verifies that nothing in it was changed.

`manifest.json` lists each file with its bytes, rows and sha256, and the digest of all zip bytes before the manifest's
own; `manifest.sig`, the last file, signs it. Writing and verifying hold one chunk in memory. A truncated archive has no
manifest, so verification refuses it. Verification needs neither a database nor the private key.

Rows are written as JSON Lines, exactly as stored, or as CSV, where a text that a spreadsheet would run as a formula
gets an apostrophe in front (https://owasp.org/www-community/attacks/CSV_Injection).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from time import monotonic
from typing import IO, Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from django.utils.translation import gettext as _
from zipstream import ZipStream

from memoryhub.installation import PROGRAM
from memoryhub.signing.keys import public_keys, sign, verify

FORMAT = "memoryhub-export"
VERSION = 1
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
_PIECE_BYTES = 64 * 1024
_ASKED_EVERY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive.

    Each item of `rows` is one encoded row with its line end; `header` is not counted as a row.
    """

    name: str
    rows: Iterable[bytes]
    header: bytes = b""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """The manifest's entry of a file. `rows` excludes the header of a table."""

    name: str
    bytes: int
    rows: int
    sha256: str


def stream_archive(
    files: Iterable[ArchiveFile],
    statement: Callable[[], Mapping[str, Any]],
    *,
    may_go_on: Callable[[], object] = lambda: None,
) -> Iterator[bytes]:
    """The bytes of a signed archive of `files`, in order.

    `statement`, called after the last file, adds to the manifest.

    Raises ImproperlyConfigured before the first byte if there is no signing key. Errors of reading a file, and of
    `may_go_on`, which is called every few seconds and before the manifest, end the stream.
    """
    public_keys()
    return _Writer(files, statement, may_go_on).pieces()


@dataclass(slots=True)
class _Writer:
    """The state of an archive being written."""

    files: Iterable[ArchiveFile]
    statement: Callable[[], Mapping[str, Any]]
    may_go_on: Callable[[], object]
    asked: float = field(default_factory=monotonic)
    entries: list[FileEntry] = field(default_factory=list)
    sent: Any = field(default_factory=hashlib.sha256)
    length: int = 0
    manifest: bytes = b""

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the zip. A file is read only after all before it were sent."""
        zipped = ZipStream(compress_type=ZIP_DEFLATED)
        for file in self.files:
            zipped.add(self._data(file), file.name)
            yield from self._sending(zipped.all_files())
        self.may_go_on()
        zipped.add(self._closing(), MANIFEST, compress_type=ZIP_STORED)
        zipped.add(self._signing(), SIGNATURE, compress_type=ZIP_STORED)
        yield from self._sending(zipped.finalize())

    def _sending(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            if piece:
                self.sent.update(piece)
                self.length += len(piece)
                yield piece
                if monotonic() - self.asked >= _ASKED_EVERY_SECONDS:
                    self.may_go_on()
                    self.asked = monotonic()

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
        self.entries.append(FileEntry(file.name, length + len(piece), rows, digest.hexdigest()))
        yield bytes(piece)

    def _closing(self) -> Iterator[bytes]:
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            **self.statement(),
            "files": [asdict(entry) for entry in self.entries],
            "archive": {"bytes": self.length, "sha256": self.sent.hexdigest()},
            "signed_with": public_keys()[0].id,
        }
        self.manifest = json.dumps(manifest, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n"
        yield self.manifest

    def _signing(self) -> Iterator[bytes]:
        yield sign(self.manifest).encode() + b"\n"


# The byte order mark by which Excel recognises UTF-8.
_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
# First characters of formulas, also full-width ones of East Asian spreadsheets.
_FORMULA = frozenset("=+-@＝＋－＠")


class TableFormat(StrEnum):
    """The file format of a table."""

    CSV = "csv"
    JSON_LINES = "jsonl"


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table of plain values, each row in the order of `columns`; `rows` is iterated once."""

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
    """A line of JSON; times as ISO 8601, UUIDs and decimals as strings."""
    return json.dumps(values, ensure_ascii=False, allow_nan=False, default=_text).encode(errors="surrogatepass") + b"\n"


def csv_line(values: Iterable[Any]) -> bytes:
    """A CSV record (RFC 4180): strings quoted and defused, numbers as they are, empty for None."""
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_NONNUMERIC).writerow([_cell(value) for value in values])
    return line.getvalue().encode(errors="replace")


def count_rows(lines: Iterable[bytes]) -> int:
    """The number of CSV records in these lines, with the header; a quoted cell may contain line ends."""
    count, within = 0, False
    for line in lines:
        within ^= line.count(b'"') % 2 == 1
        count += not within
    return count


def rows_in(name: str, lines: Iterator[bytes]) -> int:
    """The number of rows in a file, by the suffix of its name."""
    if name.endswith(".csv"):
        return max(count_rows(lines) - 1, 0)
    return sum(1 for __ in lines)


def defused(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would read it as a formula."""
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


_MOST_OF_A_MANIFEST = 32 * 1024 * 1024
_READ_BYTES = 1024 * 1024
_LARGE = 0xFFFFFFFF
# Errors that reading a damaged zip may raise.
_BROKEN = (
    BadZipFile, zlib.error, EOFError, RuntimeError, OverflowError, UnicodeError, ValueError,
    struct.error, OSError,
)  # fmt: skip


class NotGenuine(Exception):
    """The archive differs from the signed one. `file` names the first bad file, if any."""

    def __init__(self, reason: str, file: str = "") -> None:
        super().__init__(f"{file}: {reason}" if file else reason)
        self.reason, self.file = reason, file


@dataclass(frozen=True, slots=True)
class OpenedArchive:
    """An archive with a valid signature."""

    zipped: ZipFile
    manifest: Mapping[str, Any]
    files: tuple[FileEntry, ...]

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file. Raises NotGenuine if it is damaged."""
        with _readable(name), self.zipped.open(name) as file:
            yield from file


@contextmanager
def genuine(
    source: IO[bytes],
    *,
    keys: Sequence[str] | None = None,
    most_bytes: int | None = None,
    accept: Callable[[Mapping[str, Any]], object] = lambda __: None,
) -> Iterator[OpenedArchive]:
    """Open and fully verify the archive in `source`, signed by one of `keys` (public; default: this installation's).

    `accept` may raise for a signed manifest, before any file is read. Raises NotGenuine with the first fault, and for
    files of more than `most_bytes` together.
    """
    with _zip(source) as zipped:
        opened = _opened(zipped, keys)
        accept(opened.manifest)
        if most_bytes is not None and sum(entry.bytes for entry in opened.files) > most_bytes:
            raise NotGenuine(_("It is too large to be verified here: use `%s verify_export`.") % PROGRAM)
        for entry in opened.files:
            _check_file(opened, entry)
        _check_bytes(source, opened)
        yield opened


@contextmanager
def _zip(source: IO[bytes]) -> Iterator[ZipFile]:
    with _readable(otherwise=_("This is no zip archive, or its end is missing.")):
        zipped = ZipFile(source)
    with zipped:
        yield zipped


def _opened(zipped: ZipFile, keys: Sequence[str] | None) -> OpenedArchive:
    names = [info.filename for info in zipped.infolist()]
    for name in (MANIFEST, SIGNATURE):
        if names.count(name) != 1:
            missing = _("is missing: the export was cut off, or this is none.")
            raise NotGenuine(_("is there more than once.") if name in names else missing, name)
        if zipped.getinfo(name).file_size > _MOST_OF_A_MANIFEST:
            raise NotGenuine(_("is too long."), name)
    with _readable(MANIFEST):
        document = zipped.read(MANIFEST)
    with _readable(SIGNATURE):
        signature = zipped.read(SIGNATURE).decode("ascii")
    if not signature.endswith("\n") or not verify(document, signature[:-1], keys=keys):
        raise NotGenuine(_("does not sign this manifest with a key that is known here."), SIGNATURE)
    manifest = json.loads(document)
    if not isinstance(manifest, dict) or (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
        form = f"{FORMAT} {VERSION}"
        raise NotGenuine(_("is of a form that this version does not read (it reads %s).") % form, MANIFEST)
    files = tuple(FileEntry(**entry) for entry in manifest["files"])
    expected = [*(entry.name for entry in files), MANIFEST, SIGNATURE]
    for name in [name for name in expected if name not in names] + [name for name in names if name not in expected]:
        raise NotGenuine(_("is missing.") if name in expected else _("was not in the export."), name)
    if names != expected:
        raise NotGenuine(_("The files are in another order, or one is there twice."))
    for entry in files:  # so that nothing is unpacked that is larger than what was signed
        if zipped.getinfo(entry.name).file_size != entry.bytes:
            raise NotGenuine(_("was changed: its size is not that of the manifest."), entry.name)
    return OpenedArchive(zipped, manifest, files)


def _check_file(opened: OpenedArchive, entry: FileEntry) -> None:
    digest, length = hashlib.sha256(), 0

    def read() -> Iterator[bytes]:
        nonlocal length
        for line in opened.lines(entry.name):
            digest.update(line)
            length += len(line)
            yield line

    rows = rows_in(entry.name, read())
    if length != entry.bytes or digest.hexdigest() != entry.sha256:
        raise NotGenuine(_("was changed: its digest is not that of the manifest."), entry.name)
    if rows != entry.rows:
        raise NotGenuine(
            _("has %(rows)s rows, the manifest says %(stated)s.") % {"rows": rows, "stated": entry.rows}, entry.name
        )


def _check_bytes(source: IO[bytes], opened: OpenedArchive) -> None:
    """Compare every byte of the zip with the writer's: by digest up to the manifest, and the rest by its exact form."""
    infos = opened.zipped.infolist()
    position = 0
    with _readable(otherwise=_("The zip is damaged.")):
        for info in infos:
            position = _check_entry(source, info, position)
            if info.filename == MANIFEST:
                _check_beginning(source, opened, info)
        source.seek(position)
        tail = source.read(_READ_BYTES)
    if tail != _directory(infos, position):
        raise NotGenuine(_("The table of contents of the zip was changed."))


def _check_entry(source: IO[bytes], info: ZipInfo, position: int) -> int:
    """Compare a file's local header and data descriptor; returns the position of the next entry."""
    header, descriptor = _header(info), _descriptor(info)
    if info.header_offset != position or _read(source, position, len(header)) != header:
        raise NotGenuine(_("what stands before it in the zip was changed."), info.filename)
    end = position + len(header) + info.compress_size
    if _read(source, end, len(descriptor)) != descriptor:
        raise NotGenuine(_("what stands after it in the zip was changed."), info.filename)
    return end + len(descriptor)


def _check_beginning(source: IO[bytes], opened: OpenedArchive, manifest: ZipInfo) -> None:
    told = opened.manifest["archive"]
    begins = manifest.header_offset + len(_header(manifest))
    digest, left = hashlib.sha256(), begins
    source.seek(0)
    while left and (piece := source.read(min(left, _READ_BYTES))):
        digest.update(piece)
        left -= len(piece)
    if told != {"bytes": begins, "sha256": digest.hexdigest()}:
        raise NotGenuine(_("The zip was written anew or changed: its bytes are not those that were signed."))


def _read(source: IO[bytes], position: int, length: int) -> bytes:
    source.seek(position)
    return source.read(length)


# The form that `zipstream` writes (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT): a descriptor with
# 64-bit sizes follows each file, names are ASCII, no optional fields.


def _header(info: ZipInfo) -> bytes:
    name = info.filename.encode("ascii")
    fields = (45, 0, 8, _method(info), _time(info), _date(info), 0, _LARGE, _LARGE, len(name), 20)
    return b"PK\x03\x04" + struct.pack("<2B4HL2L2H", *fields) + name + struct.pack("<HHQQ", 1, 16, 0, 0)


def _descriptor(info: ZipInfo) -> bytes:
    return struct.pack("<4sLQQ", b"PK\x07\x08", info.CRC, info.compress_size, info.file_size)


def _directory(infos: Sequence[ZipInfo], begins: int) -> bytes:
    entries = b"".join(map(_directory_entry, infos))
    count, ends, last = len(infos), b"", begins
    if begins > _LARGE // 2:
        record = (44, 45, 45, 0, 0, count, count, len(entries), begins)
        ends = b"PK\x06\x06" + struct.pack("<Q2H2L4Q", *record)
        ends += b"PK\x06\x07" + struct.pack("<LQL", 0, begins + len(entries), 1)
        last = min(begins, _LARGE)
    return entries + ends + b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, count, count, len(entries), last, 0)


def _directory_entry(info: ZipInfo) -> bytes:
    name = info.filename.encode("ascii")
    large: list[int] = []
    sizes = (info.compress_size, info.file_size)
    if max(sizes) > _LARGE // 2:
        large += [info.file_size, info.compress_size]
        sizes = (_LARGE, _LARGE)
    offset = info.header_offset
    if offset > _LARGE // 2:
        large.append(offset)
        offset = _LARGE
    extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    fields = (45, 3, 45, 0, 8, _method(info), _time(info), _date(info), info.CRC, *sizes, len(name), len(extra))
    return b"PK\x01\x02" + struct.pack("<4B4HL2L5H2L", *fields, 0, 0, 0, 0o600 << 16, offset) + name + extra


def _method(info: ZipInfo) -> int:
    return ZIP_STORED if info.filename in (MANIFEST, SIGNATURE) else ZIP_DEFLATED


def _date(info: ZipInfo) -> int:
    year, month, day = info.date_time[:3]
    return (year - 1980) << 9 | month << 5 | day


def _time(info: ZipInfo) -> int:
    hour, minute, second = info.date_time[3:]
    return hour << 11 | minute << 5 | second // 2


@contextmanager
def _readable(file: str = "", *, otherwise: str = "") -> Iterator[None]:
    """Convert any error of reading a damaged zip to NotGenuine."""
    try:
        yield
    except _BROKEN as error:
        raise NotGenuine(otherwise or _("cannot be read: it is damaged."), file) from error
