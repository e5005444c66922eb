"""Paths, links, variables and commands in the documents must exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from django.core.management import get_commands

from memoryhub.command_line import PROOF
from memoryhub.env import Env

ROOT = Path(__file__).resolve().parent.parent
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = ("memories", "tenants", "memoryhub", "proof", "tests", "benchmarks", "deploy", "templates", "docs")

_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_PATH = re.compile(rf"(?<![\w/.:~-])(?:{'|'.join(FOLDERS)})/[\w./-]*\w")
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
# Variables of the tests, the clients and compose.yaml, which the application does not read.
OTHER_VARIABLES = {
    "MEMORYHUB_KEY": "clients/python/memoryhub_client/command_line.py",
    "MEMORYHUB_URL": "clients/python/memoryhub_client/command_line.py",
    "MEMORYHUB_TOKEN": "memories/chat/snippets.py",
    "MEMORYHUB_OPERATOR_PASSWORD": "tenants/management/commands/operator.py",
    "MEMORYHUB_REQUIRE_SERVICES": "tests/parts.py",
    "ELASTICSEARCH_HEAP": "compose.yaml",
    "ELASTICSEARCH_MEMORY": "compose.yaml",
}


def code_in(text: str) -> Iterator[str]:
    """Code blocks and inline code of a document."""
    return (found[0] for found in _CODE.finditer(text))


def test_every_path_that_a_document_names_exists() -> None:
    named = {
        (document.name, path)
        for document in DOCS
        for code in code_in(document.read_text())
        for path in _PATH.findall(code)
    }
    assert named
    assert not [f"{document}: {path}" for document, path in sorted(named) if not (ROOT / path).exists()]


def test_every_link_between_documents_leads_to_a_file() -> None:
    links = [(document, link) for document in DOCS for link in _LINK.findall(document.read_text())]
    assert links
    assert not [f"{document.name}: {link}" for document, link in links if not (document.parent / link).exists()]


def test_a_page_that_names_a_place_in_the_admin_leads_to_how_one_gets_in() -> None:
    texts = {each.name: each.read_text() for each in (ROOT / "docs").glob("*.md")}
    named = {name for name, text in texts.items() if re.search(r"in the \[?admin\b|\(\[?admin\b", text)}
    assert named
    linked = {name for name, text in texts.items() if "sign-in.md#the-admin" in text}
    assert named - linked == {"development.md"}  # the names of the models there


def test_every_variable_that_a_document_names_is_read() -> None:
    read = {field.alias for field in Env.model_fields.values()}
    read |= {name for name, file in OTHER_VARIABLES.items() if name in (ROOT / file).read_text()}
    named = {
        (document.name, name)
        for document in DOCS
        for name in re.findall(r"\b(?:MEMORYHUB|ELASTICSEARCH|OPENAI)_[A-Z_]+\b", document.read_text())
    }
    assert named
    assert not [f"{document}: {name}" for document, name in sorted(named) if name not in read]


def test_every_command_and_target_that_a_document_names_exists() -> None:
    commands = {*get_commands(), PROOF}
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    texts = [(document.name, code) for document in DOCS for code in code_in(document.read_text())]
    named = [(name, command) for name, code in texts for command in re.findall(r"manage\.py ([a-z]\w*)", code)]
    made = [(name, target) for name, code in texts for target in re.findall(r"(?m)(?:`|^)make ([a-z-]+)", code)]
    assert named
    assert made
    assert not [pair for pair in named if pair[1] not in commands]
    assert not [pair for pair in made if pair[1] not in targets]
