"""Percentiles by the nearest rank: a value that occurred, and the same whoever counts. Pure.

Source: https://en.wikipedia.org/wiki/Percentile#The_nearest-rank_method
"""

from __future__ import annotations

import math
from collections.abc import Sequence

HALF, MOST = 0.5, 0.95


def nearest_rank(share: float, count: int) -> int:
    """The place, from 1, of the value that `share` of `count` ordered values do not exceed."""
    return max(1, math.ceil(share * count - 1e-9))


def percentile(ordered: Sequence[float], share: float) -> float:
    """Of values in order, at least one."""
    return ordered[nearest_rank(share, len(ordered)) - 1]
