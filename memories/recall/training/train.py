"""Train the ranker's trees on the shipped conversations and facts, and on the tuned halves of the sets.

    pip install lightgbm==4.7.0
    DJANGO_SETTINGS_MODULE=memoryhub.settings DATABASE_URL=sqlite:////tmp/training.sqlite3 MEMORYHUB_DATA_DIR=/tmp/training \\
    MEMORYHUB_JOBS=off PYTHONPATH=. python memories/recall/training/train.py memories/recall/trees.npz

The database and the folder must be new. Every question is asked through the product, as `eval_recall` does, and what the
ranker would read of it is an example. Takes a minute or two, nearly all of it for the recalls.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import django
import lightgbm
import numpy as np

ROOT = Path(__file__).resolve().parents[2] / "evaluation"
# The folder of files, their form, the half of the questions, and the weight of each: few members have many episodes.
SOURCES = (
    (ROOT / "training" / "members", "memories", None, 1.0),
    (ROOT / "training" / "conversations", "locomo", None, 1.0),
    (ROOT / "sets" / "everyday", "memories", "tune", 1.0),
    (ROOT / "sets" / "persona", "memories", "tune", 3.0),
)
TREES = 150
PARAMETERS = {
    **{"objective": "lambdarank", "lambdarank_truncation_level": 20, "learning_rate": 0.06, "num_leaves": 15},
    **{"min_data_in_leaf": 60, "feature_fraction": 0.6, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 5},
    **{"max_bin": 127, "seed": 1, "num_threads": 1, "verbose": -1},
}


@contextmanager
def progress(what: str, total: int) -> Iterator[Any]:
    print(what, total, flush=True)
    yield lambda _count: None


def examples() -> list[tuple[float, dict[str, np.ndarray], np.ndarray]]:
    """Return for each question its weight, the features of its candidates by name, and which of them answer."""
    from memories.evaluation.cases import Form, Half, of_half, parse_cases
    from memories.evaluation.runner import run
    from memories.importing.conversations import read_json
    from memories.recall import scoring

    scoring.gains = lambda _features: 0.0  # the shipped trees may read features that are gone
    cases, weights, found = [], {}, []
    for folder, form, half, weight in SOURCES:
        read = [case for file in sorted(folder.glob("*.json")) for case in parse_cases(read_json(file), Form(form))]
        for case in of_half(read, Half(half)) if half else read:
            cases.append(replace(case, name=f"{len(cases)} {case.name}"))
            weights[cases[-1].name] = weight

    def seen(case: Any, evidence: Any, ran: Any) -> None:
        if ran.scores.read is None:
            return
        chosen, features = ran.scores.read
        answers = np.isin([ran.pool.rows[index].id for index in chosen], [id_.hex for id_ in evidence])
        if answers.any():
            found.append((weights[case.name], features, answers))

    run(cases, watch=progress, seen=seen)
    return found


def flat(model: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the nodes of all trees as arrays; a leaf leads to itself."""
    feature: list[int] = []
    threshold: list[float] = []
    left: list[int] = []
    right: list[int] = []
    value: list[float] = []

    def add(node: dict[str, Any]) -> int:
        place = len(feature)
        feature.append(node.get("split_feature", 0))
        threshold.append(node.get("threshold", np.inf))
        value.append(node.get("leaf_value", 0.0))
        left.append(place)
        right.append(place)
        if "leaf_value" not in node:
            left[place], right[place] = add(node["left_child"]), add(node["right_child"])
        return place

    roots = [add(tree["tree_structure"]) for tree in model["tree_info"]]
    return {
        "feature": np.array(feature, np.uint8),
        "threshold": np.array(threshold, np.float32),
        "left": np.array(left, np.uint16),
        "right": np.array(right, np.uint16),
        "value": np.array(value, np.float32),
        "roots": np.array(roots, np.uint16),
    }


def main(out: str) -> None:
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    asked = examples()
    names = tuple(asked[0][1])
    data = lightgbm.Dataset(
        np.concatenate([np.stack([features[name] for name in names], axis=1) for _, features, _ in asked]),
        np.concatenate([answers for _, _, answers in asked]).astype(int),
        group=[len(answers) for _, _, answers in asked],
        weight=np.concatenate([np.full(len(answers), weight) for weight, _, answers in asked]),
        feature_name=[name.replace(" ", "_") for name in names],
    )
    np.savez_compressed(out, names=np.array(names), **flat(lightgbm.train(PARAMETERS, data, TREES).dump_model()))


if __name__ == "__main__":
    main(sys.argv[1])
