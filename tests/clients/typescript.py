"""The TypeScript client, built where it lies; compiler and generator are named in its package.json."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.elasticsearch_node.distribution import locked
from tests.npm import VAR
from tests.parts import missing_part

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients" / "typescript"
OLDEST = 20


def run(*command: str, environ: Mapping[str, str] | None = None) -> str:
    """What a program of Node prints, run in the folder of the client; AssertionError with that if it fails."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(  # noqa: S603 - our own arguments
        command, cwd=PACKAGE, env={**kept, **(environ or {})}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}"
    return done.stdout


@functools.cache
def prepared() -> None:
    """Install the compiler and build the client into `dist`; without Node or the compiler the test is skipped."""
    if shutil.which("npm") is None or int(run("node", "--version").lstrip("v").split(".")[0]) < OLDEST:
        missing_part(f"needs Node {OLDEST} or newer and npm: apt-get install npm")
    wanted = json.loads((PACKAGE / "package.json").read_text())["devDependencies"]
    VAR.mkdir(exist_ok=True)
    with locked(VAR / "typescript.lock"):  # another worker of the run may build it too
        if installed() != wanted:
            try:
                run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
            except AssertionError as error:
                missing_part(f"npm cannot install {', '.join(wanted)}: {error}")
        if not _built():
            run("npm", "run", "build")


def _built() -> bool:
    """Whether `dist` is newer than what it is built from; a second worker must not write it again while one reads."""
    built = (file.stat().st_mtime for file in PACKAGE.glob("dist/**/*.js"))
    sources = (file.stat().st_mtime for file in [*PACKAGE.glob("src/**/*.ts"), *PACKAGE.glob("*.json")])
    return min(built, default=0.0) > max(sources)


def installed() -> dict[str, str]:
    """The versions of the packages in `node_modules` that package.json could name."""
    found = [*PACKAGE.glob("node_modules/*/package.json"), *PACKAGE.glob("node_modules/@types/*/package.json")]
    named = json.loads((PACKAGE / "package.json").read_text())["devDependencies"]
    packages = [json.loads(file.read_text()) for file in found]
    return {each["name"]: each["version"] for each in packages if each["name"] in named}
