"""Claude's memory tool on items: `memoryhub-client[anthropic]`.

A file is an item: its directories are the namespace, its name is the key, its text the value. So each edit stays in the
history of the item, a search among items finds what Claude wrote down, and a secret is refused before it is stored.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeVar

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from memoryhub_client.client import AsyncClient, Client
from memoryhub_client.errors import ApiError, Conflict, NotFound
from memoryhub_client.sansio import PAGE, Procedure, Request, arun, items, run
from memoryhub_client.types import Deleted, FoundItem, FoundItems, Item

T = TypeVar("T")

ROOT = "memories"
_MOST_LINES = 999_999
_NUMBER_WIDTH = len(str(_MOST_LINES))
_AROUND = 2
_LEVELS = 2
# The path or the text is the reason: it is invalid, too long, or holds what is never stored.
_REFUSED = (400, 413, 422)


class MemoryhubMemoryTool(BetaAbstractMemoryTool):
    """Claude's files under `/memories`, of one member: `run_tools(tools=[MemoryhubMemoryTool(client)], …)`."""

    def __init__(self, client: Client, **options: Any) -> None:
        super().__init__(**options)
        self._client = client

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file, or what a directory holds."""
        return run(self._client, _told(_view(command)))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return run(self._client, _told(_create(command)))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that a file has once."""
        return run(self._client, _told(_str_replace(command)))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line."""
        return run(self._client, _told(_insert(command)))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a directory with all that it holds; the history of each file stays."""
        return run(self._client, _told(_delete(command)))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return run(self._client, _told(_rename(command)))

    def clear_all_memory(self) -> str:
        """Delete all files."""
        return run(self._client, _clear())


class AsyncMemoryhubMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `AsyncAnthropic`."""

    def __init__(self, client: AsyncClient, **options: Any) -> None:
        super().__init__(**options)
        self._client = client

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file, or what a directory holds."""
        return await arun(self._client, _told(_view(command)))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file."""
        return await arun(self._client, _told(_create(command)))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that a file has once."""
        return await arun(self._client, _told(_str_replace(command)))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line."""
        return await arun(self._client, _told(_insert(command)))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a directory with all that it holds; the history of each file stays."""
        return await arun(self._client, _told(_delete(command)))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return await arun(self._client, _told(_rename(command)))

    async def clear_all_memory(self) -> str:
        """Delete all files."""
        return await arun(self._client, _clear())


class _Path:
    """A path that lies in `/memories`. Raises ToolError."""

    def __init__(self, path: str) -> None:
        if path != f"/{ROOT}" and not path.startswith(f"/{ROOT}/"):
            raise ToolError(f"Path must start with /{ROOT}, got: {path}")
        _, top, *self.inner = posixpath.normpath(path).split("/")
        if top != ROOT:
            raise ToolError(f"Path {path} would escape /{ROOT} directory")
        self.written = path
        # As a directory, and as a file.
        self.labels = [ROOT, *self.inner]
        self.directory, self.name = self.labels[:-1], self.labels[-1]

    @property
    def is_root(self) -> bool:
        return not self.inner


def _told(procedure: Generator[Request, Any, T]) -> Procedure[T]:
    """The same procedure; what the server does not store as it is, such as a secret, Claude is told."""
    try:
        return (yield from procedure)
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
        reasons = "; ".join(f"{each.field} {each.reason}" for each in error.errors)
        raise ToolError(f"Nothing was stored: {reasons or error.detail}") from error


def _view(command: BetaMemoryTool20250818ViewCommand) -> Procedure[str]:
    path = _Path(command.path)
    file = yield from _file(path)
    if file is not None:
        return _numbered_file(file.value, command)
    inside = yield from _inside(path)
    if not inside and not path.is_root:
        raise _missing(path)
    listed = "\n".join(_listed(path, inside))
    return (
        f"Here're the files and directories up to {_LEVELS} levels deep in {command.path}, excluding hidden items:\n"
        f"{listed}"
    )


def _create(command: BetaMemoryTool20250818CreateCommand) -> Procedure[str]:
    path = _Path(command.path)
    yield from _require_free(path, ToolError(f"File {command.path} already exists"))
    try:
        yield items.put(path.directory, path.name, command.file_text, if_version=0)
    except Conflict:
        raise ToolError(f"File {command.path} already exists") from None
    return f"File created successfully at: {command.path}"


def _str_replace(command: BetaMemoryTool20250818StrReplaceCommand) -> Procedure[str]:
    def replaced(text: str) -> str:
        parts = text.split(command.old_str) if command.old_str else [text]
        if len(parts) == 1:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
            )
        if len(parts) > 2:  # noqa: PLR2004 - before and after
            lines = ", ".join(str(text[:place].count("\n") + 1) for place in _places(text, command.old_str))
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: {lines}."
                " Please ensure it is unique"
            )
        return command.new_str.join(parts)

    before, after = yield from _edited(_Path(command.path), replaced)
    changed = before[: before.find(command.old_str)].count("\n")
    lines = after.split("\n")
    first = max(0, changed - _AROUND)
    snippet = _numbered(lines[first : changed + _AROUND + 1], first + 1)
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"


def _insert(command: BetaMemoryTool20250818InsertCommand) -> Procedure[str]:
    def inserted(text: str) -> str:
        lines = text.removesuffix("\n").split("\n") if text else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        return "\n".join(lines).removesuffix("\n") + "\n"

    yield from _edited(_Path(command.path), inserted)
    return f"The file {command.path} has been edited."


def _delete(command: BetaMemoryTool20250818DeleteCommand) -> Procedure[str]:
    path = _Path(command.path)
    if path.is_root:
        raise ToolError(f"Cannot delete the /{ROOT} directory itself")
    done: Deleted = yield items.delete(path.directory, path.name)
    if not done.deleted:
        inside = yield from _inside(path)
        if not inside:
            raise ToolError(f"The path {command.path} does not exist")
        for file in inside:
            yield items.delete(file.namespace, file.key)
    return f"Successfully deleted {command.path}"


def _rename(command: BetaMemoryTool20250818RenameCommand) -> Procedure[str]:
    old, new = _Path(command.old_path), _Path(command.new_path)
    if old.is_root:
        raise ToolError(f"Cannot rename the /{ROOT} directory itself")
    taken = ToolError(f"The destination {command.new_path} already exists")
    if new.is_root:
        raise taken
    if new.labels[: len(old.labels)] == old.labels and new.labels != old.labels:
        raise ToolError(f"Cannot move {command.old_path} into itself")
    file = yield from _file(old)
    moved: Sequence[Item] = [file] if file else (yield from _inside(old))
    if not moved:
        raise ToolError(f"The path {command.old_path} does not exist")
    yield from _require_free(new, taken)
    for each in moved:
        directory, name = (new.directory, new.name) if each is file else (_below(each, old, new), each.key)
        try:
            yield items.put(directory, name, each.value, if_version=0)
            yield items.delete(each.namespace, each.key, if_version=each.version)
        except Conflict:
            raise ToolError(f"{command.old_path} was changed meanwhile. View it again, then repeat.") from None
    return f"Successfully renamed {command.old_path} to {command.new_path}"


def _clear() -> Procedure[str]:
    for file in (yield from _inside(_Path(f"/{ROOT}"))):
        yield items.delete(file.namespace, file.key)
    return "All memory cleared"


def _file(path: _Path) -> Procedure[Item | None]:
    if path.is_root:
        return None
    try:
        found: Item = yield items.get(path.directory, path.name)
    except NotFound:
        return None
    if not isinstance(found.value, str):
        raise ToolError(f"The path {path.written} is not a text file.")
    return found


def _inside(path: _Path, *, most: int | None = None) -> Procedure[list[FoundItem]]:
    """The files in a directory and in those below it; an empty directory does not exist."""
    found: list[FoundItem] = []
    while most is None or len(found) < most:
        size = PAGE if most is None else most
        page: FoundItems = yield items.search(path.labels, limit=size, offset=len(found))
        found += page.results
        if len(page.results) < size:
            break
    return found


def _require_free(path: _Path, taken: ToolError) -> Procedure[None]:
    """Raise `taken` for a path of a file or directory, and ToolError for one below a file."""
    if path.is_root or (yield from _file(path)) or (yield from _inside(path, most=1)):
        raise taken
    for depth in range(1, len(path.inner)):
        above = _Path("/".join(["", *path.labels[: depth + 1]]))
        if (yield from _file(above)):
            raise ToolError(f"The path {above.written} is a file, not a directory.")


def _edited(path: _Path, edit: Callable[[str], str]) -> Procedure[tuple[str, str]]:
    """Put the edited text of a file; return the text before and after."""
    while True:
        file = yield from _file(path)
        if file is None:
            if path.is_root or (yield from _inside(path, most=1)):
                raise ToolError(f"The path {path.written} is not a file.")
            raise _missing(path)
        after = edit(file.value)
        try:
            yield items.put(path.directory, path.name, after, if_version=file.version)
        except Conflict:  # changed since it was read
            continue
        return file.value, after


def _missing(path: _Path) -> ToolError:
    return ToolError(f"The path {path.written} does not exist. Please provide a valid path.")


def _below(file: Item, old: _Path, new: _Path) -> list[str]:
    return [*new.labels, *file.namespace[len(old.labels) :]]


def _places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _numbered_file(text: str, command: BetaMemoryTool20250818ViewCommand) -> str:
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {command.path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first, last = 1, len(lines)
    if command.view_range and len(command.view_range) == 2:  # noqa: PLR2004 - from and to
        first = max(1, command.view_range[0])
        last = last if command.view_range[1] == -1 else command.view_range[1]
    return f"Here's the content of {command.path} with line numbers:\n{_numbered(lines[first - 1 : last], first)}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _listed(path: _Path, files: Sequence[Item]) -> Iterator[str]:
    """A line for the directory and each thing in it, with its size; a directory has that of its files."""
    sizes: dict[tuple[str, ...], int] = {}
    whole = 0
    for file in files:
        parts = (*file.namespace[len(path.labels) :], file.key)
        size = len(file.value.encode()) if isinstance(file.value, str) else 0
        whole += size
        if any(part.startswith(".") for part in parts):
            continue
        for depth in range(1, min(_LEVELS, len(parts)) + 1):
            place = (*parts[:depth], "") if depth < len(parts) else parts
            sizes[place] = sizes.get(place, 0) + size
    yield f"{_size(whole)}\t{path.written}"
    for parts, size in sorted(sizes.items()):
        yield f"{_size(size)}\t{path.written.rstrip('/')}/{'/'.join(parts)}"


def _size(count: float) -> str:
    for unit in "BKMG":
        if count < 1024 or unit == "G":  # noqa: PLR2004 - bytes of a kilobyte
            break
        count /= 1024
    return f"{count:.0f}{unit}" if count == int(count) else f"{count:.1f}{unit}"
