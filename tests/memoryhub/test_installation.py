"""Where data is kept when nothing says so, and how another process is started."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from memoryhub import __version__, installation


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/people/ines"}, "/people/ines/.local/share/memoryhub"),
        ({"HOME": "/people/ines", "XDG_DATA_HOME": "/data"}, "/data/memoryhub"),
    ],
)
def test_an_installed_package_keeps_data_with_its_user(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], folder: str
) -> None:
    monkeypatch.setattr(installation, "INSTALLED", True)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert installation.default_data_dir() == Path(folder)


def test_a_user_without_a_home_keeps_data_in_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "INSTALLED", True)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert installation.default_data_dir() == Path("memoryhub-data")


def test_a_checkout_keeps_data_in_var() -> None:
    assert installation.default_data_dir() == installation.BASE_DIR / "var"


def test_no_message_names_a_program_that_an_installed_package_lacks() -> None:
    named = []
    for package in ("memories", "memoryhub", "tenants"):
        for path in (installation.BASE_DIR / package).rglob("*.py"):
            tree = ast.parse(path.read_text())
            said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
            texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said]
            named += [path.name for each in texts if isinstance(each.value, str) and "manage.py " in each.value]
    pages = [each.name for each in installation.TEMPLATE_DIR.rglob("*.html") if "manage.py " in each.read_text()]
    assert named == pages == [] and installation.PROGRAM == "manage.py"


def test_a_command_runs_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "memoryhub.py").write_text("raise AssertionError('imported from the working directory')")
    asked = installation.command("--version")
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert done.stdout == f"memoryhub {__version__}\n", done.stderr
