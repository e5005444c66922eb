"""The bundled models: their files, the vectors of texts, and the static vectors of word pieces."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from memories.embedding import base, token_vectors
from memories.embedding.base import MINILM, STATIC, BundledModel, ModelDamaged
from memories.embedding.encoders import MiniLM

encoder = cache(MiniLM)  # that of the process remembers what other tests said
TEXTS = ["Peanuts make my throat swell.", "I moved to Edinburgh in March", "ok", "the hub " * 200]


def test_a_text_that_means_the_same_is_nearer() -> None:
    asked, same, other = encoder().encode(
        ["am I allergic to anything?", "Peanuts make my throat swell.", "The bus leaves at nine."]
    )
    assert asked @ same > asked @ other + 0.1


def test_the_vector_of_a_text_depends_on_that_text_alone() -> None:
    alone = encoder().encode(TEXTS[:1])[0]
    among_others = encoder().encode(TEXTS)[0]
    assert np.array_equal(alone, among_others)


def test_threads_change_no_vector() -> None:
    many = [f"{number} {text}" for number in range(4) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda text: encoder().encode([text])[0], many))
    assert np.array_equal(np.array(at_once), MiniLM(threads=2).encode(many))


@pytest.mark.parametrize(
    "text", ["", " ", "🦆🦆🦆", "\u202e", "a" * 100_000], ids=["empty", "space", "emoji", "mark", "long"]
)
def test_any_text_has_a_vector(text: str) -> None:
    assert np.linalg.norm(encoder().encode([text])[0]) == pytest.approx(1.0, abs=1e-5)


def test_a_text_becomes_its_known_pieces_in_order() -> None:
    vectors = token_vectors()
    pieces = vectors.piece_ids("Garden hub, garden!")
    assert [vectors.id_of(piece) for piece in ("garden", "hub", ",", "garden", "!")] == pieces.tolist()
    assert pieces.dtype == np.uint16


@pytest.mark.parametrize(
    ("piece", "plain"),
    [
        ("works", "work"),
        ("likes", "like"),
        ("cities", "city"),
        ("boxes", "box"),
        ("living", "live"),
        ("stopped", "stop"),
        ("news", "news"),
    ],
)
def test_a_piece_knows_its_form_without_an_ending(piece: str, plain: str) -> None:
    vectors = token_vectors()
    assert vectors.plain_forms[vectors.id_of(piece)] == vectors.id_of(plain)


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
