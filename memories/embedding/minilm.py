"""The bundled contextual encoder: MiniLM tuned for memories, int8 ONNX, on the CPU.

Mean over the pieces of the last hidden state, L2-normalised (models/minilm-l6-memory-int8-onnx/README.md).

Each text is encoded in a run of its own. Dynamic quantization takes its scales from everything in one run, so texts of
one batch move each other's vectors (cosine down to .976, measured), and one owner's words would reach another's
ranking. One text a run costs a sixth of the throughput of batches of 32.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding.base import MINILM, Floats
from memoryhub.observability import tracing

# The tokenizer's own threads gain nothing on one text and warn after a fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer

MAX_PIECES = 256
# Below this many texts, handing them to threads costs more than it gains.
_WORTH_THREADS = 8


class MiniLM:
    """Loads on construction (about 0.2 s); `encode` may then be called from any thread.

    `threads` are the cores that one call with many texts may use; a query always takes one.
    """

    name = "minilm-l6-memory-int8"
    dimensions = EMBEDDING_DIMENSIONS

    def __init__(self, threads: int = 1) -> None:
        # Importing it starts threads that do not survive a fork: a server's worker could then not end without a crash.
        import onnxruntime as ort  # noqa: PLC0415

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._threads = threads
        self._session = ort.InferenceSession(
            str(MINILM.file("model.onnx")), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(MINILM.file("tokenizer.json")))
        self._tokenizer.enable_truncation(MAX_PIECES)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of `texts`, (n, 384), each of length 1. An empty text has the vector of its two end marks."""
        with tracing.span("encode", texts=len(texts)):
            return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        if self._threads > 1 and len(texts) >= _WORTH_THREADS:
            with ThreadPoolExecutor(self._threads, thread_name_prefix="encode") as pool:
                rows = list(pool.map(self._vector, texts))
        else:
            rows = [self._vector(text) for text in texts]
        if rows:
            vectors[:] = rows
        return vectors

    def _vector(self, text: str) -> Floats:
        ids = np.array([self._tokenizer.encode(text).ids], np.int64)
        (hidden,) = self._session.run(
            ["last_hidden_state"],
            {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)},
        )
        mean = hidden[0].mean(axis=0)
        vector: Floats = mean / np.linalg.norm(mean)
        return vector
