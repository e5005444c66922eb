"""Signed archives: a zip that is written while it is sent, its manifest and the manifest's signature last.

`manifest.json` says what the archive is and names each file with its bytes, rows and sha256; `manifest.sig` signs it.
Invariants: nothing is held but the file that is being written, a piece at a time; an archive that was cut off has no
manifest, so `archive_reading` refuses it; the manifest also has the digest of all bytes of the zip before its own, so
that not one of them can be changed unnoticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any
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
