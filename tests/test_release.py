"""One version for the server and its clients, and a changelog that knows it once it is tagged."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import memoryhub
import memoryhub_client

ROOT = Path(__file__).resolve().parent.parent


def test_server_and_clients_have_one_version() -> None:
    package = json.loads((ROOT / "clients" / "typescript" / "package.json").read_text())
    assert {memoryhub.__version__, memoryhub_client.__version__} == {package["version"]}


def test_every_tagged_version_is_in_the_changelog() -> None:
    listed = subprocess.run(["git", "tag", "--list", "v*"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    known = set(re.findall(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE))
    assert {tag.removeprefix("v") for tag in listed.stdout.split()} <= known
