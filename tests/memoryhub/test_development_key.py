"""The development key is made once, for its owner's eyes only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memoryhub.env.values import development_secret


def test_processes_that_start_together_agree_on_one_private_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: development_secret(tmp_path / "var", "key"), range(32)))
    assert len(made) == 1
    (path,) = (tmp_path / "var").iterdir()  # and no draft
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        development_secret(tmp_path / "file" / "var", "key")
