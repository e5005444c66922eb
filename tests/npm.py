"""Packages of npm that judge the product, at fixed versions below `var/`, and the Node that they need."""

from __future__ import annotations

import functools
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.elasticsearch_node.distribution import locked
from tests.parts import missing_part

QUIET = ("--loglevel=error", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
VAR = Path(__file__).resolve().parents[1] / "var"
NODE = "22.23.3"


@functools.cache
def node() -> str:
    """A Node that is new enough for all of them; the machine's may be older."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"node-{sys.platform}-{machine}"
    return str(installed("node", {package: NODE}) / "node_modules" / package / "bin" / "node")


def installed(name: str, packages: Mapping[str, str], *options: str) -> Path:
    """The folder with these packages, by npm with these options; without npm or the registry the test is skipped."""
    folder, wanted = VAR / name, json.dumps({"private": True, "dependencies": packages})
    manifest, done = folder / "package.json", folder / "installed.json"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "installing.lock"):  # another worker of the run may need them too
        if not done.exists() or done.read_text() != wanted:
            npm = shutil.which("npm") or missing_part("needs npm: apt-get install npm")
            manifest.write_text(wanted)
            command = [npm, "install", *QUIET, *options]
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
            if ran.returncode:
                missing_part(f"npm cannot install {', '.join(packages)}: {ran.stdout}{ran.stderr}")
            done.write_text(wanted)
    return folder
