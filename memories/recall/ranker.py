"""The learned ranker: boosted trees over the features of the best candidates, read from a small file. Pure.

Its trees (LambdaMART) were trained on conversations and facts written for this project (`training/README.md`). It adds
to the sum of the signals and does not replace it, so that candidates that it does not read keep their place.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memories.recall.adjust import RECIPE

Floats = NDArray[np.float32]

# The best candidates of the sum that the trees read.
READ = 60
_TREES = Path(__file__).with_name("trees.npz")
_ALL = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Trees:
    """Nodes of all trees by number: a leaf leads to itself, and `roots` are the first nodes.

    A node compares the feature of its number in `names`: up to the threshold it leads to the left.

    All nodes of all trees are compared at once (QuickScorer, Lucchese and others 2015). A tree has at most 64 leaves,
    counted from the left, and a candidate that a node sends to the right cannot reach those on its left: the bits of
    `reachable` that are left after all nodes begin with the leaf that it reaches.
    """

    names: tuple[str, ...]
    feature: NDArray[np.intp]
    threshold: Floats
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    value: Floats
    roots: NDArray[np.intp]
    # The nodes by tree and what is still reachable if they lead to the right; where each tree begins in them; the nodes
    # of all leaves by tree, and where each tree begins in these.
    nodes: NDArray[np.intp] = field(init=False)
    reachable: NDArray[np.uint64] = field(init=False)
    first_node: NDArray[np.intp] = field(init=False)
    leaves: NDArray[np.intp] = field(init=False)
    first_leaf: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        nodes: list[int] = []
        reachable: list[int] = []
        leaves: list[int] = []
        first_node: list[int] = []
        first_leaf: list[int] = []

        def visit(node: int) -> None:
            if self.left[node] == node:
                leaves.append(node)
                return
            before = len(leaves) - first_leaf[-1]
            visit(int(self.left[node]))
            on_its_left = (1 << len(leaves) - first_leaf[-1]) - (1 << before)
            nodes.append(node)
            reachable.append(_ALL & ~on_its_left)
            visit(int(self.right[node]))

        for root in self.roots.tolist():
            first_node.append(len(nodes))
            first_leaf.append(len(leaves))
            visit(root)
            if len(nodes) == first_node[-1]:  # a tree of one leaf
                nodes.append(root)
                reachable.append(_ALL)
        numbers = {"nodes": nodes, "first_node": first_node, "leaves": leaves, "first_leaf": first_leaf}
        for name, values in numbers.items():
            object.__setattr__(self, name, np.array(values, np.intp))
        object.__setattr__(self, "reachable", np.array(reachable, np.uint64))

    def __call__(self, features: Mapping[str, Floats]) -> Floats:
        """Return the sum of the values of the leaves that each candidate reaches."""
        table = np.stack([features[name] for name in self.names])
        goes_left = table[self.feature[self.nodes]] <= self.threshold[self.nodes][:, None]
        left = np.bitwise_and.reduceat(np.where(goes_left, np.uint64(_ALL), self.reachable[:, None]), self.first_node)
        # The exponent of the lowest bit is its number, from 1.
        leaf = np.frexp((left & (~left + np.uint64(1))).astype(np.float64))[1] - 1
        reached = self.value[self.leaves[self.first_leaf[:, None] + leaf]]
        return np.asarray(np.ascontiguousarray(reached.T).sum(axis=1), np.float32)


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
