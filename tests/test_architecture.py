"""Checks of project rules that no linter knows: sizes, names, words, import cycles, and queries without an owner.

import-linter checks the layers.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("memoryhub", "tenants", "memories")
# Packages that act for one member; operators' commands may count all rows.
MEMBER_EDGES = ("memories/chat", "memories/api", "memories/agent")

MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 60

# Modules that may call Elasticsearch: the search plane, the search keys, and the set-up command.
SEARCH_CLIENTS = (
    "memoryhub/elasticsearch.py",
    "memories/search/elasticsearch/",
    "memories/management/commands/elasticsearch.py",
    "tenants/search_keys/",
)

# Class names that Django prescribes.
NAMED_BY_DJANGO = {"Command", "Meta", "Migration"}
# Packages whose modules may have the same names as those of sibling packages: variants of one interface.
TWIN_PACKAGES = {"serializers", "views", "embedded", "elasticsearch"}

# Private words; the glossary of docs/architecture.md has the standard terms.
NOT_USED = re.compile(r"\b(told|whom|trails?|stands|at work|shelf|shelves|legs?)\b", re.IGNORECASE)


def sources(*folders: str) -> list[Path]:
    """The modules under these folders, without migrations and training."""
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [path for path in paths if "migrations" not in path.parts and "training" not in path.parts]


def tracked_text() -> Iterator[tuple[str, str]]:
    """The name and content of every tracked text file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)  # noqa: S607
    for name in filter(None, listed.stdout.split("\0")):
        try:
            yield name, (ROOT / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue


def name_of(path: Path) -> str:
    """The path relative to the repository, with slashes."""
    return path.relative_to(ROOT).as_posix()


ALL = sources(*PACKAGES, "proof", "tests", "benchmarks")
ALL_PRODUCT = sources(*PACKAGES, "proof")


def imports_of(path: Path, modules: set[str]) -> set[str]:
    """The modules of the product that a module imports at the top level."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & modules or {node.module} & modules
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & modules
    return found


def prose_of(path: Path) -> Iterator[str]:
    """The docstrings and comments of a module, without code in backticks."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield re.sub(r"`[^`]*`", "", ast.get_docstring(node) or "")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield re.sub(r"`[^`]*`", "", token.string)


def test_a_class_name_means_one_thing() -> None:
    defined: dict[str, list[str]] = defaultdict(list)
    for path in ALL_PRODUCT:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name not in NAMED_BY_DJANGO:
                defined[node.name.lstrip("_")].append(name_of(path))
    assert defined
    assert not {name: paths for name, paths in defined.items() if len(paths) > 1}


def test_a_layer_has_each_module_name_once() -> None:
    """A layer is a folder of an app. Layers may share a noun: services write reviews, selectors read them."""
    named: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path in sources(*PACKAGES):
        app, *folders = path.relative_to(ROOT).parent.parts
        if path.stem != "__init__" and folders:
            layer, twin = folders[0], folders[-1] if folders[-1] in TWIN_PACKAGES else ""
            named[app, layer, twin, path.stem].append(name_of(path))
    assert not [paths for paths in named.values() if len(paths) > 1]


def test_no_import_goes_round_in_a_circle() -> None:
    modules = {
        name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in ALL_PRODUCT
    }
    graph = {module: imports_of(path, set(modules)) - {module} for module, path in modules.items()}
    assert sum(map(len, graph.values())) > len(modules)
    circle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert not circle


def test_docstrings_and_comments_use_the_words_of_the_glossary() -> None:
    found = [
        f"{name_of(path)}: {match[0]}"
        for path in ALL_PRODUCT
        for prose in prose_of(path)
        for match in NOT_USED.finditer(prose)
    ]
    assert not found


def test_a_module_is_about_one_noun_and_fits_a_few_screens() -> None:
    assert not [name_of(path) for path in ALL if len(path.read_text().splitlines()) > MAX_MODULE_LINES]
    assert not [name_of(path) for path in ALL if re.search(r"utils|helpers?$|manager$", path.stem)]


def test_a_function_fits_a_screen() -> None:
    long = [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in ALL
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert not long


def test_the_product_imports_nothing_that_is_for_tests() -> None:
    testing = re.compile(r"^\s*(from|import) (django\.test|proof|tests|pytest)\b", re.MULTILINE)
    assert not [name_of(path) for path in sources(*PACKAGES) if testing.search(path.read_text())]


def test_nothing_is_left_for_later() -> None:
    left = re.compile(r"\b(TODO|FIXME|XXX)\b|NotImplementedError")
    assert not [name_of(path) for path in sources(*PACKAGES, "proof") if left.search(path.read_text())]


def test_queries_over_all_owners_give_the_reasons_that_are_listed() -> None:
    """Each `unscoped("reason")` and `raw_writes("reason")` of the product is counted in `tests/unscoped.txt`."""
    given = Counter(
        reason
        for path in sources(*PACKAGES)
        for reason in re.findall(
            r"\b(?:unscoped|raw_writes|default_manager\.unscoped)\(\s*\"([^\"]+)\"", path.read_text()
        )
        if name_of(path) != "memories/models/guard.py"
    )
    listed = (ROOT / "tests" / "unscoped.txt").read_text().splitlines()
    assert [f"{count:3} {reason}" for reason, count in sorted(given.items())] == listed


def test_an_edge_that_acts_for_a_member_reads_no_other_owner() -> None:
    reads = re.compile(r"\b(unscoped|raw_writes|_base_manager)\b")
    assert not [name_of(path) for path in sources(*MEMBER_EDGES) if reads.search(path.read_text())]


def test_one_place_builds_clients_of_the_search_cluster_and_few_use_them() -> None:
    client = re.compile(r"\b(key_client|service_client)\b|^(from|import) elasticsearch\b", re.MULTILINE)
    users = [name_of(path) for path in sources(*PACKAGES) if client.search(path.read_text())]
    assert not [name for name in users if not name.startswith(SEARCH_CLIENTS)]
    builders = [name_of(path) for path in sources(*PACKAGES) if re.search(r"\bElasticsearch\(", path.read_text())]
    assert builders == ["memoryhub/elasticsearch.py"]


def test_every_folder_of_sources_is_a_package() -> None:
    folders = {path.parent for path in sources(*PACKAGES, "proof")}
    assert not [name_of(folder) for folder in folders if not (folder / "__init__.py").exists()]


def test_no_file_names_a_folder_of_one_machine_or_a_package_host() -> None:
    pattern = re.compile(r"(?<![\w.])/(?:root|home/\w+|work|Users/\w+)/|files\.pythonhosted\.org|pypi\.org/simple")
    found = [name for name, text in tracked_text() if pattern.search(text) and name != "tests/test_architecture.py"]
    assert not found
