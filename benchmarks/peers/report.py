"""`python -m benchmarks.peers.report MEASURED [SET=ABLATION …]`: the tables of docs/benchmarks.md, as Markdown.

MEASURED is what `make bench-peers` wrote, an ABLATION what `eval_recall --ablation --json` printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RANKS = ("recall@1", "recall@5", "recall@10")
_HEADS = ("R@1", "R@5", "R@10")
# The columns of what a memory costs.
_COSTS = ("write, ms", "its core, ms", "recall, ms", "memory, MB", "disk, MB")


def main() -> int:
    """Print all tables."""
    measured = json.loads(Path(sys.argv[1]).read_text())
    given = dict(each.split("=", 1) for each in sys.argv[2:])
    without = {name: json.loads(Path(path).read_text()) for name, path in given.items()}
    sys.stdout.write("\n".join([*comparison(measured), "", *kinds(measured), "", *ablations(without)]) + "\n")
    return 0


def comparison(measured: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table with a row for each memory and encoder; times are p50 / p95."""
    sets = measured["sets"] if any("found" in row for row in measured["rows"]) else []
    yield f"{measured['measured']}, {measured['machine']}; costs at {measured['memories']:,} memories of one owner."
    yield ""
    yield from _head(["memory", "encoder", *(f"{name}: {' / '.join(_HEADS)}" for name in sets), *_COSTS])
    for row in measured["rows"]:
        cells = [f"{row['memory']} {row.get('version', '')}".strip(), row["encoder"]]
        if "error" in row:
            cells += [f"did not run: {row['error']}", *[""] * (len(sets) + len(_COSTS) - 1)]
        else:
            found = row.get("found", {})
            cells += [
                " / ".join(_share(found[name][rank][0]) for rank in RANKS) if name in found else "" for name in sets
            ]
            cells += _costs(row["costs"]) if "costs" in row else [""] * len(_COSTS)
        yield _line(cells)


def kinds(measured: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of what memoryhub finds by set and kind of question, with intervals."""
    yield from _head(["set", "kind", "asked", *_HEADS])
    for name, found in measured["rows"][0].get("found", {}).items():
        for kind, scores in [*found["by_category"].items(), ("all", found)]:
            yield _line([name, kind, str(scores["questions"]), *(_interval(scores[rank]) for rank in RANKS)])


def ablations(without: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a table of the gain in R@5 without each part, with the interval of the paired difference."""
    yield from _head(["without", *without])
    for part in next(iter(without.values()), {"without": {}})["without"]:
        yield _line([part, *(_interval(each["without"][part]["recall@5"]) for each in without.values())])


def _costs(costs: Mapping[str, Any]) -> list[str]:
    write, recall = (f"{costs[name]['p50']:.1f} / {costs[name]['p95']:.1f}" for name in ("write", "recall"))
    return [write, f"{costs['core_ms']:.1f}", recall, f"{costs['resident_mb']:.0f}", f"{costs['disk_mb']:.0f}"]


def _interval(figures: Sequence[float]) -> str:
    mean, low, high = map(_share, figures)
    return f"{mean} ({low} to {high})"


def _share(value: float) -> str:
    """Write a share as these documents do: .500, −.020, 1.000."""
    rounded = round(value, 3) or 0.0  # never −.000
    return f"{rounded:.3f}".replace("0.", ".", 1).replace("-", "−") if abs(rounded) < 1 else f"{rounded:.3f}"


def _head(names: Sequence[str]) -> Iterator[str]:
    yield _line(names)
    yield f"|{'---|' * len(names)}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
