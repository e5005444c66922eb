"""The table of jobs, and waking them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils.module_loading import import_string
from pytest_django import Settings

from memoryhub import jobs
from memoryhub.jobs import table, wake

GUIDE = Path(__file__).resolve().parents[2] / "docs/tasks.md"


def test_every_function_of_the_table_exists() -> None:
    assert all(callable(import_string(job.function)) for job in table())


def test_the_guide_names_every_job() -> None:
    named = {*re.findall(r"^\| `((?:memories|tenants)\.\w+)` \|", GUIDE.read_text(), re.MULTILINE)}
    assert named == {job.name for job in table()}


def test_an_unwritten_wake_up_is_no_error(settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    settings.MEMORYHUB_DATA_DIR, settings.MEMORYHUB_JOBS = tmp_path / "file", "worker"
    wake("memories.erase")
    assert "could not be woken" in caplog.text


def test_with_celery_a_wake_up_is_announced(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(jobs, "_announcers", [sent.append])
    settings.MEMORYHUB_JOBS = "celery"
    wake("memories.erase")
    assert sent == ["memories.erase"]


def test_an_unknown_job_is_refused(settings: Settings) -> None:
    settings.MEMORYHUB_JOBS = "worker"
    with pytest.raises(KeyError):
        wake("memories.erasee")
