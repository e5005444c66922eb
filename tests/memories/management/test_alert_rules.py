"""`manage.py alert_rules`: the file that comes with memoryhub is the one that the definitions make."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memories.management.commands import alert_rules
from memoryhub.installation import BASE_DIR


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("alert_rules", *arguments, stdout=out)
    return out.getvalue()


def test_the_file_is_as_defined() -> None:
    assert printed("--check").strip().endswith("is as defined.")
    assert printed() == (BASE_DIR / alert_rules.FILE).read_text()


def test_a_file_that_differs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "alerts.yml"
    other.write_text(printed().replace("> 50", "> 500"))
    monkeypatch.setattr(alert_rules, "FILE", other)
    with pytest.raises(CommandError, match=r"differs: write it with `manage\.py alert_rules"):
        printed("--check")
