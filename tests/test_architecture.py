"""The rules of the project that no linter knows, each as a check.

Layers are held by import-linter; here: sizes, words, who may write, and who may ask without naming an owner.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("memoryhub", "tenants", "memories")
EDGES = ("memories/chat", "memories/api", "memories/admin", "memories/management", "memories/agent")

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60

# Methods of models and query sets that change rows.
WRITES = frozenset(
    {"save", "asave", "create", "get_or_create", "update_or_create", "bulk_create", "bulk_update", "delete", "update"}
)
# Methods of `set`, `dict` and the like share these names; a query set is recognised by what it is called on.
QUERY_SET = re.compile(r"\bobjects\b|_set\b|\.of\(|\.visible_to\(")


def sources(*folders: str) -> list[Path]:
    """The modules written by hand under these folders."""
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [path for path in paths if "migrations" not in path.parts and "training" not in path.parts]


def tracked_text() -> Iterator[tuple[str, str]]:
    """Name and content of every file under version control that is text."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)  # noqa: S607
    for name in filter(None, listed.stdout.split("\0")):
        try:
            yield name, (ROOT / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue


def name_of(path: Path) -> str:
    """The path as a person writes it."""
    return path.relative_to(ROOT).as_posix()


ALL = sources(*PACKAGES, "tests", "benchmarks")
EDGE_MODULES = sources(*EDGES)


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_a_module_is_about_one_noun_and_fits_a_few_screens(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_MODULE_LINES
    assert not re.search(r"utils|helpers?$|manager$", path.stem)


@pytest.mark.parametrize("path", ALL, ids=name_of)
def test_a_function_fits_a_screen(path: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = [f.name for f in functions if (f.end_lineno or f.lineno) - f.lineno + 1 > MAX_FUNCTION_LINES]
    assert not long


@pytest.mark.parametrize("path", sources(*PACKAGES), ids=name_of)
def test_nothing_is_left_for_later(path: Path) -> None:
    assert not re.search(r"\b(TODO|FIXME|XXX)\b|NotImplementedError", path.read_text())


@pytest.mark.parametrize("path", EDGE_MODULES, ids=name_of)
def test_an_edge_never_writes_a_row(path: Path) -> None:
    writes = [
        f"{path.name}:{call.lineno} .{call.func.attr}()"
        for call in calls_of(path, WRITES)
        if isinstance(call.func, ast.Attribute)
        and (call.func.attr in {"save", "asave"} or QUERY_SET.search(ast.unparse(call.func.value)))
    ]
    assert not writes, "services are the only writers"


@pytest.mark.parametrize("path", EDGE_MODULES, ids=name_of)
def test_an_edge_never_asks_without_naming_the_owner(path: Path) -> None:
    tree = ast.parse(path.read_text())
    unscoped = [
        f"{path.name}:{node.lineno} {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "objects"
        and node.attr not in {"of", "visible_to"}
    ]
    assert not unscoped, "start from objects.of(principal) or objects.visible_to(principal), or ask a selector"


def test_every_folder_of_sources_is_a_package() -> None:
    folders = {path.parent for path in sources(*PACKAGES)}
    assert not [name_of(folder) for folder in folders if not (folder / "__init__.py").exists()]


def test_no_file_names_a_folder_of_one_machine_or_a_package_host() -> None:
    pattern = re.compile(r"(?<![\w.])/(?:root|home/\w+|work|Users/\w+)/|files\.pythonhosted\.org|pypi\.org/simple")
    found = [name for name, text in tracked_text() if pattern.search(text) and name != "tests/test_architecture.py"]
    assert not found


def calls_of(path: Path, methods: frozenset[str]) -> Iterator[ast.Call]:
    """The calls of methods with these names in a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
            yield node
