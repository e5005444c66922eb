"""What is installed: packages with the hashes of their files, images by digest once they are pinned."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from deploy import pin_images

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted(path.name for path in (ROOT / "requirements").glob("*.txt"))
DIGEST = f"sha256:{'a' * 64}"


def docker(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """A `docker` that gives this answer about each image."""
    (folder / "docker").write_text(f"#!/bin/sh\n{answer}\n")
    (folder / "docker").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    pin_images.digest.cache_clear()


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_hashes(name: str) -> None:
    locked = re.split(r"(?m)^(?=[\w.-]+==)", (ROOT / "requirements" / name).read_text())[1:]
    assert locked and [each.split("==")[0] for each in locked if "--hash=sha256:" not in each] == []


@pytest.mark.parametrize("name", ["Dockerfile", "Makefile", "docs/deploy.md"])
def test_locked_packages_are_installed_by_their_hashes(name: str) -> None:
    installing = re.findall(r"pip\S* (?:\S+ )*?install .*?(?:-r|--requirement) .*", (ROOT / name).read_text())
    assert installing and all("--require-hashes" in each for each in installing)


def test_images_of_registries_are_pinned_and_those_built_here_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(tmp_path, monkeypatch, f"echo {DIGEST}")
    file = tmp_path / "compose.yaml"
    file.write_text(f"  image: memoryhub:local\n    image: redis:8\n    image: nginx:1@sha256:{'b' * 64}\n")
    pin_images.main([str(file)])
    assert file.read_text() == f"  image: memoryhub:local\n    image: redis:8@{DIGEST}\n    image: nginx:1@{DIGEST}\n"


@pytest.mark.parametrize("answer", ["echo latest", "echo unknown >&2; exit 1"])
def test_nothing_is_pinned_without_every_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    docker(tmp_path, monkeypatch, f'case "$*" in *redis*) {answer};; *) echo {DIGEST};; esac')
    file = tmp_path / "compose.yaml"
    file.write_text(before := "image: nginx:1\nimage: redis:8\n")
    with pytest.raises(SystemExit, match="redis:8"):
        pin_images.main([str(file)])
    assert file.read_text() == before
