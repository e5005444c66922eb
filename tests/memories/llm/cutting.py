"""At which bytes an answer is cut: a run of the tests takes some all along it, and `make prove` every single one."""

from __future__ import annotations

import pytest

# No divisor of what repeats in a stream, so that each part of a chunk is cut somewhere.
FEW = 7

every_few_bytes_or_all = pytest.mark.parametrize(
    "step", [pytest.param(FEW, id="some"), pytest.param(1, id="every byte", marks=pytest.mark.proof)]
)
