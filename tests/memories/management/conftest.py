"""Fixtures of the commands: running one, and a member that it can name."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tenants.models import Membership

Run = Callable[..., str]
Answered = Callable[..., Any]


@pytest.fixture
def run() -> Run:
    """`run("name", …)` gives what the command prints on standard output."""

    def run_command(name: str, *arguments: object) -> str:
        output = io.StringIO()
        call_command(name, *map(str, arguments), stdout=output, stderr=io.StringIO())
        return output.getvalue()

    return run_command


@pytest.fixture
def answered(run: Run) -> Answered:
    """`answered("name", …)` gives what the command answers in JSON."""
    return lambda *arguments: json.loads(run(*arguments, "--json"))


@pytest.fixture
def named(membership: Membership) -> tuple[str, str]:
    """The arguments that name Ada."""
    return arguments_of(membership)


def arguments_of(membership: Membership) -> tuple[str, str]:
    """The arguments that name a member."""
    return f"--tenant={membership.tenant.slug}", f"--user={membership.user.username}"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """`write(content)` gives the path of a file that holds it."""

    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "input"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file
