"""Ranks the items of LangGraph's store by the caller's own embeddings."""

from __future__ import annotations

import asyncio
import math
import operator
from array import array
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from langgraph.store.base import IndexConfig, ensure_embeddings, get_text_at_path

from memoryhub_client.types import FoundItem

# Texts whose vectors are kept between searches: 6 kB each at 1,536 dimensions.
_KEPT = 10_000
# Texts that one call embeds.
_BATCH = 100

Vector: TypeAlias = "array[float]"
Ranked: TypeAlias = list[tuple[float | None, FoundItem]]


class EmbeddingRanking:
    """The cosine of a query and of the best of an item's texts: those at its own paths, else at these `fields`.

    A text is embedded once, as long as its vector is among the last 10,000 that a search used.
    """

    def __init__(self, index: IndexConfig, fields: Sequence[str]) -> None:
        self.embeddings = ensure_embeddings(index.get("embed"))
        self._dims = index.get("dims")
        self._fields = fields
        # Replaced and never changed, since searches run in threads.
        self._vectors: Mapping[str, Vector] = {}

    def ranked(self, query: str, items: Sequence[FoundItem]) -> Ranked:
        """The items with their scores, the best first, and last those without a text, with None."""
        texts, known = self._texts(items), self._vectors
        new = _missing(texts, known)
        added = [
            vector
            for start in range(0, len(new), _BATCH)
            for vector in self.embeddings.embed_documents(new[start : start + _BATCH])
        ]
        return self._scored(items, texts, known, new, added, self.embeddings.embed_query(query))

    async def aranked(self, query: str, items: Sequence[FoundItem]) -> Ranked:
        """Like `ranked`."""
        texts, known = self._texts(items), self._vectors
        new = _missing(texts, known)
        added = [
            vector
            for start in range(0, len(new), _BATCH)
            for vector in await self.embeddings.aembed_documents(new[start : start + _BATCH])
        ]
        asked = await self.embeddings.aembed_query(query)
        return await asyncio.to_thread(self._scored, items, texts, known, new, added, asked)

    def _texts(self, items: Sequence[FoundItem]) -> list[list[str]]:
        return [[text for path in self._paths(each) for text in get_text_at_path(each.value, path)] for each in items]

    def _paths(self, item: FoundItem) -> Sequence[str]:
        if isinstance(item.index, bool):
            return self._fields if item.index else ()
        return item.index

    def _scored(
        self,
        items: Sequence[FoundItem],
        texts: Sequence[Sequence[str]],
        known: Mapping[str, Vector],
        new: Sequence[str],
        added: Sequence[Sequence[float]],
        asked: Sequence[float],
    ) -> Ranked:
        vectors = {**known, **{text: self._unit(vector) for text, vector in zip(new, added, strict=True)}}
        used = {text: vectors[text] for each in texts for text in each}
        others = {text: vector for text, vector in known.items() if text not in used}
        self._vectors = dict([*others.items(), *used.items()][-_KEPT:])
        query = self._unit(asked)
        scores = {text: sum(map(operator.mul, query, vector)) for text, vector in used.items()}
        ranked = [
            (max((scores[text] for text in each), default=None), item) for item, each in zip(items, texts, strict=True)
        ]
        return sorted(ranked, key=lambda pair: -math.inf if pair[0] is None else pair[0], reverse=True)

    def _unit(self, vector: Sequence[float]) -> Vector:
        if self._dims not in (None, len(vector)):
            raise ValueError(f'An embedding has {len(vector)} numbers; index["dims"] says {self._dims}.')
        length = math.hypot(*vector) or 1.0
        return array("f", (number / length for number in vector))


def _missing(texts: Sequence[Sequence[str]], known: Mapping[str, Vector]) -> list[str]:
    return list(dict.fromkeys(text for each in texts for text in each if text not in known))
