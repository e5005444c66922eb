"""The learned ranker: its trees, and what they add to the sum."""

from __future__ import annotations

import numpy as np
import pytest

from memories.recall.adjust import RECIPE
from memories.recall.ranker import Trees, gains, trees

# One tree: a cosine above .5 is worth 2, else a question -1 and anything else 1.
TREE = Trees(
    names=("cosine", "asks"),
    feature=np.array([0, 1, 0, 0, 0]),
    threshold=np.array([0.5, 0.5, np.inf, np.inf, np.inf], np.float32),
    left=np.array([1, 3, 2, 3, 4]),
    right=np.array([2, 4, 2, 3, 4]),
    value=np.array([0, 0, 2, 1, -1], np.float32),
    roots=np.array([0]),
)


def test_each_candidate_gets_the_value_of_its_leaf() -> None:
    features = {"cosine": np.array([0.9, 0.5, 0.1], np.float32), "asks": np.array([1, 0, 1], np.float32)}
    assert TREE(features).tolist() == [2, 1, -1]


def walked(ranker: Trees, features: dict[str, np.ndarray], candidate: int) -> float:
    """The sum of the leaves that one candidate reaches from node to node."""
    total = 0.0
    for root in ranker.roots.tolist():
        node = root
        while ranker.left[node] != node:
            value = features[ranker.names[ranker.feature[node]]][candidate]
            node = int(ranker.left[node] if value <= ranker.threshold[node] else ranker.right[node])
        total += float(ranker.value[node])
    return total


def test_all_nodes_at_once_lead_where_walking_leads() -> None:
    random, ranker = np.random.default_rng(1), trees()
    asked = ranker.threshold[np.isfinite(ranker.threshold)]
    features = {name: random.choice(asked, 20) for name in ranker.names}
    assert ranker(features).tolist() == pytest.approx([walked(ranker, features, each) for each in range(20)], abs=1e-4)


def test_the_last_of_the_candidates_gets_nothing() -> None:
    features = {name: np.linspace(0, 1, 3, dtype=np.float32) for name in trees().names}
    assert gains(features).min() == 0
    assert gains(features) == pytest.approx(RECIPE.ranker * (trees()(features) - trees()(features).min()))


def test_one_candidate_alone_gets_nothing() -> None:
    assert gains({name: np.ones(1, np.float32) for name in trees().names}).tolist() == [0]
