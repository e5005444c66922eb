"""The learned ranker: boosted trees over the features of the best candidates, read from a small file. Pure.

Its trees (LambdaMART) were trained on conversations and facts written for this project (`training/README.md`). It adds
to the sum of the signals and does not replace it, so that candidates that it does not read keep their place.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memories.recall.adjust import RECIPE

Floats = NDArray[np.float32]

# The best candidates of the sum that the trees read.
READ = 60
_TREES = Path(__file__).with_name("trees.npz")


@dataclass(frozen=True, slots=True)
class Trees:
    """Nodes of all trees by number: a leaf leads to itself, and `roots` are the first nodes.

    A node compares the feature of its number in `names`: up to the threshold it leads to the left.
    """

    names: tuple[str, ...]
    feature: NDArray[np.intp]
    threshold: Floats
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    value: Floats
    roots: NDArray[np.intp]

    def __call__(self, features: Mapping[str, Floats]) -> Floats:
        """Return the sum of the values of the leaves that each candidate reaches."""
        table = np.stack([features[name] for name in self.names], axis=1)
        rows = np.arange(len(table))[:, None]
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        while True:
            goes_left = table[rows, self.feature[node]] <= self.threshold[node]
            following = np.where(goes_left, self.left[node], self.right[node])
            if np.array_equal(following, node):
                return np.asarray(self.value[node].sum(axis=1), np.float32)
            node = following


@functools.cache
def trees() -> Trees:
    """Return the trees of the bundled file."""
    with np.load(_TREES) as stored:
        numbers = {name: stored[name].astype(np.intp) for name in ("feature", "left", "right", "roots")}
        return Trees(tuple(stored["names"].tolist()), threshold=stored["threshold"], value=stored["value"], **numbers)


def gains(features: Mapping[str, Floats]) -> Floats:
    """Return what the ranker adds to each candidate: 0 to the one that it ranks last, more to the others."""
    said = trees()(features)
    return np.asarray(RECIPE.ranker * (said - said.min()), np.float32)
