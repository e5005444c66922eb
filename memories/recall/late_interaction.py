"""Late interaction over static token vectors: measures how well a memory covers the words of a query. Pure.

    L(texts) = sum over query pieces t of w_t * max over pieces u in the texts of max(0, cos(t, u))^2 / sum of w_t

with w_t = sqrt(|E[t]|). The length of a static vector encodes the piece's rarity in general English, so the score needs
no document frequencies and does not depend on other users' memories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from memories.recall.adjust import WINDOW_AROUND, WINDOW_BEFORE

Floats = NDArray[np.float32]
Integers = NDArray[np.intp]

# Piece id for a text without known pieces; its vector is zero.
EMPTY_PIECE = 0
_PIECE = np.dtype("<u2")
_EMPTY = EMPTY_PIECE.to_bytes(_PIECE.itemsize, "little")
# Minimum cosine assigned to two forms of one word. People ask "where do I work?" while facts say "Works at …", and the
# vectors of "work" and "works" have a cosine of only .50. Recall@10 on LoCoMo dev rises from .843 to .844 and is
# unchanged on the persona; at 1.0 recall@5 on the persona falls from .576 to .544.
SAME_WORD = 0.9
# A label, such as the key of a fact or the title of a playbook, ends with a colon and has at most this many pieces.
LONGEST_LABEL = 16
# Further distinct pieces of a query are ignored.
MAX_QUERY_PIECES = 96


@dataclass(frozen=True, slots=True)
class Texts:
    """Concatenated word pieces of many texts; text i starts at `starts[i]`. No text is empty."""

    pieces: NDArray[np.uint16]
    starts: Integers

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of the query by each item, 0 to 1, shape (items,) each.

    `own` is the item alone, `before` includes the turns before it, `around` those on both sides; `previous` and
    `following` are the coverage of the turns beside it alone. `label` is the coverage by the item's label, `named` the
    coverage of its label by the query, and `explained` that of its whole text; 0 without a label. `slot` and
    `slot_named` are `label` and `named` where a word of the query also matches the words of the keys that it asks for.
    """

    own: Floats
    before: Floats
    around: Floats
    previous: Floats
    following: Floats
    label: Floats
    named: Floats
    explained: Floats
    slot: Floats
    slot_named: Floats


def pack(stored: Sequence[bytes]) -> Texts:
    """Concatenate stored texts (two little-endian bytes per piece) into one array of pieces."""
    filled = [pieces or _EMPTY for pieces in stored]
    lengths = np.fromiter(map(len, filled), np.intp, len(filled)) // _PIECE.itemsize
    return Texts(np.frombuffer(b"".join(filled), _PIECE), np.cumsum(lengths) - lengths)


def coverage(
    texts: Texts,
    neighbours: Integers,
    query: NDArray[np.uint16],
    directions: Floats,
    weights: Floats,
    plain_forms: Integers | None = None,
    *,
    slips: Sequence[tuple[NDArray[np.uint16], Integers]] = (),
    colon: int | None = None,
    keys: Sequence[tuple[NDArray[np.uint16], Integers]] = (),
    general: Sequence[NDArray[np.uint16]] = (),
) -> Coverage:
    """Compute the coverage of `query` (piece ids) by each item.

    `neighbours` has shape (items, 9): the texts at offsets -4 to +4 in the item's session, with the item in column 4
    and -1 where there is none. `directions`, `weights` and `plain_forms` come from the token vectors and are indexed by
    piece id. `slips` pairs the pieces of each misspelt word of the query with the
    pieces that it may stand for, and `keys` the pieces of a word with those of the labels that it asks for, for which
    the pieces `general` do not count. A text has a label if the piece `colon` is among its first pieces.
    """
    distinct = _distinct(query)
    items = len(neighbours)
    if not len(distinct) or not items:
        nothing = np.zeros(items, np.float32)
        return Coverage(*(nothing,) * len(fields(Coverage)))
    similarity = _similarity(texts, distinct, directions, plain_forms, slips)
    best = _best_match(texts, similarity)
    share = np.sqrt(weights[distinct])
    share /= max(float(share.sum()), 1e-9)
    center = -WINDOW_AROUND[0]
    own = best[:, neighbours[:, center]]
    previous = best[:, neighbours[:, center - 1]]
    following = best[:, neighbours[:, center + 1]]
    before = own
    for offset in range(WINDOW_BEFORE[0], 0):
        before = np.maximum(before, best[:, neighbours[:, center + offset]])
    around = before
    for offset in (*range(WINDOW_AROUND[0], WINDOW_BEFORE[0]), *range(1, WINDOW_AROUND[1] + 1)):
        around = np.maximum(around, best[:, neighbours[:, center + offset]])
    special = share * ~np.isin(distinct, np.concatenate(general)) if general else share
    special = special / special.sum() if special.any() else share
    asked = [(np.flatnonzero(np.isin(distinct, pieces)), meant) for pieces, meant in keys]
    of_texts = _labels(texts, similarity, share, special, np.sqrt(weights), colon, asked)
    return Coverage(
        *(share @ each for each in (own, before, around, previous, following)),
        *(each[neighbours[:, center]] for each in of_texts),
    )


def _labels(
    texts: Texts,
    similarity: Floats,
    share: Floats,
    special: Floats,
    weights: Floats,
    colon: int | None,
    keys: Sequence[tuple[Integers, Integers]],
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return for each text how well its label covers the query, the query its label, and the query the whole text.

    The last two are the first two with `keys`: the places of query pieces, and the pieces of labels that they match;
    `special` are the shares of the query pieces there.
    """
    matched, heavy = similarity.max(axis=0)[texts.pieces], weights[texts.pieces]
    explained = np.add.reduceat(matched * heavy, texts.starts) / np.maximum(np.add.reduceat(heavy, texts.starts), 1e-9)
    label, named, slot, slot_named = np.zeros((4, len(texts)), np.float32)
    ends = np.flatnonzero(texts.pieces == colon)
    of_text = np.searchsorted(texts.starts, ends, side="right") - 1
    of_text, first = np.unique(of_text, return_index=True)
    lengths = ends[first] - texts.starts[of_text]
    short = (lengths > 0) & (lengths <= LONGEST_LABEL)
    of_text, lengths = of_text[short], lengths[short]
    if len(of_text):
        starts = np.cumsum(lengths) - lengths
        places = np.repeat(texts.starts[of_text] - starts, lengths) + np.arange(lengths.sum())
        pieces = texts.pieces[places]
        of_label = np.take(similarity, pieces, axis=1)
        whole = np.maximum(np.add.reduceat(heavy[places], starts), 1e-9)
        label[of_text] = share @ np.maximum.reduceat(of_label, starts, axis=1)
        named[of_text] = np.add.reduceat(matched[places] * heavy[places], starts) / whole
        for rows, meant in keys:
            of_label[rows] = np.maximum(of_label[rows], np.isin(pieces, meant) * np.float32(SAME_WORD**2))
        slot[of_text] = special @ np.maximum.reduceat(of_label, starts, axis=1)
        slot_named[of_text] = np.add.reduceat(of_label.max(axis=0) * heavy[places], starts) / whole
    return label, named, explained.astype(np.float32), slot, slot_named


def _distinct(query: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the first distinct pieces of a query, in order."""
    pieces, first = np.unique(query, return_index=True)
    return pieces[np.argsort(first)[:MAX_QUERY_PIECES]]


def _similarity(
    texts: Texts,
    query: NDArray[np.uint16],
    directions: Floats,
    plain_forms: Integers | None,
    slips: Sequence[tuple[NDArray[np.uint16], Integers]],
) -> Floats:
    """Return the squared cosine of each query piece and each piece of the texts, by piece id; 0 for other pieces."""
    present = np.zeros(len(directions), np.bool_)
    present[texts.pieces] = True
    vocabulary = np.flatnonzero(present)
    # One matrix product covers the pieces that occur; the other columns are never read.
    similarity = np.zeros((len(query), len(directions)), np.float32)
    similarity[:, vocabulary] = np.maximum(directions[query] @ directions[vocabulary].T, 0.0) ** 2
    if plain_forms is not None:
        kin = plain_forms[query][:, None] == plain_forms[vocabulary]
        similarity[:, vocabulary] = np.maximum(similarity[:, vocabulary], kin * np.float32(SAME_WORD**2))
    for misspelt, meant in slips:
        rows = np.flatnonzero(np.isin(query, misspelt))
        similarity[np.ix_(rows, meant[present[meant]])] = SAME_WORD**2
    return similarity


def _best_match(texts: Texts, similarity: Floats) -> Floats:
    """Return the squared cosine of each query piece's best match per text.

    The shape is (query pieces, texts + 1); the last column is 0, for a missing neighbour.
    """
    best = np.zeros((len(similarity), len(texts) + 1), np.float32)
    if len(texts):
        best[:, :-1] = np.maximum.reduceat(np.take(similarity, texts.pieces, axis=1), texts.starts, axis=1)
    return best
