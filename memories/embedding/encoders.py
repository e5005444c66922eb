"""The two bundled models: static token vectors for late interaction, and MiniLM for meaning.

The length of a static vector encodes the piece's SIF weight a / (a + p), where p is its frequency in general English,
so late interaction needs no statistics of stored documents (models/static-minilm-256-int8/README.md).

MiniLM's vector is the mean of the last hidden state over the pieces, L2-normalised
(models/minilm-l6-memory-int8-onnx/README.md). Each text is encoded in a separate run. Dynamic quantization derives its
scales from the whole batch, so batched texts would change each other's vectors (cosine down to .976, measured), and one
owner's text would affect another's ranking. Separate runs reduce the throughput by a sixth compared with batches of 32.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding.base import MINILM, STATIC, BundledModel, Floats, PieceIds
from memories.embedding.spelling import Spelling
from memoryhub.observability import tracing

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


MAX_STATIC_PIECES = 512


# From this cosine on, a piece and the same piece without its ending count as forms of one word: "works" and "work" have
# .50, "likes" and "like" .39, but "does" and "doe" .36, "customs" and "custom" .22, "news" and "new" .16.
FORM_COSINE = 0.38
_SHORTEST_FORM = 3
# A suffix, and its replacement in the plain form.
_ENDINGS = (
    *(("ies", "y"), ("es", ""), ("s", "")),
    *(("ied", "y"), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
)


def plain_forms(vocabulary: Mapping[str, int], directions: Floats) -> NDArray[np.intp]:
    """Return by piece id the id of its form without -s, -ed or -ing, or its own id if no similar form exists."""
    forms = np.arange(len(directions), dtype=np.intp)
    for piece, id_ in vocabulary.items():
        if not piece.isalpha() or piece.endswith("ss"):
            continue
        near = [(float(directions[id_] @ directions[other]), other) for other in _plainer(piece, vocabulary)]
        if near and max(near)[0] >= FORM_COSINE:
            forms[id_] = max(near)[1]
    return forms[forms]


def _plainer(piece: str, vocabulary: Mapping[str, int]) -> Iterator[int]:
    """Yield the ids of the pieces that `piece` may be a form of; "stopped" and "stopping" double the last letter."""
    for ending, instead in _ENDINGS:
        if not piece.endswith(ending):
            continue
        stem = piece.removesuffix(ending)
        doubled = ending != "s" and stem[-1:] == stem[-2:-1]
        for plain in (f"{stem}{instead}", *((stem[:-1],) if doubled else ())):
            if len(plain) >= _SHORTEST_FORM and (other := vocabulary.get(plain)) is not None:
                yield other


def _tokenizer(model: BundledModel, most: int) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
    tokenizer.enable_truncation(most)
    tokenizer.no_padding()
    return tokenizer


class StaticVectors:
    """The static token vectors. Loading takes about 0.1 s and 30 MB; afterwards all methods are thread-safe."""

    def __init__(self) -> None:
        stored = load_file(STATIC.file("model.safetensors"))["embeddings"].astype(np.float32)
        self.weights: Floats = np.linalg.norm(stored, axis=1)
        self.directions: Floats = stored / np.maximum(self.weights, 1e-6)[:, None]
        self._tokenizer = _tokenizer(STATIC, MAX_STATIC_PIECES)
        vocabulary = self._tokenizer.get_vocab()
        self.plain_forms = plain_forms(vocabulary, self.directions)
        self.continues = np.zeros(len(stored), np.bool_)
        self.continues[[id_ for piece, id_ in vocabulary.items() if piece.startswith("##")]] = True
        self.meant_by = Spelling(vocabulary).meant_by
        self._unknown = self._tokenizer.token_to_id("[UNK]")

    def piece_ids(self, text: str) -> PieceIds:
        """Return the ids of the first 512 pieces of `text`, omitting unknown pieces."""
        ids = np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.uint16)
        known: PieceIds = ids[ids != self._unknown]
        return known

    def id_of(self, piece: str) -> int | None:
        """Return the id of a piece, or None if it is not in the vocabulary."""
        found: int | None = self._tokenizer.token_to_id(piece)
        return found


# The tokenizer's own threads do not speed up single texts, and warn after a fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


MAX_PIECES = 256
# For fewer texts, thread overhead exceeds the gain.
_WORTH_THREADS = 8


class MiniLM:
    """The MiniLM encoder. Loading takes about 0.2 s; afterwards `encode` is thread-safe.

    `threads` is the number of threads for one call with many texts; a single text always uses one.
    """

    # The last number counts the changes of the model, and of the texts that are encoded.
    name = "minilm-l6-memory-int8-4"
    dimensions = EMBEDDING_DIMENSIONS

    def __init__(self, threads: int = 1) -> None:
        # The import starts threads that do not survive a fork, so a forked server worker would crash on exit.
        import onnxruntime as ort  # noqa: PLC0415

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._threads = threads
        self._session = ort.InferenceSession(
            str(MINILM.file("model.onnx")), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = _tokenizer(MINILM, MAX_PIECES)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors of `texts`, shape (n, 384). An empty text gets the vector of its two special tokens."""
        with tracing.span("encode", texts=len(texts)):
            if self._threads > 1 and len(texts) >= _WORTH_THREADS:
                with ThreadPoolExecutor(self._threads, thread_name_prefix="encode") as pool:
                    rows = list(pool.map(self._vector, texts))
            else:
                rows = [self._vector(text) for text in texts]
            return np.array(rows, np.float32).reshape(len(rows), self.dimensions)

    def _vector(self, text: str) -> Floats:
        ids = np.array([self._tokenizer.encode(text).ids], np.int64)
        (hidden,) = self._session.run(
            ["last_hidden_state"],
            {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)},
        )
        mean = hidden[0].mean(axis=0)
        vector: Floats = mean / np.linalg.norm(mean)
        return vector
