"""Catalog entries from a folder of documents, kept in step with it by repeated imports.

An entry belongs to a folder by its metadata: `folder` (a name that the caller chooses), `file`, `part` and `version`.
Its id follows from the words that were read, so an import finds what is unchanged; the parts of a file that are new get
the file's next version, and what the file no longer says is retired, as is all of a file that is gone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin
from uuid import UUID

from memories.constants import MAX_KEY_CHARACTERS
from memories.errors import Blocked, InvalidInput
from memories.hygiene.text import clean_text
from memories.importing.documents import READERS, DocumentPart, UnreadableDocument, parts_of
from memories.models import CatalogEntry
from memories.services.catalog import remember_catalog_entry
from memories.services.portability.imports import shared_id
from memories.services.write import owner_columns, require_scope, write
from memories.types import CURRENT, Scope, Status, WriteResult
from tenants.principal import Principal

MAX_FILES = 10_000
_MAX_URL = 500


@dataclass(slots=True)
class FolderReport:
    """Numbers of parts; `refused` maps files, or parts of them, to the reason why they were not stored."""

    files: int = 0
    unchanged: int = 0
    added: int = 0
    retired: int = 0
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _FolderEntry:
    id: UUID
    file: str
    version: int
    is_current: bool


def documents_in(folder: Path) -> list[Path]:
    """Return the documents below a folder, by name. Hidden ones, and links that lead out of it, are left out.

    Raises InvalidInput.
    """
    if not folder.is_dir():
        raise InvalidInput("folder", "is no folder that can be read.")
    root = folder.resolve()
    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in READERS and path.is_file()]
    inside = [
        path
        for path in found
        if path.resolve().is_relative_to(root)
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if len(inside) > MAX_FILES:
        raise InvalidInput("folder", f"holds {len(inside):,} documents; at most {MAX_FILES:,} are read.")
    return inside


def import_folder(
    principal: Principal,
    folder: Path,
    *,
    name: str,
    base_url: str = "",
    scope: Scope = Scope.TENANT,
    advance: Callable[[int], object] = lambda _count: None,
) -> FolderReport:
    """Bring the catalog entries of the folder `name` in step with the documents in `folder`.

    With `base_url`, each entry links to the file's address below it. A file that cannot be read keeps its entries.
    Raises InvalidInput, and Forbidden unless the principal may write shared memories.
    """
    require_scope(principal, scope)
    clean_text(name, field="name", limit=MAX_KEY_CHARACTERS)
    report = FolderReport()
    stored = _stored(principal, scope, name)
    left = set(stored)
    for path in documents_in(folder):
        file = path.relative_to(folder).as_posix()
        left.discard(file)
        report.files += 1
        try:
            parts = parts_of(path, path.stem)
        except (UnreadableDocument, OSError) as error:
            report.refused[file] = error.strerror or "" if isinstance(error, OSError) else str(error)
        else:
            address = urljoin(f"{base_url.rstrip('/')}/", quote(file)) if base_url else ""
            _import_file(principal, scope, name, file, address, parts, stored.get(file, ()), report)
        advance(1)
    for file in sorted(left):
        report.retired += _retire(principal, scope, [each.id for each in stored[file] if each.is_current])
    return report


def _stored(principal: Principal, scope: Scope, name: str) -> Mapping[str, Sequence[_FolderEntry]]:
    """The entries of the folder, retired ones included, by file."""
    by_file: dict[str, list[_FolderEntry]] = defaultdict(list)
    rows = CatalogEntry.objects.in_place(owner_columns(principal, scope, "")).filter(metadata__folder=name).order_by()
    for pk, metadata, status in rows.values_list("pk", "metadata", "status"):
        each = _FolderEntry(pk, str(metadata.get("file")), _number(metadata.get("version")), status in CURRENT)
        by_file[each.file].append(each)
    return by_file


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _import_file(
    principal: Principal,
    scope: Scope,
    name: str,
    file: str,
    address: str,
    parts: Sequence[DocumentPart],
    stored: Sequence[_FolderEntry],
    report: FolderReport,
) -> None:
    current = {each.id for each in stored if each.is_current}
    retired = {each.id for each in stored} - current
    version = 1 + max((each.version for each in stored), default=0)
    said: set[UUID] = set()
    for number, part in enumerate(parts, start=1):
        entry_id = next(id_ for id_ in _ids(principal, scope, name, file, part) if id_ not in retired)
        if entry_id in said:
            continue  # the same words twice in a file
        said.add(entry_id)
        if entry_id in current:
            report.unchanged += 1
            continue
        url = part.url or address
        try:
            outcome = remember_catalog_entry(
                principal,
                title=part.title or file,
                text=part.text,
                source_url=url if len(url) <= _MAX_URL else "",
                scope=scope,
                entry_id=entry_id,
                metadata={"folder": name, "file": file, "part": number, "version": version},
            )
        except (InvalidInput, Blocked) as error:
            report.refused[f"{file}, part {number}"] = str(error)
            said.discard(entry_id)
        else:
            report.added += outcome.result is WriteResult.CREATED
            report.unchanged += outcome.result is not WriteResult.CREATED
    report.retired += _retire(principal, scope, sorted(current - said))


def _ids(principal: Principal, scope: Scope, name: str, file: str, part: DocumentPart) -> Iterator[UUID]:
    """The id of a part's entry, then those that it has when it comes back after it was retired."""
    said = hashlib.sha256(f"{part.title}\x1f{part.text}\x1f{part.url}".encode()).hexdigest()
    number = 0
    while True:
        yield shared_id(principal, "folder", scope, name, file, said, str(number))
        number += 1


def _retire(principal: Principal, scope: Scope, ids: Sequence[UUID]) -> int:
    """Take entries out of every recall; they stay as history."""
    if not ids:
        return 0
    with write(principal, scope) as w:
        rows = list(CatalogEntry.objects.in_place(owner_columns(principal, scope, "")).current().filter(pk__in=ids))
        for row in rows:
            before, row.status = str(row.status), Status.EVICTED
            row.version += 1
            row.save(update_fields=["status", "version", "updated_at"])
            w.audit(".evicted", row, reason="the document says it no more", before={"status": before})
            w.index(row)
        return len(rows)
