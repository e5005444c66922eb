"""The two bundled models: static token vectors for late interaction, and MiniLM for meaning.

The length of a static vector carries the piece's SIF weight a / (a + p), p its frequency in general English, so late
interaction needs no statistics of anybody's documents (models/static-minilm-256-int8/README.md).

MiniLM's vector is the mean over the pieces of the last hidden state, L2-normalised
(models/minilm-l6-memory-int8-onnx/README.md). Each text is encoded in a run of its own. Dynamic quantization takes its
scales from everything in one run, so texts of one batch move each other's vectors (cosine down to .976, measured), and
one owner's words would reach another's ranking. One text a run costs a sixth of the throughput of batches of 32.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding.base import MINILM, STATIC, Floats, PieceIds
from memoryhub.observability import tracing

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


MAX_STATIC_PIECES = 512


# A piece and the same without -s count as forms of one word from this cosine on: "works" and "work" have .50, "likes"
# and "like" .39, but "does" and "doe" .36, "customs" and "custom" .22, "news" and "new" .16.
FORM_COSINE = 0.38
_SHORTEST_FORM = 3


def plain_forms(vocabulary: Mapping[str, int], directions: Floats) -> NDArray[np.intp]:
    """By piece id the id of its form without -s, -es or -ies, its own where the vocabulary holds none near it."""
    forms = np.arange(len(directions), dtype=np.intp)
    for piece, id_ in vocabulary.items():
        if not piece.isalpha() or not piece.endswith("s") or piece.endswith("ss"):
            continue
        for plain in (piece[:-1], piece.removesuffix("es"), f"{piece.removesuffix('ies')}y"):
            other = vocabulary.get(plain)
            if other is None or len(plain) < _SHORTEST_FORM:
                continue
            if float(directions[id_] @ directions[other]) >= FORM_COSINE:
                forms[id_] = other
                break
    return forms


class StaticVectors:
    """Loads on construction (about 0.1 s, 30 MB); everything may then be called from any thread."""

    def __init__(self) -> None:
        stored = load_file(STATIC.file("model.safetensors"))["embeddings"].astype(np.float32)
        self.weights: Floats = np.linalg.norm(stored, axis=1)
        self.directions: Floats = stored / np.maximum(self.weights, 1e-6)[:, None]
        self._tokenizer = Tokenizer.from_file(str(STATIC.file("tokenizer.json")))
        self._tokenizer.enable_truncation(MAX_STATIC_PIECES)
        self._tokenizer.no_padding()
        self.plain_forms = plain_forms(self._tokenizer.get_vocab(), self.directions)
        self._unknown = self._tokenizer.token_to_id("[UNK]")

    def piece_ids(self, text: str) -> PieceIds:
        """The first 512 pieces of `text`, unknown ones left out."""
        ids = np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.uint16)
        known: PieceIds = ids[ids != self._unknown]
        return known

    def id_of(self, piece: str) -> int | None:
        """The id of one piece, None if the vocabulary does not hold it."""
        found: int | None = self._tokenizer.token_to_id(piece)
        return found


# The tokenizer's own threads gain nothing on one text and warn after a fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


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
