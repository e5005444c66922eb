"""Vectors as bytes: small, and as good for comparing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.constants import EMBEDDING_DIMENSIONS
from memories.embedding import dequantize, quantize


@given(st.integers(0, 2**32 - 1))
def test_cosines_survive_storing(seed: int) -> None:
    left, right = np.random.default_rng(seed).standard_normal((2, EMBEDDING_DIMENSIONS), np.float32)
    left, right = left / np.linalg.norm(left), right / np.linalg.norm(right)
    assert dequantize(quantize(left)) @ dequantize(quantize(right)) == pytest.approx(left @ right, abs=0.02)
