"""`python -m benchmarks.scale.plots MEASURED FOLDER`: draws the curves of `make bench-scale` as SVG."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

# Text stays text and ids do not change, so that files are small and differ only where figures do.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "memoryhub", "font.size": 9, "axes.grid": True})
SIZE = (9.0, 3.0)
Points = Sequence[Mapping[str, Any]]
# What is drawn beside each other for a curve: a heading, and the measured values with their labels.
PANELS: dict[str, tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = {
    "memories": (
        ("recall, ms", (("recall.p50", "p50"), ("recall.p95", "p95"))),
        ("write, ms", (("write.p50", "p50"), ("write.p95", "p95"))),
        ("MB", (("resident_mb", "process"), ("database_mb", "database"), ("index_mb", "index"))),
    ),
    "owners": (
        ("recall, ms", (("recall.p50", "p50"), ("recall.p95", "p95"))),
        ("write, ms", (("write.p50", "p50"), ("write.p95", "p95"))),
        ("MB", (("resident_mb", "process"), ("database_mb", "database"), ("index_mb", "index"))),
    ),
    "clients": (
        ("recalls a second", (("recalls_a_second", ""),)),
        ("recall, ms", (("recall.p50", "p50"), ("recall.p95", "p95"))),
    ),
}
X = {"memories": "memories of one owner", "owners": "owners", "clients": "clients at once"}
LINES = {"embedded": "-", "elasticsearch": "--"}


def main() -> int:
    """Draw a file for each curve."""
    measured, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for kind in {kind: None for curves in measured["planes"].values() for kind in curves}:
        planes = {plane: curves[kind] for plane, curves in measured["planes"].items() if kind in curves}
        figure, places = plt.subplots(1, len(PANELS[kind]), figsize=SIZE, layout="constrained")
        for place, (heading, values) in zip(places, PANELS[kind], strict=True):
            draw(place, kind, heading, values, planes)
        figure.savefig(folder / f"scale-{kind}.svg", metadata={"Date": None})
        plt.close(figure)
    return 0


def draw(place: Axes, kind: str, heading: str, values: Sequence[tuple[str, str]], planes: Mapping[str, Points]) -> None:
    """Draw one panel: a line for each value and plane."""
    for plane, points in planes.items():
        for number, (path, label) in enumerate(values):
            named = " ".join(filter(None, (label, plane if len(planes) > 1 else "")))
            across, up = [point[kind] for point in points], [value_of(point, path) for point in points]
            place.plot(across, up, LINES[plane], marker="o", markersize=3, color=f"C{number}", label=named)
    place.set_xscale("log", base=2 if kind == "clients" else 10)
    if heading == "MB":
        place.set_yscale("log")
    else:
        place.set_ylim(bottom=0)
    place.set_title(heading)
    place.set_xlabel(X[kind])
    if any(label for _, label in values) or len(planes) > 1:
        place.legend(frameon=False)


def value_of(point: Mapping[str, Any], path: str) -> float:
    """Return the value at a path with dots."""
    found: Any = point
    for name in path.split("."):
        found = found[name]
    return float(found)


if __name__ == "__main__":
    sys.exit(main())
