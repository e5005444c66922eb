"""The model files: whole, or refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memories.embedding import base
from memories.embedding.base import MINILM, STATIC, BundledModel, ModelDamaged


@pytest.mark.parametrize("model", [MINILM, STATIC], ids=lambda model: model.name)
def test_the_committed_files_are_whole_and_documented(model: BundledModel) -> None:
    assert all(model.file(name).exists() for name, _ in model.digests)
    assert (model.folder / "README.md").exists()


def test_a_cut_off_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(STATIC.folder, tmp_path / STATIC.name)
    monkeypatch.setattr(base, "MODELS_DIR", tmp_path)
    file = tmp_path / STATIC.name / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ModelDamaged, match="not whole"):
        STATIC.file("model.safetensors")


def test_a_missing_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MODELS_DIR", tmp_path)
    with pytest.raises(ModelDamaged, match="check out"):
        MINILM.file("model.onnx")
