"""The quick start of the README runs as it stands: in an empty folder and an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
QUICK_START = (ROOT / "README.md").read_text().partition("## Quick start\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", QUICK_START, re.MULTILINE | re.DOTALL)
SERVE = "memoryhub serve &"

pytestmark = pytest.mark.long


def script(port: int) -> str:
    """All blocks as one program of the shell."""
    lines = ["set -eu", "trap 'kill $(jobs -p); wait' EXIT"]
    for language, block in BLOCKS:
        text = f"there/bin/python - <<'END'\n{block}END\n" if language == "python" else block
        lines.append(text.replace(SERVE, f"memoryhub serve --port {port} >server.log &").replace(":8000", f":{port}"))
    return "\n".join(lines)


def test_the_quick_start_runs_as_it_stands(tmp_path: Path) -> None:
    port = free_port()
    for project in (ROOT, ROOT / "clients" / "python"):
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "dist")]
        subprocess.run(build, cwd=project, check=True, capture_output=True)  # noqa: S603 - our own arguments
    environ = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(tmp_path / "home"),
        "MEMORYHUB_URL": f"http://127.0.0.1:{port}",
        # The dependencies are those of the tests; pip asks nobody for them.
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
    }
    command = ["bash", "-c", script(port)]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Edinburgh" in done.stdout and "1. Prefers trains to planes." in done.stdout
