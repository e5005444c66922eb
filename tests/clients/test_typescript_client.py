"""The TypeScript client in Node: its types, its own tests against a real site, and the examples of the guides."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from tests.clients.conftest import Tenant
from tests.clients.test_surface import OPERATIONS
from tests.clients.typescript import PACKAGE, ROOT, prepared, run
from tests.proofs.site import Site

GUIDES = (PACKAGE / "README.md", ROOT / "README.md", ROOT / "docs" / "integrations-ai-sdk.md")
EXAMPLES = [
    example
    for guide in GUIDES
    for example in re.findall(r"^```ts\n(.*?)^```$", guide.read_text(), re.MULTILINE | re.DOTALL)
]

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True, scope="module")
def _prepared() -> None:
    prepared()


def test_its_types_are_those_of_the_description() -> None:
    run("npm", "run", "generate", "--", "--check")


def test_its_own_tests_pass_in_node(url: str, key: str, tenants: dict[str, Iterator[Tenant]]) -> None:
    """The compiler reads them, too, so what they use has the types that it should."""
    run("npx", "--no-install", "tsc")
    two = [asdict(next(tenants["administered"])) for _ in range(2)]
    reached = json.dumps([f"{method} {path}" for method, path in OPERATIONS])
    environ = {
        "MEMORYHUB_URL": url,
        "MEMORYHUB_KEY": key,
        "MEMORYHUB_TENANTS": json.dumps(two),
        "MEMORYHUB_OPERATIONS": reached,
    }
    tests = [str(file) for file in sorted((PACKAGE / "build" / "tests").glob("*.test.js"))]
    said = run("node", "--test", "--test-reporter=tap", *tests, environ=environ)
    assert "# fail 0" in said and "# skipped 0" in said and "# pass 0" not in said


def test_the_examples_of_the_guides_run_as_they_are_written(url: str, key: str, site: Site) -> None:
    folder = PACKAGE / "build" / "examples"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{number}.ts" for number in range(len(EXAMPLES))]
    for file, example in zip(files, EXAMPLES, strict=True):
        file.write_text(example.replace("http://127.0.0.1:8000", url).replace("@ai-sdk/openai", "./parrot.js"))
    shutil.copy(PACKAGE / "tests" / "parrot.ts", folder)
    strict = ["--strict", "--target", "ES2022", "--module", "NodeNext", "--types", "node", "--skipLibCheck"]
    run("npx", "--no-install", "tsc", *strict, *map(str, files))
    said = [run("node", str(file.with_suffix(".js")), environ={"MEMORYHUB_KEY": key}) for file in files]
    assert said and all(said), said
    assert any("Edinburgh" in words for words in said)
