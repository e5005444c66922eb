"""Packages of npm that judge the product, at fixed versions below `var/`, and the Node that they need."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.parts import missing_part

VAR = Path(__file__).resolve().parents[1] / "var"
NODE = "22.23.3"


@functools.cache
def node() -> str:
    """A Node that is new enough for all of them; the machine's may be older."""
    return str(installed("node", {"node": NODE}) / "node_modules" / "node" / "bin" / "node")


def installed(name: str, packages: Mapping[str, str]) -> Path:
    """The folder with these packages; without npm or the registry the test is skipped."""
    folder, wanted = VAR / name, json.dumps({"private": True, "dependencies": packages})
    manifest, done = folder / "package.json", folder / "installed.json"
    if not done.exists() or done.read_text() != wanted:
        npm = shutil.which("npm") or missing_part("needs npm: apt-get install npm")
        folder.mkdir(parents=True, exist_ok=True)
        manifest.write_text(wanted)
        quiet = ["--silent", "--no-audit", "--no-fund", "--no-package-lock"]
        ran = subprocess.run([npm, "install", *quiet], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
        if ran.returncode:
            missing_part(f"npm cannot install {', '.join(packages)}: {ran.stdout}{ran.stderr}")
        done.write_text(wanted)
    return folder
