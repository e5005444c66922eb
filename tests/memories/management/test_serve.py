"""`manage.py serve`: does not begin what could only answer with errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

from memories.management.commands import serve

pytestmark = pytest.mark.django_db


class _Server:
    """Begins, and ends at once."""

    begun = 0

    def __init__(self, **_options: object) -> None:
        """Takes whatever a server is told."""

    def run(self) -> None:
        _Server.begun += 1


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "Server", _Server)
    monkeypatch.setattr(_Server, "begun", 0)


def test_production_without_its_static_files_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.PRODUCTION, settings.STATIC_ROOT = True, tmp_path
    with pytest.raises(CommandError, match="collectstatic --no-input"):
        call_command("serve")
    assert _Server.begun == 0
    (tmp_path / "staticfiles.json").touch()
    call_command("serve")
    assert _Server.begun == 1


def test_development_needs_none(settings: Settings) -> None:
    settings.STATIC_ROOT = None
    call_command("serve")
    assert _Server.begun == 1
