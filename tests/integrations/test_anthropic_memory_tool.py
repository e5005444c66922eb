"""Claude's memory tool on items: its six commands, their answers and errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("anthropic.tools.memory", reason="the SDK of Anthropic is not installed (make integrations)")
pytest.importorskip("pytest_asyncio", reason="pytest-asyncio is not installed (make integrations)")

from anthropic.lib.tools import ToolError

from memoryhub_client import AsyncClient, Client
from memoryhub_client.anthropic import AsyncMemoryhubMemoryTool, MemoryhubMemoryTool

pytestmark = pytest.mark.long
HOME = "/memories/notes/home.md"


@pytest.fixture
def tool(client: Client) -> MemoryhubMemoryTool:
    return MemoryhubMemoryTool(client)


def do(tool: MemoryhubMemoryTool, command: str, path: str = HOME, **fields: Any) -> str:
    where = {} if command == "rename" else {"path": path}
    answer = tool.call({"command": command, **where, **fields})
    assert isinstance(answer, str)
    return answer


def test_a_file_is_created_viewed_edited_and_deleted(tool: MemoryhubMemoryTool, client: Client) -> None:
    assert do(tool, "create", file_text="one\ntwo\nthree") == f"File created successfully at: {HOME}"
    assert do(tool, "view", view_range=[2, 3]).endswith(f"{HOME} with line numbers:\n     2\ttwo\n     3\tthree")
    snippet = do(tool, "str_replace", old_str="two", new_str="2")
    assert snippet.endswith("(with line numbers):\n     1\tone\n     2\t2\n     3\tthree")
    assert do(tool, "insert", insert_line=3, insert_text="four\n") == f"The file {HOME} has been edited."
    assert client.items.get(["memories", "notes"], "home.md").value == "one\n2\nthree\nfour\n"
    assert do(tool, "delete") == f"Successfully deleted {HOME}"
    actions = [event.action for event in client.items.history(["memories", "notes"], "home.md")]
    assert actions == ["deleted", "replaced", "replaced", "created"]


def test_a_directory_shows_two_levels_with_sizes(tool: MemoryhubMemoryTool) -> None:
    do(tool, "create", "/memories/a.txt", file_text="x" * 2048)
    do(tool, "create", "/memories/d/e/f/deep.txt", file_text="y")
    do(tool, "create", "/memories/d/.hidden", file_text="z")
    header, *lines = do(tool, "view", "/memories").split("\n")
    assert header == "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:"
    assert lines == ["2.0K\t/memories", "2K\t/memories/a.txt", "1B\t/memories/d/", "1B\t/memories/d/e/"]


def test_a_directory_is_renamed_and_deleted_with_its_files(tool: MemoryhubMemoryTool) -> None:
    do(tool, "create", "/memories/d/one.txt", file_text="1")
    do(tool, "create", "/memories/d/e/two.txt", file_text="2")
    do(tool, "rename", old_path="/memories/d", new_path="/memories/g/h")
    assert "2" in do(tool, "view", "/memories/g/h/e/two.txt")
    do(tool, "delete", "/memories/g")
    assert do(tool, "view", "/memories").endswith("0B\t/memories")


@pytest.mark.parametrize(
    ("command", "path", "fields", "reason"),
    [
        ("view", "/etc/passwd", {}, "Path must start with /memories"),
        ("view", "/memoriesx", {}, "Path must start with /memories"),
        ("view", "/memories/../secrets", {}, "would escape /memories"),
        ("view", "/memories/none", {}, "does not exist. Please provide a valid path."),
        ("create", HOME, {"file_text": ""}, "already exists"),
        ("create", "/memories/notes", {"file_text": ""}, "already exists"),
        ("create", f"{HOME}/below", {"file_text": ""}, "is a file, not a directory"),
        ("str_replace", HOME, {"old_str": "none", "new_str": ""}, "did not appear verbatim"),
        ("str_replace", HOME, {"old_str": "a", "new_str": ""}, "Multiple occurrences .* in lines: 1, 2"),
        ("str_replace", "/memories/notes", {"old_str": "a", "new_str": ""}, "is not a file"),
        ("insert", HOME, {"insert_line": 3, "insert_text": "x"}, r"within the range \[0, 2\]"),
        ("delete", "/memories", {}, "Cannot delete the /memories directory itself"),
        ("delete", "/memories/none", {}, "does not exist"),
        ("rename", "", {"old_path": "/memories/none", "new_path": "/memories/x"}, "does not exist"),
        ("rename", "", {"old_path": HOME, "new_path": HOME}, "already exists"),
        ("rename", "", {"old_path": "/memories/notes", "new_path": "/memories/notes/x"}, "into itself"),
        ("create", "/memories/keys.txt", {"file_text": "AKIAIOSFODNN7EXAMPLE"}, "Nothing was stored"),
        ("create", "/memories/long.txt", {"file_text": "x" * 70_000}, "is too long"),
        ("create", "/memories/new\nline", {"file_text": "x"}, "control characters|Nothing was stored"),
    ],
)
def test_what_cannot_be_done_is_said(
    tool: MemoryhubMemoryTool, client: Client, command: str, path: str, fields: dict[str, Any], reason: str
) -> None:
    do(tool, "create", file_text="a\na")
    with pytest.raises(ToolError, match=reason):
        do(tool, command, path, **fields)
    assert [item.value for item in client.items.search().results] == ["a\na"]


@pytest.fixture
async def async_tool(url: str, key: str, user: str) -> AsyncIterator[AsyncMemoryhubMemoryTool]:
    async with AsyncClient(url, token=key, user_id=user) as client:
        yield AsyncMemoryhubMemoryTool(client)


async def test_the_asynchronous_tool_does_the_same(async_tool: AsyncMemoryhubMemoryTool) -> None:
    await async_tool.call({"command": "create", "path": HOME, "file_text": "a\n"})
    await async_tool.call({"command": "str_replace", "path": HOME, "old_str": "a", "new_str": "b"})
    await async_tool.call({"command": "insert", "path": HOME, "insert_line": 0, "insert_text": "top"})
    await async_tool.call({"command": "rename", "old_path": HOME, "new_path": "/memories/x"})
    assert str(await async_tool.call({"command": "view", "path": "/memories/x"})).endswith(
        "1\ttop\n     2\tb\n     3\t"
    )
    await async_tool.call({"command": "delete", "path": "/memories/x"})
    assert await async_tool.clear_all_memory() == "All memory cleared"
