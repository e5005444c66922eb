"""Dockerfile and .dockerignore: what reaches the image, and who runs it."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.ready import ready
from tests.parts import serving
from tests.ports import free_port
from tests.proofs.site import Site

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
IGNORED = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
LAST_STAGE = DOCKERFILE.rsplit("\nFROM ", 1)[1]


def test_only_what_is_named_reaches_the_image() -> None:
    assert IGNORED[0] == "*"
    allowed = [line[1:] for line in IGNORED if line.startswith("!")]
    assert all((ROOT / name).exists() for name in allowed)
    assert not {"tests", "var", ".env", ".git", "benchmarks", "deploy"} & set(allowed)
    assert "**/.env*" in IGNORED


def test_the_image_runs_as_nobody_in_particular() -> None:
    assert re.search(r"^USER 10001:10001$", LAST_STAGE, re.MULTILINE)
    assert "HEALTHCHECK" in LAST_STAGE
    # What the user may not write it cannot change: nothing is handed over to it.
    assert "chown" not in DOCKERFILE


def test_no_secret_is_built_in() -> None:
    assert not re.search(r"(?m)^(ENV|ARG|RUN).*(PASSWORD|SECRET|_KEY|CREDENTIAL)", DOCKERFILE)


class ImageSite(Site):
    """A site of what reaches the image, built by the image's own command."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data")
        self.folder.mkdir()
        self.workdir = folder / "srv"
        names = ["git", "ls-files", "--", *(line[1:] for line in IGNORED if line.startswith("!"))]
        listed = subprocess.run(names, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - no shell
        for name in listed.stdout.splitlines():
            if "/training/" not in name:
                (self.workdir / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.workdir / name)

    def build(self) -> None:
        """Carry out the RUN line that comes after the code."""
        (line,) = re.findall(r"^RUN (MEMORYHUB_ENV=.*?)\n\n", DOCKERFILE, re.MULTILINE | re.DOTALL)
        paths = {"/srv/memoryhub": str(self.workdir), "/opt/memoryhub/bin/python": sys.executable, "\\\n": " "}
        for path, here in paths.items():
            line = line.replace(path, here)
        subprocess.run(["bash", "-ec", line], cwd=self.workdir, env=self.environ, check=True)  # noqa: S603, S607


@pytest.mark.long
def test_what_reaches_the_image_is_enough_to_build_it_and_to_serve(tmp_path: Path) -> None:
    site = ImageSite(tmp_path)
    site.build()
    assert (site.workdir / "var" / "static" / "staticfiles.json").exists()
    (command,) = re.findall(r"^CMD (.*)$", LAST_STAGE, re.MULTILINE)
    assert json.loads(command)[:3] == ["python", *site.entry, "serve"]
    with site:
        site.start()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as Django does: to a host that is not served, 400."""

    def do_GET(self) -> None:
        known = self.headers["Host"] == "memory.example.org" and self.path == "/readyz"
        self.send_response(200 if known else 400)
        self.end_headers()

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def port() -> Iterator[int]:
    with serving(Handler) as port:
        yield port


def test_the_health_check_asks_by_a_name_that_is_served(port: int) -> None:
    assert ready("memory.example.org", port)
    assert not ready("127.0.0.1", port)


def test_a_server_that_does_not_answer_is_not_ready() -> None:
    assert not ready("memory.example.org", free_port())


def test_the_health_check_asks_the_listener_of_the_probes(port: int) -> None:
    environ = {"MEMORYHUB_ALLOWED_HOSTS": "memory.example.org", "MEMORYHUB_PROBES": f"0.0.0.0:{port}"}
    command = [sys.executable, str(ROOT / "deploy" / "ready.py")]
    assert subprocess.run(command, env=environ, check=False).returncode == 0  # noqa: S603 - our own interpreter
