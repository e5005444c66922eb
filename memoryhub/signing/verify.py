"""Checking a signed archive (`memoryhub/signing/archive.py`): what it holds is what was signed, and it is nothing else.

Invariant: whoever changes, adds, removes or reorders anything in an archive, be it one bit of its zip structure, is
told by the first thing that is wrong. Needs neither a database nor the private key. Files are read a piece at a time.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from memoryhub.signing.archive import FORMAT, MANIFEST, SIGNATURE, VERSION, FileEntry, rows_in
from memoryhub.signing.keys import verify

_MOST_OF_A_MANIFEST = 32 * 1024 * 1024
_PIECE_BYTES = 1024 * 1024
_LARGE = 0xFFFFFFFF
# What reading a damaged zip may raise.
_BROKEN = (
    BadZipFile, zlib.error, EOFError, RuntimeError, OverflowError, UnicodeError, ValueError,
    struct.error, OSError,
)  # fmt: skip


class NotGenuine(Exception):
    """The archive is not what was signed. `file` names the file in it that is wrong, if one is."""

    def __init__(self, reason: str, file: str = "") -> None:
        super().__init__(f"{file}: {reason}" if file else reason)
        self.reason, self.file = reason, file


@dataclass(frozen=True, slots=True)
class OpenedArchive:
    """An archive whose manifest is genuine."""

    zipped: ZipFile
    manifest: Mapping[str, Any]
    files: tuple[FileEntry, ...]

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file."""
        with _readable(name), self.zipped.open(name) as file:
            yield from file


@contextmanager
def genuine(source: IO[bytes], *, keys: Sequence[str] | None = None) -> Iterator[OpenedArchive]:
    """The archive in `source`, signed by one of `keys` (public; default: this installation's), all of it checked.

    Raises NotGenuine with the first thing that is wrong.
    """
    with _zip(source) as zipped:
        opened = _opened(zipped, keys)
        for entry in opened.files:
            _check_file(opened, entry)
        _check_bytes(source, opened)
        yield opened


@contextmanager
def _zip(source: IO[bytes]) -> Iterator[ZipFile]:
    with _readable(otherwise="This is no zip archive, or its end is missing."):
        zipped = ZipFile(source)
    with zipped:
        yield zipped


def _opened(zipped: ZipFile, keys: Sequence[str] | None) -> OpenedArchive:
    names = [info.filename for info in zipped.infolist()]
    for name in (MANIFEST, SIGNATURE):
        if names.count(name) != 1:
            missing = "is missing: the export was cut off, or this is none."
            raise NotGenuine("is there more than once." if name in names else missing, name)
        if zipped.getinfo(name).file_size > _MOST_OF_A_MANIFEST:
            raise NotGenuine("is too long.", name)
    with _readable(MANIFEST):
        document = zipped.read(MANIFEST)
    with _readable(SIGNATURE):
        signature = zipped.read(SIGNATURE).decode("ascii")
    if not signature.endswith("\n") or not verify(document, signature[:-1], keys=keys):
        raise NotGenuine("does not sign this manifest with a key that is known here.", SIGNATURE)
    manifest = json.loads(document)
    if not isinstance(manifest, dict) or (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
        raise NotGenuine(f"is of a form that this version does not read (it reads {FORMAT} {VERSION}).", MANIFEST)
    files = tuple(FileEntry(**entry) for entry in manifest["files"])
    expected = [*(entry.name for entry in files), MANIFEST, SIGNATURE]
    for name in [name for name in expected if name not in names] + [name for name in names if name not in expected]:
        raise NotGenuine("is missing." if name in expected else "was not in the export.", name)
    if names != expected:
        raise NotGenuine("The files are in another order, or one is there twice.")
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
        raise NotGenuine("was changed: its digest is not that of the manifest.", entry.name)
    if rows != entry.rows:
        raise NotGenuine(f"has {rows} rows, the manifest says {entry.rows}.", entry.name)


def _check_bytes(source: IO[bytes], opened: OpenedArchive) -> None:
    """Every byte of the zip is what the writer put there: up to the manifest by its digest, then by its form."""
    infos = opened.zipped.infolist()
    position = 0
    with _readable(otherwise="The zip is damaged."):
        for info in infos:
            position = _check_entry(source, info, position)
            if info.filename == MANIFEST:
                _check_beginning(source, opened, info)
        source.seek(position)
        tail = source.read(_PIECE_BYTES)
    if tail != _directory(infos, position):
        raise NotGenuine("The table of contents of the zip was changed.")


def _check_entry(source: IO[bytes], info: ZipInfo, position: int) -> int:
    """The header before a file and the sizes after it; returns where the next one begins."""
    header, descriptor = _header(info), _descriptor(info)
    if info.header_offset != position or _read(source, position, len(header)) != header:
        raise NotGenuine("what stands before it in the zip was changed.", info.filename)
    end = position + len(header) + info.compress_size
    if _read(source, end, len(descriptor)) != descriptor:
        raise NotGenuine("what stands after it in the zip was changed.", info.filename)
    return end + len(descriptor)


def _check_beginning(source: IO[bytes], opened: OpenedArchive, manifest: ZipInfo) -> None:
    told = opened.manifest["archive"]
    begins = manifest.header_offset + len(_header(manifest))
    digest, left = hashlib.sha256(), begins
    source.seek(0)
    while left and (piece := source.read(min(left, _PIECE_BYTES))):
        digest.update(piece)
        left -= len(piece)
    if told != {"bytes": begins, "sha256": digest.hexdigest()}:
        raise NotGenuine("The zip was written anew or changed: its bytes are not those that were signed.")


def _read(source: IO[bytes], position: int, length: int) -> bytes:
    source.seek(position)
    return source.read(length)


# The form in which `zipstream` writes (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT): sizes of 64 bit
# follow each file, names are ASCII, and nothing is optional.


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
def _readable(file: str = "", *, otherwise: str = "cannot be read: it is damaged.") -> Iterator[None]:
    """Whatever a damaged zip makes of being read is one error."""
    try:
        yield
    except _BROKEN as error:
        raise NotGenuine(otherwise, file) from error
