"""The models that come with the project, and the check that their files are whole.

Invariant: a model file is used only if its digest is the one it was committed with; a cut-off checkout or a swapped
file gives a clear error instead of vectors that mean something else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

MODELS_DIR = Path(__file__).resolve().parent / "models"


class ModelDamaged(RuntimeError):
    """A bundled model file is missing or not the one that was committed."""


@dataclass(frozen=True, slots=True)
class BundledModel:
    """A folder under `models/` with the sha256 of each file that is loaded from it."""

    name: str
    digests: tuple[tuple[str, str], ...]

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return MODELS_DIR / self.name

    def file(self, name: str) -> Path:
        """The path of a file, checked. Raises ModelDamaged."""
        path = self.folder / name
        try:
            with path.open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise ModelDamaged(f"{self.name}/{name} cannot be read; check out the repository again.") from error
        if found != dict(self.digests)[name]:
            raise ModelDamaged(f"{self.name}/{name} is not whole; check out the repository again.")
        return path


MINILM = BundledModel(
    "minilm-l6-memory-int8-onnx",
    (
        ("model.onnx", "12305dc44f68144535521052811a739942bf354f4cf7346126125196a4e3b1fa"),
        ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    ),
)
STATIC = BundledModel(
    "static-minilm-256-int8",
    (
        ("model.safetensors", "3743a021379a3c56f39938deac6fe306b130db06f5fec5842efdbc42a74482e2"),
        ("tokenizer.json", "dd33465341c98889c3338356b6200c8b232b89af5f1b7aa8e6ee1d4d7a699631"),
    ),
)
