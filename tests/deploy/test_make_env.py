"""The environment file: secrets that are random, usable and nobody else's to read; never written over."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

from deploy import make_env

SCRIPT = Path(make_env.__file__)


def run(file: Path, host: str = "memory.example.org") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), host, "--file", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words


def values(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))


def test_the_file_is_its_owners_alone_and_no_secret_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path / "env")
    assert done.returncode == 0
    assert stat.S_IMODE((tmp_path / "env").stat().st_mode) == 0o600
    made = {name: value for name, value in values((tmp_path / "env").read_text()).items() if value}
    secrets = [value for name, value in made.items() if any(part in name for part in ("PASS", "KEY", "TOKEN"))]
    assert len(secrets) == len(make_env.PASSWORDS) + 6
    assert not any(value in done.stdout + done.stderr for value in secrets)


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("mine")
    assert run(tmp_path / "env").returncode != 0
    assert (tmp_path / "env").read_text() == "mine"


def test_what_is_no_host_name_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path / "env", "https://memory.example.org").returncode != 0
    assert not (tmp_path / "env").exists()


def test_no_two_secrets_are_alike() -> None:
    first, second = (values(make_env.contents("a.example")) for _ in range(2))
    passwords = [file[name] for file in (first, second) for name, _ in make_env.PASSWORDS]
    assert len(set(passwords)) == len(passwords)
    assert first["MEMORYHUB_SECRET_KEY"] != second["MEMORYHUB_SECRET_KEY"]
