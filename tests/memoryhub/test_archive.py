"""An archive streams, says what it holds, and cannot be changed unnoticed."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from memoryhub.signing.archive import ArchiveFile, NotGenuine, RowTable, TableFormat, as_file, genuine, stream_archive
from memoryhub.signing.keys import new_key, public_keys, sign

ROWS = [("moss", "likes shade,\nand rain"), ("fern", '"unfurls" in May')]


def example() -> bytes:
    table = RowTable("plants", ("name", "note"), ROWS)
    files = [as_file(table, TableFormat.CSV), as_file(table, TableFormat.JSON_LINES), ArchiveFile("none.jsonl", [])]
    return b"".join(stream_archive(files, lambda: {"what": "plants"}))


ARCHIVE = example()


def refused(archive: bytes) -> str:
    with pytest.raises(NotGenuine) as error, genuine(io.BytesIO(archive)):
        pass
    return str(error.value)


def rezipped(**changed: bytes | None) -> bytes:
    """The archive, unpacked, changed and packed again by another program. None: the file is left out."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(ARCHIVE)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        files = {name: old.read(name) for name in old.namelist()} | {
            name.replace("__", "."): content for name, content in changed.items()
        }
        for name, content in files.items():
            if content is not None:
                new.writestr(name, content)
    return packed.getvalue()


def test_the_manifest_says_what_is_in_it() -> None:
    with genuine(io.BytesIO(ARCHIVE)) as opened:
        assert opened.manifest["what"] == "plants"
        assert [(entry.name, entry.rows) for entry in opened.files] == [
            ("plants.csv", 2), ("plants.jsonl", 2), ("none.jsonl", 0),
        ]  # fmt: skip
        assert [json.loads(line)["name"] for line in opened.lines("plants.jsonl")] == ["moss", "fern"]


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_no_byte_can_be_changed(mask: int) -> None:
    for place in range(len(ARCHIVE)):
        refused(ARCHIVE[:place] + bytes([ARCHIVE[place] ^ mask]) + ARCHIVE[place + 1 :])


def test_no_byte_can_be_cut_off_or_added() -> None:
    for end in range(len(ARCHIVE)):
        refused(ARCHIVE[:end])
    refused(ARCHIVE + b"\0")
    refused(b"\0" + ARCHIVE)


@given(st.integers(0, len(ARCHIVE)), st.integers(0, len(ARCHIVE)), st.binary(max_size=8))
def test_no_stretch_can_be_replaced(start: int, end: int, other: bytes) -> None:
    changed = ARCHIVE[: min(start, end)] + other + ARCHIVE[max(start, end) :]
    if changed != ARCHIVE:
        refused(changed)


def test_who_edits_a_file_and_packs_it_again_is_told_which() -> None:
    edited = zipfile.ZipFile(io.BytesIO(ARCHIVE)).read("plants.jsonl").replace(b"shade", b"light")
    assert refused(rezipped(plants__jsonl=edited)).startswith("plants.jsonl: was changed")
    assert refused(rezipped(plants__csv=None)) == "plants.csv: is missing."
    assert refused(rezipped(more__csv=b"")) == "more.csv: was not in the export."
    assert refused(rezipped(manifest__sig=None)).startswith("manifest.sig: is missing")
    assert "written anew" in refused(rezipped()) or "zip was changed" in refused(rezipped())


def test_a_page_says_in_its_language_what_was_changed() -> None:
    with translation.override("de"):
        assert refused(rezipped(plants__csv=None)) == "plants.csv: fehlt."
        assert refused(b"no zip") == "Das ist kein ZIP-Archiv, oder sein Ende fehlt."


def test_a_signature_of_something_else_is_none() -> None:
    receipt = b'{"erased": 3}'
    forged = rezipped(manifest__json=receipt, manifest__sig=sign(receipt).encode() + b"\n")
    assert "form that this version does not read" in refused(forged)


def test_another_key_does_not_vouch_for_it(settings: Settings) -> None:
    public = public_keys()[0].encoded
    settings.MEMORYHUB_SIGNING_KEYS = (new_key(),)
    assert refused(ARCHIVE).startswith("manifest.sig")
    with genuine(io.BytesIO(ARCHIVE), keys=[public]) as opened:
        assert opened.files


def test_rows_are_read_while_the_archive_is_sent() -> None:
    read = 0

    def rows() -> Iterator[bytes]:
        nonlocal read
        for number in range(50_000):
            read += 1
            yield f"{number * 7919}\n".encode()

    pieces = stream_archive([ArchiveFile("numbers.jsonl", rows())], dict)
    assert read == 0
    next(pieces)
    next(pieces)
    assert 0 < read < 50_000
    assert sum(map(len, pieces)) > 100_000 and read == 50_000
