"""The development key is made once, for its owner's eyes only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memoryhub.env.development_key import development_key


def test_the_key_is_made_once_and_private(tmp_path: Path) -> None:
    key = development_key(tmp_path / "var")
    assert len(key) >= 50
    assert development_key(tmp_path / "var") == key
    assert (tmp_path / "var" / "secret_key").stat().st_mode & 0o777 == 0o600


def test_processes_that_start_together_agree_and_leave_no_draft(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: development_key(tmp_path), range(32)))
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        development_key(tmp_path / "file" / "var")
