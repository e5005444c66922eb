"""The place of a cross-encoder: a second look at the best candidates, text against text. None is configured by default.

Late interaction already compares word by word; a cross-encoder earns its place only where an ablation shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores texts against a query; higher is better, on a scale of its own."""

    @property
    def name(self) -> str:
        """The model, for the trace."""
        ...

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One score for each text. May raise; recall then keeps the order it has."""
        ...
