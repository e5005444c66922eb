"""Alikeness: how near two texts of a batch are to the encoder. Each text is encoded once, when first asked about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memories.consolidation.material import Material
from memories.consolidation.proposals import Proposal, ProposedFact, ProposedPlaybook
from memories.embedding import Floats, encoder


class Alikeness:
    """The cosine of two texts; the batch's own are encoded together before the owner's lock is taken."""

    def __init__(self, material: Material, proposals: Sequence[Proposal]) -> None:
        self._vectors: dict[str, Floats] = {}
        if not proposals:
            return
        texts = [fact.text for fact in material.facts]
        texts += [playbook.trigger or playbook.title for playbook in material.playbooks]
        for proposal in proposals:
            if isinstance(proposal, ProposedFact):
                texts.append(proposal.text)
            elif isinstance(proposal, ProposedPlaybook):
                texts.append(proposal.trigger or proposal.title)
        self._encode(texts)

    def __call__(self, left: str, right: str) -> float:
        """The cosine, from -1 to 1."""
        self._encode([left, right])
        return float(self._vectors[left] @ self._vectors[right])

    def _encode(self, texts: Sequence[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            vectors = np.asarray(encoder().encode(missing), np.float32)
            self._vectors |= dict(zip(missing, vectors, strict=True))
